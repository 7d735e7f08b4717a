/** The feed of events as a caller may see it. */

import type * as z from 'zod';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import type { ApiAnswer } from '../serving/route.ts';
import { type FeedEvent, fits } from './event-feed.ts';
import type { feedQuery } from './parts.ts';
import type { ReadModel } from './read-model.ts';
import { waitFor } from './wait-for.ts';

export interface FeedRequest {
  readonly caller: Caller;
  readonly query: z.output<typeof feedQuery>;
  readonly signal: AbortSignal;
}

export interface FeedDeps {
  readonly clock: Clock;
  readonly patient: PatientCallers;
}

/** The cursor moves on over what the caller may not see, and over what the filter leaves out. */
export async function readFeed(
  { clock, patient }: FeedDeps,
  request: FeedRequest,
  model: ReadModel,
): Promise<ApiAnswer> {
  const { caller, query, signal } = request;
  const isVisible = isVisibleTo(caller);
  let position = query.cursor ?? model.feed.start(query.from);
  const read = async () => {
    const page = await model.feed.since(position, query.limit);
    position = page.cursor;
    const events = page.events.filter((event) => isVisible(event) && fits(event, query));
    return { events, has_more: page.hasMore };
  };
  const isDone = ({ events, has_more }: Awaited<ReturnType<typeof read>>) => events.length > 0 || has_more;
  const waitMs = query.wait * 1_000;
  const beginWait = () => patient.wait(caller, waitMs);
  const page = await waitFor({ read, isDone, waitMs, clock, signal, beginWait });
  return { status: 200, body: { ...page, cursor: position } };
}

/** Events of the account itself are everybody's. */
export function isVisibleTo(caller: Caller): (event: FeedEvent) => boolean {
  return ({ detail }) => typeof detail['project_id'] !== 'string' || maySee(caller, detail['project_id']);
}
