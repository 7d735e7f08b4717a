/** Reports that a bound was met, once per invocation and bound, because a bound that is met is met again at once. */

import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';

/** Each of these bounds has a row in docs/limits.md. */
export const BOUND_NAMES = [
  'projects',
  'list_pages',
  'barren_pages',
  'delays_kept',
  'project_names',
  'upstream_sockets',
  'other_accounts',
  'transfer_decided_within',
] as const;

type BoundName = (typeof BOUND_NAMES)[number];

export interface BoundReports {
  report(bound: BoundName, value: number): void;
}

/** Creates the reports of one invocation. */
export function createBoundReports(telemetry: Telemetry): BoundReports {
  const reported = new Set<BoundName>();
  return {
    report(bound, value) {
      if (reported.has(bound)) return;
      reported.add(bound);
      telemetry.measure('BoundMet', 1);
      telemetry.log('warn', 'bound.met', { bound, value });
    },
  };
}
