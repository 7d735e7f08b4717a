/**
 * Decides what becomes of a project that an account lists and that another account of the bridge has a record of: it has
 * moved, and its operations go on here, or both share it (PROTOCOL.md, "A project that moves").
 */

import { append, EMPTY_JOURNAL, withEventId } from './journal.ts';
import type { ProjectEntry } from './journal-entries.ts';
import { REPLICA_LAG_MS_MAX } from './operation-record.ts';
import { type CameFrom, type ProjectRecord, transferNumberOf } from './project-record.ts';
import { DAY_MS, isoTimeOf, MINUTE_MS, type Timestamp } from './time.ts';

/** An account that lists a project waits for this long for the one that has it. */
export const DECIDED_WITHIN_MS = 15 * MINUTE_MS;

/** A project that was moved again and again names this many of the accounts that had it. */
export const ORIGINS_MAX = 4;

/**
 * What the account does that lists the project: it asks the account of that record, or waits for its answer, or takes the
 * project over. It sees the project for the first time when nobody else has it, and at last when nobody has answered.
 */
export type Arrival =
  | { readonly kind: 'ask' | 'wait' | 'take'; readonly from: ProjectRecord }
  | { readonly kind: 'first_sight' | 'undecided' };

/** The bridge itself may have stood still, so a process goes on without an answer only after it has waited for this long. */
const WAITED_MS_MIN = 5 * MINUTE_MS;

interface Waiting {
  readonly nowMs: number;
  /** This process waits for so long. */
  readonly waitedMs: number;
}

/** `own` is the account's own record of the project, and `others` are those that other accounts have. */
export function decideArrival(
  accountId: string,
  own: ProjectRecord | undefined,
  others: readonly ProjectRecord[],
  waiting: Waiting,
): Arrival {
  const owners = others.filter(({ is_visible, is_unread }) => is_visible || is_unread === true);
  const answers = owners.map((from) => answerOf(accountId, from, waiting));
  const answer = (['ask', 'wait', 'undecided', 'first_sight'] as const)
    .map((kind) => answers.find((each) => each.kind === kind))
    .find((found) => found !== undefined);
  if (answer !== undefined) return answer;
  const [from] = others.toSorted((a, b) => compareArrivals(accountId, b, a));
  const hadItLast = own !== undefined && own.moved_to === undefined;
  const isOurs = from === undefined || (hadItLast && compareArrivals(accountId, own, from) >= 0);
  return isOurs ? { kind: 'first_sight' } : { kind: 'take', from };
}

/** The account to which the latest transfer has brought the project had it last. Of two alike, it is the one that has given it to us. */
function compareArrivals(accountId: string, a: ProjectRecord, b: ProjectRecord): number {
  const isForUs = ({ moved_to }: ProjectRecord) => Number(moved_to === accountId);
  return (a.came_from?.number ?? 0) - (b.came_from?.number ?? 0) || isForUs(a) - isForUs(b);
}

function answerOf(accountId: string, from: ProjectRecord, { nowMs, waitedMs }: Waiting): Arrival {
  const { wanted_by, wanted_at_ms, shared_at_ms } = from;
  const ageMs = Math.abs(nowMs - (wanted_at_ms ?? shared_at_ms ?? Number.NEGATIVE_INFINITY));
  // After such a time the project may have come and gone again.
  if (ageMs > 2 * DECIDED_WITHIN_MS) return { kind: 'ask', from };
  const isOpen = wanted_at_ms !== undefined;
  if (wanted_by !== accountId) return { kind: isOpen && ageMs <= DECIDED_WITHIN_MS ? 'wait' : 'ask', from };
  if (!isOpen) return { kind: 'first_sight' };
  const isOver = ageMs > DECIDED_WITHIN_MS && waitedMs >= WAITED_MS_MIN;
  return isOver ? { kind: 'undecided' } : { kind: 'wait', from };
}

/** A wish counts for so long, because an account may be polled a few times a day only. */
const WISH_GOOD_MS = DAY_MS;

/** Returns the account that lists the project and waits for this one, if one does. */
export function wantedBy({ wanted_by, wanted_at_ms }: ProjectRecord, nowMs: number): string | undefined {
  if (wanted_at_ms === undefined || Math.abs(nowMs - wanted_at_ms) > WISH_GOOD_MS) return undefined;
  return wanted_by;
}

/**
 * Says whether a good reading that was requested at this time or later answers the wish: both accounts share the project.
 * A replica that lags shows a project for a while where it was.
 */
export function answersWish({ wanted_at_ms }: ProjectRecord, requestedMs: number): boolean {
  return wanted_at_ms !== undefined && requestedMs - wanted_at_ms > REPLICA_LAG_MS_MAX;
}

/** Returns the record of a project that is gone because another account has it since, or undefined when none wants it. */
export function decideMovedAway(recorded: ProjectRecord, nowMs: number): ProjectRecord | undefined {
  const moved_to = wantedBy(recorded, nowMs);
  if (moved_to === undefined || recorded.moved_to === moved_to) return undefined;
  return { ...recorded, is_visible: false, is_unread: false, moved_to };
}

/** `since` is the first sight of the account that had the project. */
export function decideTakenOver(
  own: ProjectRecord | undefined,
  {
    from,
    since,
    accountId,
  }: { readonly from: ProjectRecord; readonly since: Timestamp | undefined; readonly accountId: string },
  nowMs: number,
): ProjectRecord & { readonly came_from: CameFrom } {
  const { moved_to: _elsewhere, ...before } = own ?? { ...EMPTY_JOURNAL, since, moved_to: undefined };
  const { project_id, account_id: from_account_id } = from;
  const account_ids = [from_account_id, ...(from.came_from?.account_ids ?? [])].filter(
    (id) => id !== accountId,
  );
  const transferred = withEventId([accountId, project_id], {
    type: 'project_transferred' as const,
    revision: before.revision + 1,
    observed_at: isoTimeOf(nowMs),
    from_account_id,
  });
  return {
    ...before,
    kind: 'project',
    account_id: accountId,
    project_id,
    is_visible: true,
    usage: from.usage ?? own?.usage,
    came_from: {
      account_ids: [...new Set(account_ids)].slice(0, ORIGINS_MAX),
      at_ms: nowMs,
      number: Math.max(transferNumberOf(from), transferNumberOf(own)) + 1,
    },
    ...append<ProjectEntry>(before, transferred),
  };
}
