/**
 * Names one run for each mistake that only a foreign world shows. The run has the fault whatever its seed draws, so it needs nothing of the
 * code's text: it broke the rule before the mistake was mended, and keeps the promise since.
 */

import type { foreignFaultKinds } from './options.ts';
import type { ForeignFault } from './wide/faults.ts';

interface ForeignSeed {
  /** Says in words what went wrong. */
  readonly mistake: string;
  readonly seed: number;
  /** The run broke this rule of the checker. */
  readonly rule: string;
}

export const wideSeeds: readonly (ForeignSeed & { readonly fault: ForeignFault | undefined })[] = [
  {
    mistake: 'a row from the future bounds what is read',
    fault: 'operation_row_future',
    seed: 2,
    rule: 'final',
  },
  { mistake: 'a read with two equal keys is refused for ever', fault: undefined, seed: 56, rule: 'backlog' },
  { mistake: 'one Date header ahead makes news history', fault: 'http_date_ahead', seed: 9, rule: 'final' },
  {
    mistake: 'a replica that lags shows a state that was over, and it is told',
    fault: 'list_replica_lags',
    seed: 2,
    rule: 'invented',
  },
  {
    mistake: 'nothing is read while Secrets Manager is away',
    fault: 'secrets_outage',
    seed: 11,
    rule: 'late',
  },
  {
    mistake: 'an operation that cannot be read is asked for in every poll',
    fault: 'operation_unreadable_for_good',
    seed: 3,
    rule: 'asked-too-often',
  },
  {
    mistake: 'a refusal for want of authorization parks events',
    fault: 'bus_not_authorized',
    seed: 2,
    rule: 'parked-in-vain',
  },
  {
    mistake: 'a row without a time holds its project up',
    fault: 'operation_row_without_time',
    seed: 4,
    rule: 'final',
  },
  {
    mistake: 'a key of one account that was left unread fails the reads of another',
    fault: 'account_broken',
    seed: 25,
    rule: 'final',
  },
];

export const closeSeeds: readonly (ForeignSeed & {
  readonly fault: (typeof foreignFaultKinds)[number] | undefined;
})[] = [
  { mistake: 'a read with two equal keys is refused for ever', fault: undefined, seed: 2, rule: 'backlog' },
  { mistake: 'a row from the future bounds what is read', fault: 'row_future', seed: 11, rule: 'final' },
  { mistake: 'one Date header ahead makes news history', fault: 'date_ahead', seed: 9, rule: 'final' },
  {
    mistake: 'a list that lags shows a state that was over, and it is told',
    fault: 'list_lags',
    seed: 5,
    rule: 'invented',
  },
  {
    mistake: 'a reading that lags shows a state that was over, and it is told',
    fault: 'read_lags',
    seed: 26,
    rule: 'invented',
  },
];
