/** Decides which subscription people mean who come from a list of events with a filter, or from one event. */

import {
  SUBJECT_NAMES,
  type SubjectName,
  subjectOf,
} from '../../../../shared/events/subscription/subscription-subjects.ts';
import type { FeedFilter } from '../../read-model/feed-event.ts';

export interface MeantSubject {
  readonly subject: SubjectName;
  /** These statuses are left to filter by. The subject itself may already say it. */
  readonly statuses: readonly string[];
  /** No subject has exactly these events, so that of every event is taken. */
  readonly isWider: boolean;
}

/** A filter of the list compares fields, and people who filter by `failed` mean every failed attempt. */
export function subjectOfFilter({ detail_type: detailType, status }: FeedFilter): MeantSubject {
  const isOfOperations = detailType === undefined || detailType === 'Operation State Changed';
  if (isOfOperations && status === 'failed') return { subject: 'failures', statuses: [], isWider: false };
  if (isOfOperations && (status !== undefined || detailType !== undefined))
    return { subject: 'operations', statuses: status === undefined ? [] : [status], isWider: false };
  if (detailType === undefined) return { subject: 'failures', statuses: [], isWider: false };
  const subject = SUBJECT_NAMES.find((name) => subjectOf(name).detailTypes.includes(detailType));
  return { subject: subject ?? 'everything', statuses: [], isWider: subject === undefined };
}
