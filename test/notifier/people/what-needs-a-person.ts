/**
 * Labels in the simulated service's own log what needs a person. The labels rest on what happened there alone, and were
 * written down before the policy of the notifier.
 */

import type { GroundTruthOperation } from '../../../infra/simulator/world/project-state.ts';

export interface Need {
  readonly operationId: string;
  /** From this time on the operation needs a person. */
  readonly atMs: number;
  readonly why: 'given up' | 'third failure' | 'lasting failure';
}

/** A failure that lasts this long will probably not end by itself. */
export const LASTING_MS = 300_000;

/** Returns since when the operation has needed a person, and undefined when it never did until `endMs`. */
export function needOf(operation: GroundTruthOperation, endMs: number): Need | undefined {
  const needs = [
    firstAt(operation, ({ status }) => status === 'error', 'given up'),
    firstAt(operation, ({ failures_count }) => failures_count >= 3, 'third failure'),
    lastingFailure(operation, endMs),
  ];
  return needs.filter((need) => need !== undefined).toSorted((a, b) => a.atMs - b.atMs)[0];
}

/** Returns how long the operation's trouble lasted, from its first failure to its end. */
export function troubleMs({ states }: GroundTruthOperation, endMs: number): number {
  const began = states.find(({ failures_count, status }) => failures_count > 0 || status === 'error');
  const ended = states.find(
    ({ status }) => status === 'finished' || status === 'cancelled' || status === 'skipped',
  );
  return began === undefined ? 0 : (ended?.at_ms ?? endMs) - began.at_ms;
}

function firstAt(
  { operation_id, states }: GroundTruthOperation,
  isIt: (state: GroundTruthOperation['states'][number]) => boolean,
  why: Need['why'],
): Need | undefined {
  const state = states.find(isIt);
  return state && { operationId: operation_id, atMs: state.at_ms, why };
}

function lastingFailure(operation: GroundTruthOperation, endMs: number): Need | undefined {
  const began = operation.states.find(({ failures_count }) => failures_count > 0);
  if (began === undefined || troubleMs(operation, endMs) <= LASTING_MS) return undefined;
  return { operationId: operation.operation_id, atMs: began.at_ms + LASTING_MS, why: 'lasting failure' };
}
