/** Makes an event as the feed shows it from the entry of a journal. */

import type { JournalEntry } from '../../../shared/core/journal/journal-entries.ts';
import type { JournalRecord } from '../../../shared/core/records/journal-record.ts';
import { renderEvent } from '../../../shared/events/render-event.ts';

export interface FeedEvent {
  readonly id: string;
  readonly detail_type: string;
  readonly source: string;
  /** The bridge observed the event at this time (ISO 8601). */
  readonly time: string;
  /** The detail is the same as on the bus. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** This says whether the bus has accepted the event. */
  readonly published: boolean;
}

/** An event matches when it equals each field that is given. */
export interface FeedFilter {
  readonly project_id?: string | undefined;
  readonly detail_type?: string | undefined;
  readonly status?: string | undefined;
  readonly action?: string | undefined;
}

/** Renders the events of a record, or only those of the entries that `isWanted` holds for. */
export function eventsOf(
  record: JournalRecord,
  isWanted: (entry: JournalEntry) => boolean = () => true,
): readonly FeedEvent[] {
  return (record.entries as readonly JournalEntry[]).filter(isWanted).map((entry) => {
    const { source, detailType, detail, time } = renderEvent(record, entry);
    return {
      id: entry.id,
      detail_type: detailType,
      source,
      time,
      detail: JSON.parse(detail) as Readonly<Record<string, unknown>>,
      published: entry.revision <= record.published,
    };
  });
}

export function fits({ detail_type, detail }: FeedEvent, filter: FeedFilter): boolean {
  if (filter.detail_type !== undefined && filter.detail_type !== detail_type) return false;
  return (['project_id', 'status', 'action'] as const).every(
    (name) => filter[name] === undefined || filter[name] === detail[name],
  );
}

/** Says whether a value or a name in the detail holds the text. */
export function hasText({ detail, detail_type }: FeedEvent, text: string | undefined): boolean {
  if (text === undefined) return true;
  return `${detail_type} ${JSON.stringify(detail)}`.toLowerCase().includes(text.toLowerCase());
}

export function isBetween({ time }: FeedEvent, from: string | undefined, until: string | undefined): boolean {
  const epochMs = Date.parse(time);
  return (
    (from === undefined || epochMs >= Date.parse(from)) &&
    (until === undefined || epochMs < Date.parse(until))
  );
}

/** Puts the oldest event first. Events of the same time keep the order of their operation. */
export function byTime(a: FeedEvent, b: FeedEvent): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  const [first, second] = [Number(a.detail['sequence'] ?? 0), Number(b.detail['sequence'] ?? 0)];
  return first - second;
}
