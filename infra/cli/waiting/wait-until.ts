/** Asks the bridge with long polls until something has ended, through short outages, or until the time is over. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { askedPauseMs, BridgeRefusal, type BridgeSilence, isPassing } from '../connection/bridge-client.ts';
import type { Outcome } from './outcome.ts';

export interface Waiting {
  /** Holds the answer back for up to `waitSeconds` while the outcome is pending. */
  readonly ask: (waitSeconds: number) => Promise<Outcome>;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called with a sentence for each new state, and for an outage. */
  readonly onProgress: (sentence: string) => void;
}

/** The bridge holds an answer back for at most this long. */
const WAIT_SECONDS_MAX = 25;

const PAUSE_MS = 1_000;

/** An answer to the last question is still taken this long after the time is over. */
export const LAST_ANSWER_MS = 5_000;

const UNKNOWN: Outcome = { kind: 'pending', state: 'unknown', seen: null };

/**
 * Resolves to the last outcome that was seen, which is pending when the time is over or the signal aborts. What the
 * bridge does not know yet (404) is waited for, too.
 */
export async function waitUntil({ ask, timeoutMs, clock, signal, onProgress }: Waiting): Promise<Outcome> {
  const untilMs = clock.now() + timeoutMs;
  let outcome = UNKNOWN;
  let trouble: string | undefined;
  while (!signal.aborted) {
    const leftMs = untilMs - clock.now();
    let pauseMs = PAUSE_MS;
    try {
      const seen = await ask(Math.max(0, Math.min(WAIT_SECONDS_MAX, Math.floor(leftMs / 1_000))));
      if (seen.state !== outcome.state) onProgress(progressOf(seen));
      outcome = seen;
      trouble = undefined;
    } catch (error) {
      if (signal.aborted) break;
      if (!isWorthAsking(error)) throw error;
      if (error.message !== trouble) onProgress(error.message);
      trouble = error.message;
      pauseMs = Math.max(PAUSE_MS, askedPauseMs(error));
    }
    if (outcome.kind !== 'pending' || clock.now() >= untilMs) return outcome;
    await clock.sleep(Math.min(pauseMs, Math.max(0, untilMs - clock.now())), signal).catch(() => {});
  }
  return outcome;
}

function progressOf({ state, reason }: Outcome): string {
  return reason === undefined ? state : `${state}: ${reason}`;
}

/** What the bridge does not know yet may come to be known. */
function isWorthAsking(error: unknown): error is BridgeSilence | BridgeRefusal {
  return isPassing(error) || (error instanceof BridgeRefusal && error.status === 404);
}
