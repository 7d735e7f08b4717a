/** Posts an event to a URL, signed by Standard Webhooks, and repeats it until it is accepted. */

import { Webhook } from 'standardwebhooks';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { within } from '../../process/deadline.ts';
import type { EventEnvelope } from './event-envelope.ts';

/** What became of one attempt. */
export type Attempt =
  | { readonly kind: 'answered'; readonly status: number; readonly durationMs: number }
  | { readonly kind: 'unanswered'; readonly reason: string };

type NextStep =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'given_up' }
  | { readonly kind: 'repeat'; readonly pauseMs: number };

export interface Forwarding {
  readonly url: string;
  /** `whsec_` and the key in base64. */
  readonly secret: string;
  /** An event that is answered with an error this often is given up. */
  readonly attemptsMax: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called after each attempt. */
  readonly onAttempt: (attempt: Attempt, next: NextStep) => void;
}

/** Resolves once the event was accepted or given up, or when the signal aborts. */
export async function forwardEvent(
  event: EventEnvelope,
  forwarding: Forwarding,
): Promise<'accepted' | 'given_up' | 'stopped'> {
  const { attemptsMax, clock, signal, onAttempt } = forwarding;
  for (let attempts = 1, refusals = 0; ; attempts++) {
    const attempt = await postEvent(event, forwarding);
    if (signal.aborted) return 'stopped';
    if (isRefusal(attempt)) refusals += 1;
    const next = decideNextStep(attempt, { attempts, refusals, attemptsMax });
    onAttempt(attempt, next);
    if (next.kind !== 'repeat') return next.kind;
    await clock.sleep(next.pauseMs, signal).catch(() => {});
    if (signal.aborted) return 'stopped';
  }
}

const PAUSE_MS_MIN = 500;

/** A developer who has restarted the server does not want to wait long for the next attempt. */
const PAUSE_MS_MAX = 10_000;

/**
 * A server that cannot be reached is waited for without an end, because it is being restarted or deployed. An event
 * that the server itself refuses is given up after some attempts, so that it does not stop those behind it.
 */
function decideNextStep(
  attempt: Attempt,
  counts: { readonly attempts: number; readonly refusals: number; readonly attemptsMax: number },
): NextStep {
  if (attempt.kind === 'answered' && attempt.status >= 200 && attempt.status <= 299)
    return { kind: 'accepted' };
  if (isRefusal(attempt) && counts.refusals >= counts.attemptsMax) return { kind: 'given_up' };
  return { kind: 'repeat', pauseMs: Math.min(PAUSE_MS_MIN * 2 ** (counts.attempts - 1), PAUSE_MS_MAX) };
}

/** Proxies answer with these statuses while the server behind them is away or busy. */
const NOT_THERE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

function isRefusal(attempt: Attempt): boolean {
  return attempt.kind === 'answered' && attempt.status > 299 && !NOT_THERE.has(attempt.status);
}

/** Standard Webhooks recommends 15 to 30 seconds. */
const ANSWER_MS_MAX = 30_000;

/** Sends the event once. Never rejects. */
export async function postEvent(
  event: EventEnvelope,
  { url, secret, clock, signal }: Pick<Forwarding, 'url' | 'secret' | 'clock' | 'signal'>,
): Promise<Attempt> {
  const body = JSON.stringify(event);
  const sentAt = new Date(clock.now());
  try {
    const status = await within(ANSWER_MS_MAX, { clock, signal }, async (inTime) => {
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          'webhook-id': event.id,
          'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
          'webhook-signature': new Webhook(secret).sign(event.id, sentAt, body),
        },
        body,
        signal: inTime,
      });
      await response.body?.cancel();
      return response.status;
    });
    return { kind: 'answered', status, durationMs: clock.now() - sentAt.getTime() };
  } catch (thrown) {
    return { kind: 'unanswered', reason: reasonOf(toError(thrown)) };
  }
}

/** `fetch` hides the reason of a failed connection in the cause of its error. */
function reasonOf(error: Error): string {
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : error.message;
}
