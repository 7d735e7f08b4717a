/** Names the path under which the bridge's own routes stand, apart from them, because a start knows it and not the routes. */

export const BRIDGE_MOUNT = '/bridge/v1';
