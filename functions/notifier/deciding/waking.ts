/**
 * Decides which notices wake people, and when: at once, after a failure has lasted for the configured time, or never.
 * Of several notices about one operation the latest says how the operation stands.
 */

import { incidentOf, type Operations } from '../../../shared/alerts/incidents.ts';
import type { LabelledSubject } from '../../../shared/alerts/project-labels.ts';
import { isByWrongClock } from './channel-pace.ts';
import { hasEnded, saysHowItStands } from './incident-record.ts';
import type { Message } from './message-plan.ts';
import type { Notice, NoticeKind, WaitingNotice } from './notice.ts';
import {
  type AlertPolicy,
  isAbout,
  isEscalated,
  type Mutes,
  possibleRoutes,
  wasMutedByPerson,
} from './policy.ts';

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
const ENDS: ReadonlySet<NoticeKind> = new Set(['recovered', 'cancelled', 'stall_ended']);

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
  for (const [id, own] of Map.groupBy(waiting, ({ notice }) => notice.operation_id)) {
    const patienceMs = own[0] === undefined ? 0 : patienceMsOf(policy, own[0].notice);
    const isReported = id === undefined || (operations[id] ?? RECOVERED).state !== 'recovered';
    if (isReported) due.push(...own);
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
const RECOVERED = { state: 'recovered' } as const;

function wakesAtOnce({ notice }: WaitingNotice): boolean {
  return !mayHeal(notice) && !ENDS.has(notice.kind);
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
