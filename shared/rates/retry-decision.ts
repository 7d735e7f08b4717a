/**
 * Decides whether a call to the upstream is sent again, and when, by the kind of its failure and by whether the
 * answer proves that the request had no effect.
 */

import { MINUTE_MS } from '../records/time.ts';

export type UpstreamErrorKind =
  /** The upstream answered 401, also after one fresh read of the key. Without a status, the key was not sent. */
  | 'unauthorized'
  /** The upstream answered 403. */
  | 'forbidden'
  /** The upstream answered 404, which it does when the thing is deleted and when the key has no permission. */
  | 'not_found'
  /** The upstream answered 423, because conflicting operations run on the project. */
  | 'locked'
  /** The upstream answered 429. */
  | 'rate_limited'
  /** The upstream answered 5xx. */
  | 'unavailable'
  /**
   * The upstream answered with any other 4xx. Without a status, the request was not sent, because an id or a field is
   * not of the expected form.
   */
  | 'rejected'
  /** The answer is not JSON, incomplete, without the expected envelope, or too large. */
  | 'malformed_answer'
  /** The connection was refused or reset, or the host does not exist. */
  | 'network'
  | 'timeout'
  /** The caller's own signal aborted. */
  | 'cancelled';

/** These of the client errors say that the request took too long or came too early, and not that no work was done. */
const MAY_HAVE_WORKED: ReadonlySet<number> = new Set([408, 425, 499]);

/** These of the refusals pass by themselves: the same request may succeed a moment later (public contract). */
const PASS: ReadonlySet<number> = new Set([423, 429, 503]);

/**
 * When it is true, a command that was sent once was not carried out: a client error refuses a request as it stands (RFC
 * 9110, 15.5), and the public contract says of a 503 that no work was done. It is no reason to send the same request
 * again.
 */
export function provesNoWork(status: number): boolean {
  return status === 503 || (status >= 400 && status < 500 && !MAY_HAVE_WORKED.has(status));
}

/** When it is true, no work was done, and the same request may succeed a moment later, whatever its method. */
export function isPassingRefusal(status: number | undefined): boolean {
  return status !== undefined && PASS.has(status);
}

/** A call is sent once and repeated three times. The next poll reads what still fails then. */
export const ATTEMPTS_MAX = 4;

/** The service's own clients start at a quarter of a second, double it, and stop at ten seconds. */
const FIRST_DELAY_MS = 250;
const DELAY_MS_MAX = 10_000;

/** A longer pause is not waited for, because the project's turn comes again by itself. */
export const PAUSE_MS_MAX = 20_000;

/**
 * A pause that the upstream asks for is honoured up to this time. An upstream that asks for a day would otherwise
 * stop an account for a day, and a mistaken header would do the same. After this pause one request at a time asks
 * whether the upstream answers again.
 */
export const RETRY_AFTER_MS_MAX = 5 * MINUTE_MS;

export interface RefusedAttempt {
  /** The first attempt has number 1. */
  readonly attempt: number;
  /** The answer's `Retry-After` asks for this pause. It is undefined when the answer has none. */
  readonly retryAfterMs: number | undefined;
  /** The caller draws this random number from [0, 1). */
  readonly dice: number;
}

export interface FailedAttempt extends RefusedAttempt {
  readonly kind: UpstreamErrorKind;
  readonly method: string;
  /** It is undefined when no answer came. */
  readonly status: number | undefined;
}

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'give_up' };

/**
 * A read is repeated after anything that can pass. A mutation is repeated only after a refusal of which the service
 * says that no work was done, because a mutation whose answer was lost may have been carried out.
 */
export function decideRetry(failed: FailedAttempt): RetryDecision {
  return canRepeat(failed) ? decideRepetition(failed) : { kind: 'give_up' };
}

function decideRepetition(refused: RefusedAttempt): RetryDecision {
  if (refused.attempt >= ATTEMPTS_MAX) return { kind: 'give_up' };
  const delayMs = retryDelayMs(refused);
  return delayMs > PAUSE_MS_MAX ? { kind: 'give_up' } : { kind: 'retry', delayMs };
}

/** A lock is released within seconds: a longer pause would only make its caller wait beyond the end of the lock. */
const LOCK_PAUSE_MS_MAX = 2_000;

/**
 * Returns the pause before a refused call of a waiting caller is sent again. The repetitions end when the caller's
 * wait does.
 */
export function callerPauseMs(refused: RefusedAttempt): number {
  const delayMs = retryDelayMs(refused);
  return refused.retryAfterMs === undefined ? Math.min(delayMs, LOCK_PAUSE_MS_MAX) : delayMs;
}

/**
 * Returns the pause before the next attempt. `Retry-After` is never shortened. Otherwise half of an exponential step
 * is certain, and the other half is drawn.
 */
export function retryDelayMs({ attempt, retryAfterMs, dice }: RefusedAttempt): number {
  if (retryAfterMs !== undefined) return retryAfterMs + dice * FIRST_DELAY_MS;
  const stepMs = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), DELAY_MS_MAX);
  return stepMs / 2 + (dice * stepMs) / 2;
}

/**
 * Parses both forms of RFC 9110, 10.2.3: seconds, or a date. Returns undefined when the text is neither, and never
 * less than 0.
 */
export function parseRetryAfter(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  const delayMs = /^\d+$/.test(text) ? Number(text) * 1_000 : parseHttpDate(text) - nowMs;
  return Number.isNaN(delayMs) ? undefined : Math.min(Math.max(0, delayMs), RETRY_AFTER_MS_MAX);
}

/** This matches `Sun, 06 Nov 1994 08:49:37 GMT` and `Sunday, 06-Nov-94 08:49:37 GMT` (RFC 9110, 5.6.7). */
const GMT_DATE_PATTERN = /^[a-z]{3,9}, \d{2}[ -][a-z]{3}[ -](\d{2}|\d{4}) \d{2}:\d{2}:\d{2} GMT$/i;

/** This matches `Sun Nov  6 08:49:37 1994`, which names no zone, so `Date.parse` would take ours. */
const ASCTIME_PATTERN = /^[a-z]{3} [a-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/i;

/** Returns milliseconds since the epoch, or NaN when the text is not a date. */
function parseHttpDate(text: string): number {
  if (GMT_DATE_PATTERN.test(text)) return Date.parse(text);
  return ASCTIME_PATTERN.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

const PASSING_KINDS: ReadonlySet<UpstreamErrorKind> = new Set([
  'rate_limited',
  'unavailable',
  'network',
  'timeout',
  'malformed_answer',
]);

function canRepeat({ kind, method, status }: FailedAttempt): boolean {
  if (method === 'GET') return PASSING_KINDS.has(kind);
  return isPassingRefusal(status);
}
