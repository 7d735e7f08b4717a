/** Fetches one page of a project's operations, and keeps the times between which it was read. */

import { earlierNowMs, secondOf } from '../../../shared/core/time/timestamp.ts';
import type { OperationPage } from '../../../shared/upstream/upstream-client.ts';
import { isUpstreamError, type UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import type { PollDeps, PollRequest } from './poll-deps.ts';
import type { WalkPage, WalkRequest } from './walk.ts';

export interface FetchedPage extends OperationPage, Pick<WalkPage, 'readAt' | 'readBy'> {
  /** The request left at this time or later, by our clock. */
  readonly requestedMs: number;
}

/**
 * A page whose bytes have the digest `known` comes back unchanged and without its rows. An error of the upstream is
 * returned, since it ends the walk and not the poll. Rejects with any other error.
 */
export async function fetchPage(
  { upstream, clock, telemetry }: Pick<PollDeps, 'upstream' | 'clock' | 'telemetry'>,
  { projectId, signal, permit }: Pick<PollRequest, 'projectId' | 'signal' | 'permit'>,
  { cursor, limit }: WalkRequest,
  known?: string,
): Promise<FetchedPage | UpstreamError> {
  const query = { projectId, limit, ...(cursor !== undefined && { cursor }) };
  const requestedMs = clock.now();
  try {
    const page = await upstream.listOperations(query, { permit, known, ...(signal && { signal }) });
    if (page.malformedRowCount > 0) telemetry.measure('MalformedRows', page.malformedRowCount);
    const readAt = secondOf(earlierNowMs({ ...page, requestedMs }));
    const { serverDateMs } = page;
    const readBy = serverDateMs === undefined ? undefined : secondOf(Math.max(clock.now(), serverDateMs));
    return { ...page, requestedMs, readAt, readBy };
  } catch (error) {
    if (isUpstreamError(error)) return error;
    throw error;
  }
}
