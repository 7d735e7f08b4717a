/** Decides what the upstream's answer means for a command in line: its end, or a reason to wait. */

import { hadNoEffect } from '../../../shared/commands/forward-call.ts';
import type { CommandState } from '../../../shared/commands/queue/queued-command.ts';
import type { Sent } from '../../../shared/commands/send-once.ts';
import { isPassingRefusal, provesNoWork } from '../../../shared/core/rates/no-work.ts';
import { parseRetryAfter } from '../../../shared/core/rates/retry-decision.ts';

export type SentOutcome =
  | {
      readonly kind: 'ended';
      readonly state: Exclude<CommandState, 'queued' | 'sent'>;
      readonly operationIds?: readonly string[];
      readonly reason?: string;
    }
  /** The upstream did no work: the command keeps its place and is sent later. */
  | {
      readonly kind: 'held';
      readonly waitingFor: readonly string[];
      readonly pauseMs: number;
      /** A lock was the reason. A reading of the project shows which operations hold it, and when they have ended. */
      readonly isLocked: boolean;
    };

/** After a refusal that names no time, the upstream is asked again after this time at the earliest. */
const PAUSE_MS = 5_000;

/** A rejected key is renewed by a person, so asking more often finds nothing new. */
const KEY_PAUSE_MS = 60_000;

const NOT_SEEN = 'The upstream gave no answer that can be read. The command may have been carried out.';
const UNCLEAR = 'The upstream answered with a failure. The command may have been carried out.';
const MALFORMED = 'This version of the bridge cannot send the command in the form in which it was accepted.';

/** `hasLeft` is false when no request was sent, so that nothing can have been done. */
export function decideSentOutcome(sent: Sent, hasLeft: boolean, nowMs: number): SentOutcome {
  return sent.kind === 'answered' ? ofAnswer(sent, nowMs) : ofFailure(sent, hasLeft);
}

function ofAnswer(
  { answer, operationIds = [], lockedBy = [] }: Extract<Sent, { kind: 'answered' }>,
  nowMs: number,
): SentOutcome {
  const { status, headers } = answer;
  if (status < 300) {
    const state = operationIds.length > 0 ? 'running' : 'succeeded';
    return { kind: 'ended', state, operationIds };
  }
  if (isPassingRefusal(status)) {
    const pauseMs = parseRetryAfter(headers['retry-after'], nowMs) ?? PAUSE_MS;
    // With known holders the end of their operations is what to wait for, and no time.
    const isLocked = status === 423;
    return { kind: 'held', waitingFor: lockedBy, pauseMs: lockedBy.length > 0 ? 0 : pauseMs, isLocked };
  }
  if (provesNoWork(status)) return { kind: 'ended', state: 'refused' };
  return { kind: 'ended', state: 'unknown', reason: UNCLEAR };
}

function ofFailure({ failure }: Extract<Sent, { kind: 'unanswered' }>, hasLeft: boolean): SentOutcome {
  if (hadNoEffect(failure)) return pausedFor(KEY_PAUSE_MS);
  if (hasLeft) return { kind: 'ended', state: 'unknown', reason: NOT_SEEN };
  if (failure.kind === 'rejected') return { kind: 'ended', state: 'failed', reason: MALFORMED };
  return pausedFor(PAUSE_MS);
}

function pausedFor(pauseMs: number): SentOutcome {
  return { kind: 'held', waitingFor: [], pauseMs, isLocked: false };
}
