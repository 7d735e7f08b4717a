/** The routes under `/bridge/v1`: what the bridge knows, for apps and people. All but one only read the table. */

import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import type { Route } from '../serving/route.ts';
import { accountRoutes } from './accounts.ts';
import { auditRoutes } from './audit.ts';
import { type ModelDeps, type ModelOf, modelFor } from './bridge-route.ts';
import { commandRoutes } from './commands.ts';
import { eventRoutes } from './events.ts';
import { healthRoutes } from './health.ts';
import { operationRoutes } from './operations.ts';
import { projectRoutes } from './projects.ts';
import { wishRoutes } from './wishes.ts';

export interface BridgeDeps extends ModelDeps {
  /** Undefined: the poller has not written it yet. */
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  readonly patient: PatientCallers;
  /** The shortest time between two polls of a project; by account id. */
  readonly pollIntervalMsOf: (accountId: string) => number;
  /** Sentences about alert channels that accept nothing. */
  readonly deafChannels: () => Promise<readonly string[]>;
  readonly clock: Clock;
}

export function bridgeRoutes(deps: BridgeDeps): readonly Route[] {
  const { statusOf, patient, pollIntervalMsOf, deafChannels, clock } = deps;
  const modelOf: ModelOf = (caller) => modelFor(deps, caller);
  return [
    ...healthRoutes(modelOf, { statusOf, deafChannels, clock }),
    ...accountRoutes(modelOf, statusOf),
    ...projectRoutes(modelOf),
    ...operationRoutes(modelOf, { clock, patient }),
    ...wishRoutes(modelOf, pollIntervalMsOf),
    ...commandRoutes(modelOf),
    ...eventRoutes(modelOf, { clock, patient }),
    ...auditRoutes(modelOf),
  ];
}
