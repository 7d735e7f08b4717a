/**
 * Collects the routes under `/bridge/v1`, which show apps and people what the bridge knows. All but one only read the
 * table.
 */

import type { StandingOf } from '../../../shared/accounts/account-directory.ts';
import type { AccountStatus } from '../../../shared/records/account-status.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Route } from '../serving/route.ts';
import type { PatientCallers } from '../serving/waiting.ts';
import { type AccountAdminRouteDeps, accountAdminRoutes } from './account-admin-routes.ts';
import { type AccountRouteDeps, accountRoutes } from './account-routes.ts';
import { approvalRoutes } from './approval-routes.ts';
import { type AuditRouteDeps, auditRoutes } from './audit-routes.ts';
import { type ModelDeps, type ModelOf, modelFor } from './bridge-route.ts';
import { type ChannelRouteDeps, channelRoutes } from './channel-routes.ts';
import { commandRoutes, freezeRoutes, type QueueRouteDeps, queueRoutes } from './command-routes.ts';
import { eventRoutes, type TriggerDeps, triggerRoutes } from './event-routes.ts';
import { healthRoutes } from './health-routes.ts';
import { type IncidentRouteDeps, incidentRoutes } from './incident-routes.ts';
import { type MuteRouteDeps, muteRoutes } from './mute-routes.ts';
import { derivedRoutes, operationRoutes } from './operation-routes.ts';
import { insightRoutes, projectRoutes } from './project-routes.ts';
import { repairRoutes, replayRoutes, wishRoutes } from './reading-routes.ts';
import { type SubscriptionRouteDeps, subscriptionRoutes } from './subscription-routes.ts';
import { type UsageDeps, usageRoutes } from './usage-routes.ts';

export interface BridgeDeps
  extends ModelDeps,
    QueueRouteDeps,
    Pick<IncidentRouteDeps, 'incidentStores'>,
    MuteRouteDeps,
    AccountAdminRouteDeps,
    AuditRouteDeps,
    ChannelRouteDeps,
    SubscriptionRouteDeps,
    UsageDeps,
    Pick<AccountRouteDeps, 'accountList'>,
    Pick<TriggerDeps, 'bus'> {
  /** Resolves to undefined while the poller has not written its status yet. */
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  readonly standingOf: StandingOf;
  readonly patient: PatientCallers;
  /** Returns the shortest time between two polls of a project of this account, in ms. */
  readonly pollIntervalMsOf: (accountId: string) => number;
  /** Resolves to a sentence for each alert channel that accepts nothing. */
  readonly deafChannels: () => Promise<readonly string[]>;
  readonly clock: Clock;
}

export function bridgeRoutes(deps: BridgeDeps): readonly Route[] {
  const { statusOf, standingOf, patient, pollIntervalMsOf, deafChannels, clock } = deps;
  const modelOf: ModelOf = (caller) => modelFor(deps, caller);
  return [
    ...healthRoutes(modelOf, { statusOf, standingOf, deafChannels, clock }),
    ...accountRoutes(modelOf, deps),
    ...accountAdminRoutes(deps),
    ...projectRoutes(modelOf),
    ...usageRoutes(modelOf, deps),
    ...operationRoutes(modelOf, { clock, patient }),
    ...insightRoutes(modelOf, clock),
    ...derivedRoutes(modelOf, { clock, patient }),
    ...wishRoutes(modelOf, pollIntervalMsOf),
    ...repairRoutes(modelOf, clock),
    ...commandRoutes(modelOf, { clock, patient }),
    ...queueRoutes(modelOf, deps),
    ...freezeRoutes(deps),
    ...approvalRoutes(deps),
    ...incidentRoutes(modelOf, deps),
    ...muteRoutes(deps),
    ...channelRoutes(deps),
    ...eventRoutes(modelOf, { clock, patient }),
    ...triggerRoutes(deps),
    ...replayRoutes(modelOf, clock),
    ...auditRoutes(modelOf, deps),
    ...subscriptionRoutes(modelOf, deps),
  ];
}
