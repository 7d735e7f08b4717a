/** Holds the names by which the parts of a local run find each other. */

export const TABLE_NAME = 'operations-bridge';
export const EVENT_BUS_NAME = 'operations-bridge';
export const ACCOUNT_ID = 'main';
export const KEY_SECRET_ID = 'operations-bridge/upstream-key';
/** The secrets with upstream keys of accounts that are added while the bridge runs have names that begin with this. */
export const UPSTREAM_KEYS_PREFIX = 'operations-bridge/upstream-keys/';
export const PEPPER_SECRET_ID = 'operations-bridge/token-pepper';
export const QUEUE_KEY_SECRET_ID = 'operations-bridge/queue-key';
/** Rules with this owner belong to the bridge, and callers of the local AWS cannot change them. */
export const RULE_OWNER = 'operations-bridge';

export const COMMANDS_QUEUE_NAME = 'operations-bridge-commands.fifo';
