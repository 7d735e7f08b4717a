/** Which messages go out now: one per incident while there are few, and a few for all of them in a storm; the worst first. */

import type { Notice } from '../../../shared/alerts/notice.ts';
import { incidentOf } from '../../../shared/alerts/pending-notice.ts';
import type { ChannelPace } from './channel-pace.ts';
import { rankOf } from './wording.ts';

/** The notices of one message, those of one incident together; no line is more severe than one above it. */
export type Message = readonly (readonly Notice[])[];

/** What a channel can carry: its pace, and how large a message may be by the channel's own measure. */
export interface MessageLimits extends ChannelPace {
  readonly sizeMax?: number;
  /** Of the notice in a message of many, after the one before it. */
  readonly sizeOf?: (notice: Notice, before: Notice | undefined) => number;
}

/** At most `slotCount` messages. What is left over stays pending and is planned again. */
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
  // The last free slot is worth most: it reports all that is left instead of one more incident.
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

/** The notices of one incident, apart by severity. */
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
  return rankOf(b.severity) - rankOf(a.severity) || byTime(a, b);
}

function byTime(a: Notice, b: Notice): number {
  if (a.observed_at !== b.observed_at) return a.observed_at < b.observed_at ? -1 : 1;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

function byFirst([a]: readonly Notice[], [b]: readonly Notice[]): number {
  return a === undefined || b === undefined ? 0 : bySeverity(a, b);
}

/** Stable, so that the lines of one incident stay together. */
function byWorst([a]: readonly Notice[], [b]: readonly Notice[]): number {
  return a === undefined || b === undefined ? 0 : rankOf(b.severity) - rankOf(a.severity);
}
