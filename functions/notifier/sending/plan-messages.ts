/**
 * Plans messages of notices that were read: one per incident while there are few, and a few for all incidents in a
 * storm, the most severe first. Those that only change a list are edits of it. Each message gets what people ask next:
 * what the history of the operation says, how often the action failed in the last hour, and who fails alike.
 */

import { alikeOf, type Surroundings, TOGETHER_MS } from '../../../shared/alerts/common-cause.ts';
import { type IncidentRecord, incidentIdOf, incidentOf } from '../../../shared/alerts/incidents.ts';
import { HOUR_MS } from '../../../shared/records/time.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { NotifierDeps } from '../alert-store.ts';
import type { StoredIncidents } from '../channel-memory.ts';
import type { Thread } from '../deciding/incident.ts';
import { FAILURES_KEPT_MAX, hasEnded, saysHowItStands } from '../deciding/incident-record.ts';
import type { Message, Notice, NoticeKind, WaitingNotice } from '../deciding/notice.ts';
import { type Mutes, rankOf, wasMuted } from '../deciding/policy.ts';
import type { MessageLimits } from '../deciding/waking.ts';

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

export interface PlannedMessage {
  readonly message: Message;
  /** These are the sort keys of its notices, in the order of the message. */
  readonly sks: readonly string[];
  readonly incidents: StoredIncidents;
  /** The message was planned at this time. */
  readonly at_ms: number;
}

export interface PlanTerms {
  readonly limits: MessageLimits;
  /** At most this many messages may start. */
  readonly slotCount: number;
  readonly incidents: StoredIncidents;
  readonly at_ms: number;
}

/** Returns the messages that these notices make, whether or not they are due. */
export function messagesOf(
  found: readonly WaitingNotice[],
  policy: Mutes,
  { limits, slotCount, incidents, at_ms }: PlanTerms,
): readonly PlannedMessage[] {
  const skOf = new Map(found.map((one) => [shown(one, policy, incidents), one.sk]));
  const incidentsDue = [...Map.groupBy(skOf.keys(), incidentOf).values()];
  return planMessages(incidentsDue, slotCount, limits).map((message) => ({
    message,
    sks: message.flat().flatMap((notice) => skOf.get(notice) ?? []),
    incidents,
    at_ms,
  }));
}

function shown({ notice, stored_at_ms }: WaitingNotice, policy: Mutes, incidents: StoredIncidents): Notice {
  const operations = incidents.get(incidentOf(notice))?.incident.operations ?? {};
  return {
    ...notice,
    ...(hasEnded(operations, notice) && { has_ended: true }),
    ...(wasMuted(notice, policy, stored_at_ms) && { was_muted: true }),
  };
}

/** Edits of lists are this far apart. What happens in between stands in the next one. */
export const LIST_EDITS_APART_MS = 10_000;

/** One round edits at most this many lists, because Slack takes about fifty edits a minute (Web API, tier 3). */
export const LISTS_EDITED_MAX = 5;

/** Returns the open list in which the incident has its lines. */
function listIn(incidents: StoredIncidents, name: string): Thread | undefined {
  const thread = incidents.get(name)?.incident.thread;
  return thread?.is_of_many === true && !thread.isOver ? thread : undefined;
}

/** Returns whether people need no message of it: the line of its operation in a list says it. */
export function isOnlyListed(notice: Notice, incidents: StoredIncidents): boolean {
  const { severity, operation_id } = notice;
  if (severity === 'critical' || operation_id === undefined || !saysHowItStands(notice)) return false;
  return listIn(incidents, incidentOf(notice)) !== undefined;
}

/** Returns whether the message changes one list, and nothing else. */
export function isOnlyEdit(message: Message, incidents: StoredIncidents): boolean {
  const lists = new Set(message.flat().map((notice) => listIn(incidents, incidentOf(notice))?.ts));
  return lists.size === 1 && message.flat().every((notice) => isOnlyListed(notice, incidents));
}

/** Divides what is due into edits, one for each list, and what needs a message. */
export function divideListed(
  fit: readonly WaitingNotice[],
  policy: Mutes,
  terms: PlanTerms,
): { readonly edits: readonly PlannedMessage[]; readonly others: readonly WaitingNotice[] } {
  const { listed = [], others = [] } = Object.groupBy(fit, ({ notice }) =>
    isOnlyListed(notice, terms.incidents) ? 'listed' : 'others',
  );
  const byList = Map.groupBy(listed, ({ notice }) => listIn(terms.incidents, incidentOf(notice))?.ts);
  const edits = [...byList.values()].flatMap((own) => messagesOf(own, policy, { ...terms, slotCount: 1 }));
  return { edits: edits.slice(0, LISTS_EDITED_MAX), others };
}

/** Returns whether people have use for the context: the alert is about an action of a project, and about something bad. */
function hasContext({ project_id, action, severity, kind }: Notice): boolean {
  return project_id !== undefined && action !== undefined && severity !== 'info' && kind !== 'unreadable';
}

/** Returns when the incident of the notice began, in milliseconds since the epoch. */
function beganMsOf({ changed_at, observed_at }: Notice, record: IncidentRecord | undefined): number {
  return Date.parse(record?.began_at ?? changed_at ?? observed_at);
}

/** Returns the fields that the notice gets when it is sent. One about which nothing is known is missing. */
export function contextOf(
  notice: Notice,
  record: IncidentRecord | undefined,
  { around, nowMs }: { readonly around: Surroundings; readonly nowMs: number },
): { readonly last_hour?: Notice['last_hour']; readonly alike?: Notice['alike'] } {
  const recent = (record?.failures ?? []).filter(({ at_ms }) => at_ms > nowMs - HOUR_MS);
  const alike = alikeOf({ ...notice, beganMs: beganMsOf(notice, record) }, around, nowMs);
  return {
    ...(recent.length > 0 && {
      last_hour: {
        attempt_count: recent.reduce((sum, { attempt_count }) => sum + attempt_count, 0),
        ...(recent.length >= FAILURES_KEPT_MAX && { is_least: true }),
      },
    }),
    ...(alike && { alike }),
  };
}

/**
 * Returns the notices of a message, those with the common cause that the rule finds. All of them are of one action and
 * account, and the earliest stands for them.
 */
function withCommonCause(notices: readonly Notice[], around: Surroundings, nowMs: number): readonly Notice[] {
  const [earliest] = notices.toSorted((a, b) => beganMsOf(a, undefined) - beganMsOf(b, undefined));
  const alike = earliest && alikeOf({ ...earliest, beganMs: beganMsOf(earliest, undefined) }, around, nowMs);
  if (earliest === undefined || !alike?.is_service) return notices;
  const lastMs = beganMsOf(earliest, undefined) + TOGETHER_MS;
  return notices.map((notice) => (beganMsOf(notice, undefined) <= lastMs ? { ...notice, alike } : notice));
}

/**
 * A message about one alert gets all its context, and one about many only what says that the service is at fault. An alert
 * is never late or lost for its context: when that cannot be read, the message goes without it.
 */
export async function withContext(deps: NotifierDeps, message: Message): Promise<Message> {
  const [notice, second] = message.flat();
  if (notice === undefined) return message;
  try {
    if (second !== undefined) return await withCommonCauses(deps, message);
    return hasContext(notice) ? [[await withinAccount(deps, notice)]] : message;
  } catch (error) {
    const { account_id } = notice;
    deps.telemetry.log('warn', 'alert.context_not_read', { account_id, reason: toError(error).name });
    return message;
  }
}

/** A message names at most this many causes. Each takes a read of the index. */
const CAUSES_MAX = 3;

/** Only an action that fails in several projects of the message is looked at. */
async function withCommonCauses(
  { store, usualFailuresOf, clock }: NotifierDeps,
  message: Message,
): Promise<Message> {
  const groups = Map.groupBy(
    message.flat().filter(hasContext),
    ({ account_id, action }) => `${account_id} ${action}`,
  );
  const largest = [...groups.values()]
    .map((notices) => ({ notices, projectCount: new Set(notices.map(({ project_id }) => project_id)).size }))
    .filter(({ projectCount }) => projectCount > 1)
    .toSorted((a, b) => b.projectCount - a.projectCount)
    .slice(0, CAUSES_MAX);
  const caused = new Map<string, Notice>();
  for (const { notices } of largest) {
    const [first] = notices;
    if (first === undefined) continue;
    const { account_id, action = '' } = first;
    const sinceMs = Math.min(...notices.map((notice) => beganMsOf(notice, undefined))) - TOGETHER_MS;
    if (Number.isNaN(sinceMs)) continue;
    const [open, usualPerMinute] = await Promise.all([
      store.openIncidents(account_id, sinceMs),
      usualFailuresOf(account_id, action),
    ]);
    for (const notice of withCommonCause(notices, { open, usualPerMinute }, clock.now()))
      caused.set(notice.id, notice);
  }
  return message.map((notices) => notices.map((notice) => caused.get(notice.id) ?? notice));
}

async function withinAccount(
  { store, usualFailuresOf, clock }: NotifierDeps,
  notice: Notice,
): Promise<Notice> {
  const { account_id, action = '' } = notice;
  const record = await store.incidentsOf(account_id).read(incidentIdOf(incidentOf(notice)));
  const sinceMs = beganMsOf(notice, record) - TOGETHER_MS;
  const [open, usualPerMinute] = await Promise.all([
    store.openIncidents(account_id, Number.isNaN(sinceMs) ? clock.now() : sinceMs),
    usualFailuresOf(account_id, action),
  ]);
  return {
    ...notice,
    ...contextOf(notice, record, { around: { open, usualPerMinute }, nowMs: clock.now() }),
  };
}
