/** Decides what a message says of an operation about which it has several notices: how the operation stands by the latest. */

import { incidentOf } from '../../../../shared/alerts/incident-key.ts';
import type { Notice } from '../notices/notice.ts';
import type { Message } from './message-plan.ts';

/**
 * Returns the message with the latest notice of each operation, in its order. A notice about no operation stays. A
 * group of which nothing is left is missing.
 */
export function latestOfEach(message: Message): Message {
  const latest = new Set(
    [...Map.groupBy(message.flat(), subjectOf).values()].map((own) => own.toSorted(byAge).at(-1)),
  );
  return message
    .map((notices) => notices.filter((notice) => latest.has(notice)))
    .filter((notices) => notices.length > 0);
}

function subjectOf(notice: Notice): string {
  const { id, operation_id } = notice;
  return operation_id === undefined ? `notice ${id}` : `${incidentOf(notice)} ${operation_id}`;
}

/** Compares two notices of one operation; the older comes first. Only changes of its status have a sequence. */
export function byAge(a: Notice, b: Notice): number {
  if (a.sequence !== undefined && b.sequence !== undefined) return a.sequence - b.sequence;
  return a.observed_at < b.observed_at ? -1 : Number(a.observed_at > b.observed_at);
}
