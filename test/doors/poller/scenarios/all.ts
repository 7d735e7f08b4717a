/** Lists all scripts at the poller's door. */

import { ACCOUNT } from './account.ts';
import { CALLERS } from './callers.ts';
import { DAMAGED } from './damaged.ts';
import { DERIVED } from './derived.ts';
import { EVIDENCE } from './evidence.ts';
import { INVOCATIONS } from './invocations.ts';
import { LISTS } from './lists.ts';
import { OPEN_OPERATIONS } from './open.ts';
import { OPERATIONS } from './operations.ts';
import { PROCESSES } from './processes.ts';
import { REFUSALS } from './refusals.ts';
import { REQUESTS } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { UPSTREAM } from './upstream.ts';
import { USAGE } from './usage.ts';
import { WALKING } from './walks.ts';

export const SCENARIOS: readonly Scenario[] = [
  ...OPERATIONS,
  ...INVOCATIONS,
  ...LISTS,
  ...REFUSALS,
  ...UPSTREAM,
  ...DERIVED,
  ...ACCOUNT,
  ...USAGE,
  ...WALKING,
  ...CALLERS,
  ...PROCESSES,
  ...DAMAGED,
  ...REQUESTS,
  ...EVIDENCE,
  ...OPEN_OPERATIONS,
];
