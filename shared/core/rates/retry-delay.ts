/** Whether a call to the upstream is sent again, and when. */

/** Calls in all: one and three repetitions; what still fails then comes back with the next poll. */
export const ATTEMPTS_MAX = 4;

/** The service's own clients start at a quarter of a second, double it, and stop at ten seconds. */
const FIRST_DELAY_MS = 250;
const DELAY_MS_MAX = 10_000;

/** A longer `Retry-After` is not slept through: the project's turn comes again by itself. */
export const PATIENCE_MS = 20_000;

/**
 * The longest pause that is honoured. An upstream that asks for a day would otherwise stop an account for a day, and a
 * mistaken header would do the same. After this pause one request at a time asks whether the upstream answers again.
 */
export const RETRY_AFTER_MS_MAX = 5 * 60_000;

export interface FailedAttempt {
  /** 1 for the first. */
  readonly attempt: number;
  readonly kind: string;
  readonly method: string;
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** A number in [0, 1). */
  readonly dice: number;
}

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'give_up' };

/**
 * A read is repeated after anything that can pass. A mutation is repeated only where the service says that it did no
 * work: 423, 429 and 503 (public contract); a lost answer to it may be an executed command.
 */
export function decideRetry(failed: FailedAttempt): RetryDecision {
  if (failed.attempt >= ATTEMPTS_MAX || !canRepeat(failed)) return { kind: 'give_up' };
  const delayMs = retryDelayMs(failed);
  return delayMs > PATIENCE_MS ? { kind: 'give_up' } : { kind: 'retry', delayMs };
}

/** `Retry-After` is never shortened; otherwise half of an exponential step is certain and half is by chance. */
export function retryDelayMs({
  attempt,
  retryAfterMs,
  dice,
}: Pick<FailedAttempt, 'attempt' | 'retryAfterMs' | 'dice'>): number {
  if (retryAfterMs !== undefined) return retryAfterMs + dice * FIRST_DELAY_MS;
  const stepMs = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), DELAY_MS_MAX);
  return stepMs / 2 + (dice * stepMs) / 2;
}

/** Both forms of RFC 9110, 10.2.3: seconds, or a date. Undefined when it is neither; never negative. */
export function parseRetryAfter(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  const delayMs = /^\d+$/.test(text) ? Number(text) * 1_000 : parseHttpDate(text) - nowMs;
  return Number.isNaN(delayMs) ? undefined : Math.min(Math.max(0, delayMs), RETRY_AFTER_MS_MAX);
}

/** `Sun, 06 Nov 1994 08:49:37 GMT` and `Sunday, 06-Nov-94 08:49:37 GMT` (RFC 9110, 5.6.7). */
const GMT_DATE_PATTERN = /^[a-z]{3,9}, \d{2}[ -][a-z]{3}[ -](\d{2}|\d{4}) \d{2}:\d{2}:\d{2} GMT$/i;

/** `Sun Nov  6 08:49:37 1994`: it names no zone, and `Date.parse` would take ours. */
const ASCTIME_PATTERN = /^[a-z]{3} [a-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/i;

/** NaN when it is not a date. */
function parseHttpDate(text: string): number {
  if (GMT_DATE_PATTERN.test(text)) return Date.parse(text);
  return ASCTIME_PATTERN.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

const PASSING_KINDS: ReadonlySet<string> = new Set([
  'rate_limited',
  'unavailable',
  'network',
  'timeout',
  'malformed_answer',
]);

function canRepeat({ kind, method, status }: FailedAttempt): boolean {
  if (method === 'GET') return PASSING_KINDS.has(kind);
  return status === 423 || status === 429 || status === 503;
}
