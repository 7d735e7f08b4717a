/**
 * Decides which messages go out now: one per incident while there are few, and a few for all incidents in a storm.
 * The most severe go first.
 */

import { incidentOf } from '../../../shared/alerts/incidents.ts';
import type { ChannelPace } from './channel-pace.ts';
import type { Notice, NoticeKind } from './notice.ts';
import { rankOf } from './policy.ts';

/** A message has the notices of each incident as a group. No group is more severe than the one above it. */
export type Message = readonly (readonly Notice[])[];

/** A channel can carry this much: its pace, and the size of a message in the channel's own unit. */
export interface MessageLimits extends ChannelPace {
  readonly sizeMax?: number;
  /** Returns the size that the notice adds to a message of many when it follows `before`. */
  readonly sizeOf?: (notice: Notice, before: Notice | undefined) => number;
}

/** Plans at most `slotCount` messages. Notices that are left over stay waiting and are planned again. */
export function planMessages(
  incidents: readonly (readonly Notice[])[],
  slotCount: number,
  limits: MessageLimits,
): readonly Message[] {
  if (slotCount <= 0) return [];
  const sorted = incidents
    .filter((notices) => notices.length > 0)
    .map((notices) => notices.toSorted(bySeverity))
    .toSorted(byFirst);
  const single = sorted.flatMap((notices) => inMessages(notices, limits));
  // The last free slot is kept for a message about everything that is left, instead of one more incident.
  if (single.length <= Math.max(1, slotCount - 1)) return single.map((notices) => [notices]);
  const lines = sorted.flatMap((notices) => bySeverityAlone(notices)).toSorted(byWorst);
  return inMessages(lines.flat(), limits).slice(0, slotCount).map(byIncident);
}

export function incidentCountOf(message: Message): number {
  return new Set(message.flat().map(incidentOf)).size;
}

function inMessages(
  notices: readonly Notice[],
  { noticesPerMessageMax, sizeMax = Number.POSITIVE_INFINITY, sizeOf = () => 0 }: MessageLimits,
): readonly (readonly Notice[])[] {
  const messages: Notice[][] = [];
  let size = 0;
  for (const notice of notices) {
    const last = messages.at(-1);
    const added = sizeOf(notice, last?.at(-1));
    if (last === undefined || last.length === noticesPerMessageMax || size + added > sizeMax) {
      messages.push([notice]);
      size = sizeOf(notice, undefined);
    } else {
      last.push(notice);
      size += added;
    }
  }
  return messages;
}

/** Splits the notices of one incident by severity. */
function bySeverityAlone(notices: readonly Notice[]): readonly (readonly Notice[])[] {
  return [...Map.groupBy(notices, ({ severity }) => severity).values()];
}

function byIncident(notices: readonly Notice[]): Message {
  const groups: Notice[][] = [];
  for (const notice of notices) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && incidentOf(last[0]) === incidentOf(notice)) last.push(notice);
    else groups.push([notice]);
  }
  return groups;
}

function bySeverity(a: Notice, b: Notice): number {
  return rankOf(b.severity) - rankOf(a.severity) || byNeed(a, b) || byTime(a, b);
}

function byTime(a: Notice, b: Notice): number {
  if (a.observed_at !== b.observed_at) return a.observed_at < b.observed_at ? -1 : 1;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

function byFirst([a]: readonly Notice[], [b]: readonly Notice[]): number {
  return a === undefined || b === undefined ? 0 : bySeverity(a, b);
}

/**
 * Compares severity, and among equals what waits for a person. The sort is stable, so the lines of one incident stay
 * together.
 */
function byWorst([a]: readonly Notice[], [b]: readonly Notice[]): number {
  if (a === undefined || b === undefined) return 0;
  return rankOf(b.severity) - rankOf(a.severity) || byNeed(a, b);
}

/** None of these goes on by itself, while a failed operation may still be retried. */
const WAITS_FOR_A_PERSON: ReadonlySet<NoticeKind> = new Set(['account_degraded', 'given_up', 'stalled']);

function byNeed(a: Notice, b: Notice): number {
  return Number(WAITS_FOR_A_PERSON.has(b.kind)) - Number(WAITS_FOR_A_PERSON.has(a.kind));
}
