/**
 * Reads the list of a project's computes in its turn. It only says when their suspends are to be expected, so nothing is
 * recorded of it, and a failure costs no more than the request.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Permit } from '../../../shared/upstream/request-budget.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import type { ComputesReading, PollPlanner } from '../planner/poll-planner.ts';

export interface ComputeReadingDeps {
  readonly upstream: Partial<Pick<UpstreamClient, 'listRunningComputes'>>;
  readonly planner: Pick<PollPlanner, 'reportComputes'>;
  readonly clock: Clock;
  /** It is aborted when the invocation stops. */
  readonly signal: AbortSignal;
}

/**
 * A refusal does not count as a failure of the project, not even when the key has no right to read computes. Polls of operations notice a
 * key that is rejected. Rejects only when the key could not be read from its secret.
 */
export async function readComputes(
  { upstream, planner, clock, signal }: ComputeReadingDeps,
  projectId: string,
  permit: Permit,
): Promise<void> {
  let reading: ComputesReading = 'unreadable';
  try {
    reading = (await upstream.listRunningComputes?.({ projectId }, { signal, permit })) ?? 'unreadable';
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    if (error.kind === 'cancelled') reading = 'cut_short';
  } finally {
    planner.reportComputes(projectId, reading, clock.now());
  }
}
