/** Shows what happened to an operation: every status with its event, and every attempt. The upstream's times come first. */

import { html } from 'hono/html';
import type { FeedEvent } from '../../../read-model/feed-event.ts';
import { attemptsOf, seenAfterMs, stateChanges } from '../../deciding/operation-story.ts';
import { empty, type Html, json } from '../../html/markup.ts';
import { badge } from '../../html/record/badge.ts';
import { duration, upstreamDuration } from '../../html/time/durations.ts';
import { type PageTime, time, timeAndAge } from '../../html/time/times.ts';
import type { OperationView } from './operation-view.ts';

/** Shows every status, oldest first, with how the bridge came to know it and how long it lasted. */
export function historyTable({ record, events, at }: Pick<OperationView, 'record' | 'events' | 'at'>): Html {
  if (events.length === 0)
    return empty('It had ended before the bridge first saw this account, so no event reports it.');
  const changes = new Map(stateChanges(record).map((change) => [change.id, change]));
  const timeOf = (event: FeedEvent) => changes.get(event.id)?.operation_updated_at ?? event.time;
  return html`<table class="stack"><thead><tr><th>When, by the upstream</th><th>What</th><th>Seen</th><th>Event</th></tr></thead>
<tbody>${events.map((event, index) => {
    const next = events[index + 1];
    const lastedMs = next && Math.max(0, Date.parse(timeOf(next)) - Date.parse(timeOf(event)));
    const change = changes.get(event.id);
    return html`<tr><td>${time(timeOf(event), at)}</td>
<td>${whatOf(event)} <span class="quiet">${lastedMs === undefined ? '' : `for ${upstreamDuration(lastedMs)}`}</span></td>
<td>${change === undefined ? '' : html`+${duration(seenAfterMs(change))} `}<span class="quiet">${seenBy(event)}</span></td>
<td>${eventDetails(event)}</td></tr>`;
  })}</tbody></table>`;
}

function whatOf({ detail, detail_type }: FeedEvent): Html {
  const { status } = detail;
  return html`${typeof status === 'string' ? badge(status) : ''} ${detail_type === 'Operation State Changed' ? '' : detail_type}${failedWords(Number(detail['failures_count'] ?? 0), Number(detail['new_failures'] ?? 0))}`;
}

/** Attempts that failed between two readings stand together. */
function failedWords(failuresCount: number, newFailures: number): Html | '' {
  if (newFailures === 0) return '';
  const first = failuresCount - newFailures + 1;
  return html` <span class="bad">${newFailures === 1 ? `attempt ${failuresCount}` : `attempts ${first} to ${failuresCount}`} failed</span>`;
}

function seenBy({ detail }: FeedEvent): string {
  const observedBy = detail['observed_by'];
  return `by ${typeof observedBy === 'string' ? observedBy : 'the poller'}`;
}

function eventDetails(event: FeedEvent): Html {
  return html`<details id="event-${event.id}"><summary class="id">${event.id.slice(0, 12)} <span class="quiet">${event.published ? 'published' : 'not on the bus yet'}</span></summary>${json(event.detail)}</details>`;
}

/** An operation that has not failed has one attempt, which the history shows. */
export function attemptTable({
  record,
  at,
}: {
  readonly record: OperationView['record'];
  readonly at: PageTime;
}): Html | '' {
  if (record.failures_count === 0) return '';
  const attempts = attemptsOf(record);
  return html`<h2>Attempts</h2>
<table class="stack"><thead><tr><th>Attempt</th><th>Outcome</th><th>When, by the upstream</th><th>Error</th></tr></thead>
<tbody>${attempts.map(
    ({
      first,
      last,
      outcome,
      at: changedAt,
      error,
    }) => html`<tr><td data-label="Attempt">${first === last ? first : `${first} to ${last}`}</td>
<td><span class="${outcome === 'failed' || outcome === 'given up' ? 'bad' : outcome === 'ended' ? 'good' : 'busy'}">${outcome}</span></td>
<td>${timeAndAge(changedAt, at)}</td><td>${error ?? ''}</td></tr>`,
  )}</tbody></table>`;
}
