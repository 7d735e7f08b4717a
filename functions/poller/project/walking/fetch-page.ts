/** Fetches one page of a project's operations, and notes at which time it was asked for. */

import { earlierNowMs, secondOf, type Timestamp } from '../../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { Permit } from '../../../../shared/upstream/request-budget.ts';
import type { OperationPage, UpstreamClient } from '../../../../shared/upstream/upstream-client.ts';
import { isUpstreamError, type UpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import type { WalkRequest } from '../../walk-plan/walk-state.ts';

export interface FetchDeps {
  readonly upstream: Pick<UpstreamClient, 'listOperations'>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

export interface ListedProject {
  readonly projectId: string;
  readonly signal?: AbortSignal | undefined;
  /** The first request leaves with this permit. It takes its own when this is undefined. */
  readonly permit?: Permit | undefined;
}

export interface FetchedPage extends OperationPage {
  /** The request left at this time or later, by our clock. */
  readonly requestedMs: number;
  /** Nothing on the page is newer than this second, unless its time is wrong (`earlierNowMs`). */
  readonly readAt: Timestamp;
  /**
   * The page was read in this second or before, by the later of the upstream's clock and ours. It is undefined when the
   * answer does not show the upstream's, because one clock alone proves nothing.
   */
  readonly readBy: Timestamp | undefined;
}

/** An error of the upstream is returned, since it ends the walk and not the poll. Rejects with any other error. */
export async function fetchPage(
  { upstream, clock, telemetry }: FetchDeps,
  { projectId, signal, permit }: ListedProject,
  { cursor, limit }: WalkRequest,
): Promise<FetchedPage | UpstreamError> {
  const query = { projectId, limit, ...(cursor !== undefined && { cursor }) };
  const requestedMs = clock.now();
  try {
    const page = await upstream.listOperations(query, { permit, ...(signal && { signal }) });
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
