/**
 * Says what a start knows of the bridge's own routes without loading them: the path under which they stand, and their
 * ids.
 */

import type { ExtraRoute } from '../../../shared/config/api-config.ts';

export const BRIDGE_MOUNT = '/bridge/v1';

/** A test compares the list with the routes. */
export const BRIDGE_ROUTE_IDS: readonly string[] = [
  'acknowledgeIncident',
  'addAccount',
  'cancelQueuedCommand',
  'changeAccount',
  'decideApproval',
  'followTestEvent',
  'freezeAccount',
  'getApproval',
  'getCaller',
  'getCommand',
  'getDocumentation',
  'getFreeze',
  'getHealth',
  'getIncident',
  'getInsights',
  'getOpenApiDocument',
  'getProjectInsights',
  'getQueuedCommand',
  'getRepair',
  'getReplay',
  'getTrackedBranch',
  'getTrackedCompute',
  'getTrackedOperation',
  'liftFreeze',
  'liftMute',
  'listAccounts',
  'listApprovals',
  'listAudit',
  'listEvents',
  'listIncidents',
  'listMutes',
  'listQueuedCommands',
  'listRecentEvents',
  'listSubscriptions',
  'listTrackedOperations',
  'listTrackedProjects',
  'listUsage',
  'muteAlerts',
  'redriveParkedEvents',
  'removeAccount',
  'requestRead',
  'requestRepair',
  'startReplay',
  'stopReplay',
  'testChannel',
  'triggerTestEvent',
  'withdrawAcknowledgement',
];

/** Throws when a call that the configuration adds has the id of one of the bridge's own routes. */
export function checkExtraRoutes(extraRoutes: readonly ExtraRoute[]): void {
  const taken = extraRoutes.find(({ id }) => BRIDGE_ROUTE_IDS.includes(id));
  if (taken !== undefined) throw new Error(`Two routes have the id ${taken.id}; each needs its own`);
}
