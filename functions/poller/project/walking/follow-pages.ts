/**
 * Follows the plan of one walk: fetches each page that the plan asks for, and records all its rows before the plan
 * moves on.
 */

import {
  isUpstreamError,
  type UpstreamError,
  type UpstreamErrorKind,
} from '../../../../shared/upstream/upstream-error.ts';
import { takePage } from '../../walk-plan/page-walk.ts';
import type { WalkRequest, WalkState } from '../../walk-plan/walk-state.ts';
import type { FetchedPage } from './fetch-page.ts';

/** These two steps are taken for each page of a plan. */
export interface PageSteps {
  readonly fetch: (request: WalkRequest) => Promise<FetchedPage | UpstreamError>;
  /** `state` has this page taken already. Resolves to true when every row in reach is known to be recorded. */
  readonly record: (state: WalkState, page: FetchedPage) => Promise<boolean>;
}

export interface StoredCursor {
  /** An earlier poll has stopped at this cursor. It is undefined when none has. */
  readonly storedCursor: string | undefined;
  /** Returns the walk from the head of the list, without that cursor. */
  readonly restart: () => WalkState;
}

export interface PagesResult {
  /** Its `outcome` is `complete` only when every row in reach was dealt with. */
  readonly state: WalkState;
  /** The upstream answered this page last. It is undefined when it answered none. */
  readonly lastPage: FetchedPage | undefined;
  /** Says why the upstream could not be read to the end. It is undefined when it could. */
  readonly failure: UpstreamErrorKind | undefined;
}

/** Reads page after page until the plan is complete, a page could not be recorded, or the upstream fails. */
export async function followPages(
  steps: PageSteps,
  start: WalkState,
  stored: StoredCursor,
): Promise<PagesResult> {
  let state = start;
  let lastPage: FetchedPage | undefined;
  while (state.next !== undefined) {
    const page = await steps.fetch(state.next);
    if (isUpstreamError(page)) {
      if (!isRefusedCursor(page, state, stored)) return { state, lastPage, failure: page.kind };
      state = stored.restart();
      continue;
    }
    lastPage = page;
    const after = takePage(state, page);
    const isRecorded = await steps.record(after, page);
    if (!isRecorded) return { state, lastPage, failure: undefined };
    state = after;
  }
  return { state, lastPage, failure: undefined };
}

/** A stored cursor that the upstream refuses must not hold the project up for ever: the walk starts again at the head. */
function isRefusedCursor(error: UpstreamError, state: WalkState, { storedCursor }: StoredCursor): boolean {
  return error.kind === 'rejected' && storedCursor !== undefined && state.next?.cursor === storedCursor;
}
