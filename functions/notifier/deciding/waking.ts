/**
 * Decides when people may be interrupted: how many messages a channel takes and how long it rests after a failure, when
 * a channel may ring again, and which notices wake people: at once, after a failure has lasted for the configured time,
 * or never.
 */

import { incidentOf, isOngoing, type Operations, type Standing } from '../../../shared/alerts/incidents.ts';
import type { LabelledSubject } from '../../../shared/alerts/project-labels.ts';
import { hasEnded, saysHowItStands } from './incident-record.ts';
import type { Message, Notice, NoticeKind, WaitingNotice } from './notice.ts';
import {
  type AlertPolicy,
  isAbout,
  isEscalated,
  type Mutes,
  possibleRoutes,
  wasMutedByPerson,
} from './policy.ts';

export interface ChannelPace {
  /** At most this many messages may start within `perMs`. */
  readonly messageCountMax: number;
  readonly perMs: number;
  /** One message can name at most this many notices. Further ones go into the next message. */
  readonly noticesPerMessageMax: number;
}

/** A channel can carry this much: its pace, and the size of a message in the channel's own unit. */
export interface MessageLimits extends ChannelPace {
  readonly sizeMax?: number;
  /** Returns the size that the notice adds to a message of many when it follows `before`. */
  readonly sizeOf?: (notice: Notice, before: Notice | undefined) => number;
}

/**
 * Returns the starts of messages that still count against the pace. A start far in the future was written by a wrong
 * clock and does not count.
 */
export function countedSends(
  sentAtMs: readonly number[],
  { perMs }: ChannelPace,
  nowMs: number,
): readonly number[] {
  return sentAtMs.filter((atMs) => atMs > nowMs - perMs && atMs <= nowMs + perMs);
}

/** Returns how many messages may start now. */
export function freeSlots(sentAtMs: readonly number[], pace: ChannelPace, nowMs: number): number {
  return Math.max(0, pace.messageCountMax - countedSends(sentAtMs, pace, nowMs).length);
}

/** The channel rests for this time after the first of several consecutive failures. */
const FIRST_PAUSE_MS = 5_000;

/** A channel that asks for a longer pause is probed after this time all the same, because its answer may be out of date. */
export const PAUSE_MS_MAX = 5 * 60_000;

/**
 * Returns the pause after a failure, in ms. It doubles with every consecutive failure, is at least what the channel
 * asks for, and is at most five minutes.
 */
export function pauseAfter(failuresInRow: number, retryAfterMs = 0): number {
  const ownMs = FIRST_PAUSE_MS * 2 ** Math.min(failuresInRow - 1, 10);
  return Math.min(PAUSE_MS_MAX, Math.max(ownMs, retryAfterMs));
}

/** The clocks of two processes differ by less than this. AWS keeps its own within milliseconds. */
const CLOCKS_APART_MS_MAX = 60_000;

/**
 * Returns whether a stored time was written by a wrong clock. Another process may have written what lies a moment ahead, so
 * only a time that is more than a minute ahead is wrong, and holds nothing back.
 */
export function isByWrongClock(instantMs: number, nowMs: number): boolean {
  return instantMs > nowMs + CLOCKS_APART_MS_MAX;
}

/**
 * Returns whether a stored instant lies in the future. An instant that is further ahead than `aheadMsMax` was written
 * by a wrong clock and does not.
 */
export function isAhead(instantMs: number, nowMs: number, aheadMsMax: number): boolean {
  return instantMs > nowMs && instantMs <= nowMs + aheadMsMax;
}

/** Two messages are at most this far apart while something waits, so that a bad day is reported every 40 minutes. */
const GATHER_MS_MAX = 40 * 60_000;

/**
 * Notices of these kinds say that the bridge itself or one of its channels fails, or that somebody waits for an answer. They are
 * sent at once, and later notices are not gathered because of them.
 */
const NEVER_GATHERED: ReadonlySet<NoticeKind> = new Set([
  'account_degraded',
  'account_recovered',
  'channel_deaf',
  'channel_back',
  'muted_all',
  'approval_wanted',
  'approval_ended',
]);

interface Interruptions {
  /** People were last interrupted at this time. It is undefined when they have not been. */
  readonly interrupted_at_ms?: number | undefined;
  /** After that, notices are gathered for this long. */
  readonly gather_ms?: number | undefined;
}

export function isNeverGathered(kind: NoticeKind): boolean {
  return NEVER_GATHERED.has(kind);
}

/**
 * Returns whether the notices that follow this one are gathered into one message. Nothing is gathered after good news,
 * because nobody has to look at it, or after a critical notice, because critical ones have a rule of their own.
 */
export function startsGathering({ kind, severity }: Notice): boolean {
  return severity === 'warning' && !isNeverGathered(kind);
}

/** Critical messages of a channel begin this far apart. The sweep once a minute sends what has come in between. */
const CRITICAL_APART_MS = 60_000;

/** Returns whether a critical message went out so lately that the next one waits for the sweep. */
export function isJustTold(criticalAtMs: number | undefined, nowMs: number): boolean {
  return criticalAtMs !== undefined && Math.abs(nowMs - criticalAtMs) < CRITICAL_APART_MS;
}

/** A channel that can add to a sent message rings at most this often: a person who was woken reads the additions without a ring. */
const RINGS_APART_MS_MAX = 10 * 60_000;

/**
 * Returns whether the channel rang so lately that what comes now joins the message that rang. Where alerts are gathered
 * for a shorter time, the channel may ring as often as that, and where none are gathered, always.
 */
export function hasJustRung(rungAtMs: number, gatherMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - rungAtMs) < Math.min(RINGS_APART_MS_MAX, gatherMs);
}

/** Returns whether notices are being gathered now. */
export function isGathering({ interrupted_at_ms, gather_ms = 0 }: Interruptions, nowMs: number): boolean {
  if (interrupted_at_ms === undefined || isByWrongClock(interrupted_at_ms, nowMs)) return false;
  return nowMs < interrupted_at_ms + gather_ms;
}

/**
 * Returns the interruptions after a message went out now. The time doubles when the message before it was sent less
 * than twice that time ago, and otherwise begins with `firstMs` again.
 */
export function noteInterruption(before: Interruptions, nowMs: number, firstMs: number): Interruptions {
  const { interrupted_at_ms: lastMs = Number.NEGATIVE_INFINITY, gather_ms = firstMs } = before;
  const isFollowing = !isByWrongClock(lastMs, nowMs) && nowMs - lastMs <= 2 * gather_ms;
  const nextMs = isFollowing && nowMs - lastMs >= gather_ms ? 2 * gather_ms : gather_ms;
  return {
    interrupted_at_ms: nowMs,
    gather_ms: isFollowing ? Math.max(firstMs, Math.min(nextMs, GATHER_MS_MAX)) : firstMs,
  };
}

/**
 * Returns the message with the latest notice of each operation, account and channel, in its order. What does not say how one of
 * them stands stays. A group of which nothing is left is missing.
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
  const { id, operation_id = saysHowItStands(notice) ? '' : undefined } = notice;
  return operation_id === undefined ? `notice ${id}` : `${incidentOf(notice)} ${operation_id}`;
}

/** Compares two notices of one operation; the older comes first. Only changes of its status have a sequence. */
function byAge(a: Notice, b: Notice): number {
  if (a.sequence !== undefined && b.sequence !== undefined) return a.sequence - b.sequence;
  return a.observed_at < b.observed_at ? -1 : Number(a.observed_at > b.observed_at);
}

/** After these the operation usually goes on, so the failure may end without a person. */
const MAY_HEAL: ReadonlySet<NoticeKind> = new Set(['failed', 'attempt_failed', 'moved']);

/** These end a failure. They are news only to people who were notified of it. */
const ENDS: ReadonlySet<NoticeKind> = new Set(['recovered', 'cancelled', 'stall_ended', 'project_gone']);

export type Patience = Pick<AlertPolicy, 'routes' | 'labels' | 'patience_seconds'>;

/** Returns for how many milliseconds a failure of this project may last before it is reported. */
function patienceMsOf(policy: Patience, subject: LabelledSubject): number {
  const route = policy.routes.find((one) => isAbout(one, subject, policy));
  return (route?.patience_seconds ?? policy.patience_seconds) * 1_000;
}

/** Returns the shortest time that this can be, whatever the name of the project is. */
export function leastPatienceMsOf(policy: Patience, subject: Omit<LabelledSubject, 'project_name'>): number {
  const seconds = possibleRoutes(policy, subject).map(
    (route) => route.patience_seconds ?? policy.patience_seconds,
  );
  return Math.min(...(seconds.length === 0 ? [policy.patience_seconds] : seconds)) * 1_000;
}

/** Returns whether the notice may still wait for the end of its failure. A critical one never waits. */
export function mayHeal({ kind, severity }: Pick<Notice, 'kind' | 'severity'>): boolean {
  return MAY_HEAL.has(kind) && severity !== 'critical';
}

/** Returns whether the failure has lasted long enough. */
export function hasLasted(storedAtMs: number, patienceMs: number, nowMs: number): boolean {
  return storedAtMs + patienceMs <= nowMs || isByWrongClock(storedAtMs, nowMs);
}

export interface Judged {
  readonly due: readonly WaitingNotice[];
  /** These failures ended before they woke people. */
  readonly healed: readonly WaitingNotice[];
}

/**
 * Judges the waiting notices of one incident, operation by operation. What is neither due nor healed goes on waiting.
 * `operations` says how operations stand by what was reported or healed before. What follows a failure that was
 * reported is due, and a failure that comes in after its operation has ended has healed.
 */
export function judge(
  waiting: readonly WaitingNotice[],
  operations: Operations,
  { policy, nowMs }: { readonly policy: Patience & Mutes; readonly nowMs: number },
): Judged {
  const due: WaitingNotice[] = [];
  const healed: WaitingNotice[] = [];
  const byOperation = Map.groupBy(waiting, ({ notice }) => notice.operation_id);
  const failing = Object.keys(operations).filter(
    (id) => isOngoing(operations[id]?.state ?? 'unknown') && !hasEnd(byOperation.get(id) ?? []),
  );
  for (const [id, own] of byOperation) {
    const patienceMs = own[0] === undefined ? 0 : patienceMsOf(policy, own[0].notice);
    const standing = operations[id ?? ''] ?? RECOVERED;
    // No message said that this operation fails, and others of its incident still do.
    if (standing.is_untold && own.every(isSimpleEnd) && failing.length > 0) healed.push(...own);
    else if (id === undefined || standing.state !== 'recovered') due.push(...own);
    // An operation of a project that is gone need not have been in trouble.
    else if (own.every(({ notice }) => notice.kind === 'project_gone')) healed.push(...own);
    // People did not want to know of it while it failed, and it fails no more.
    else if (hasEnd(own) && own.some((one) => wasMutedByPerson(one.notice, policy, one.stored_at_ms)))
      healed.push(...own);
    else if (patienceMs === 0 || own.some(wakesAtOnce)) due.push(...own);
    else if (hasHealed(own, patienceMs) || own.every(({ notice }) => hasEnded(operations, notice)))
      healed.push(...own);
    else if (hasEnd(own) || own.some((one) => hasLasted(one.stored_at_ms, patienceMs, nowMs)))
      due.push(...own);
  }
  return { due, healed };
}

/** An operation of which nothing is known counts as one that has recovered: people have not been notified of a failure. */
const RECOVERED: Pick<Standing, 'state' | 'is_untold'> = { state: 'recovered' };

function wakesAtOnce({ notice }: WaitingNotice): boolean {
  return !mayHeal(notice) && !ENDS.has(notice.kind);
}

/** An operation that failed three times has not healed, although the polls may have missed the third. */
function isSimpleEnd({ notice }: WaitingNotice): boolean {
  return ENDS.has(notice.kind) && !isEscalated(notice);
}

function hasEnd(own: readonly WaitingNotice[]): boolean {
  return ENDS.has(latestOf(own)?.kind ?? 'failed');
}

/**
 * Returns whether the operation's latest notice ends it, within its patience after the first failure that is known. The
 * upstream's times say so, because the bridge sees both changes only when it polls. With three failures it has not, even when the polls have missed the third.
 */
function hasHealed(own: readonly WaitingNotice[], patienceMs: number): boolean {
  const latest = latestOf(own);
  if (latest === undefined || !ENDS.has(latest.kind) || isEscalated(latest)) return false;
  const failures = own.filter(({ notice }) => MAY_HEAL.has(notice.kind));
  return failures.every(({ notice }) => changedAtMs(latest) - changedAtMs(notice) <= patienceMs);
}

function changedAtMs({ changed_at, observed_at }: Notice): number {
  return Date.parse(changed_at ?? observed_at);
}

function latestOf(own: readonly WaitingNotice[]): Notice | undefined {
  return own
    .map(({ notice }) => notice)
    .toSorted(byAge)
    .at(-1);
}
