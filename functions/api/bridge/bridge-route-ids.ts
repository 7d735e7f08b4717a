/** Lists the ids of the bridge's own routes. A start loads this list and not the routes. */

import type { ExtraRoute } from '../../../shared/config/extra-routes.ts';

/** A test compares the list with the routes. */
export const BRIDGE_ROUTE_IDS: readonly string[] = [
  'acknowledgeIncident',
  'addAccount',
  'cancelQueuedCommand',
  'changeAccount',
  'freezeAccount',
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
  'listAudit',
  'listEvents',
  'listIncidents',
  'listLanes',
  'listMutes',
  'listQueuedCommands',
  'listRecentEvents',
  'listTrackedOperations',
  'listTrackedProjects',
  'muteAlerts',
  'redriveParkedEvents',
  'removeAccount',
  'requestRead',
  'requestRepair',
  'startReplay',
  'stopReplay',
  'triggerTestEvent',
  'withdrawAcknowledgement',
];

/** Throws when a call that the configuration adds has the id of one of the bridge's own routes. */
export function checkExtraRoutes(extraRoutes: readonly Pick<ExtraRoute, 'id'>[]): void {
  const taken = extraRoutes.find(({ id }) => BRIDGE_ROUTE_IDS.includes(id));
  if (taken !== undefined) throw new Error(`Two routes have the id ${taken.id}; each needs its own`);
}
