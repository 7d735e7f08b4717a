/** Follows work that the poller does because a caller asked for it, to its end. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import { askedPauseMs, isPassing } from './bridge-client.ts';

export interface FollowDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called with a sentence on how far the work has come. */
  readonly note: (sentence: string) => void;
}

export interface Work<Standing extends { readonly state: string }> {
  readonly noun: 'repair' | 'replay';
  /** Says which one it is, such as `The repair of p-1`. */
  readonly name: string;
  readonly read: () => Promise<Standing>;
  /** Says how far the work has come. The work makes progress when this sentence changes. */
  readonly progressOf: (standing: Standing) => string;
}

const LOOK_MS = 1_000;

/** A sentence says this often that the work goes on. */
const NOTE_MS = 30_000;

/**
 * A poller begins within a minute, and a step takes seconds. A repair shows no steps, and reads some twenty thousand
 * operations a poll. After this time without progress no poller is at work, or its table or the upstream does not answer.
 */
const STANDSTILL_MS_MAX = 10 * 60_000;

/**
 * Resolves to the standing at the end. An outage of the bridge is waited for. Rejects with an `AppError` when the work
 * makes no progress for ten minutes, and with the reason of the signal when it aborts; the work goes on then.
 */
export async function followWork<Standing extends { readonly state: string }>(
  { clock, signal, note }: FollowDeps,
  { noun, name, read, progressOf }: Work<Standing>,
): Promise<Standing> {
  let noted = '';
  let notedAtMs = clock.now();
  let movedAtMs = notedAtMs;
  for (;;) {
    let pauseMs = LOOK_MS;
    const standing = await read().catch((error: unknown) => {
      if (!isPassing(error)) throw error;
      pauseMs = Math.max(LOOK_MS, askedPauseMs(error));
      note(`${error.message} The ${noun} goes on meanwhile.`);
    });
    if (standing !== undefined && standing.state !== 'in_progress') return standing;
    const progress = standing === undefined ? noted : progressOf(standing);
    if (progress !== noted) movedAtMs = clock.now();
    if (progress !== noted || clock.now() - notedAtMs >= NOTE_MS) {
      note(progress);
      noted = progress;
      notedAtMs = clock.now();
    }
    if (clock.now() - movedAtMs >= STANDSTILL_MS_MAX)
      throw new AppError(
        `${noun}_stands_still`,
        `${name} has made no progress for ten minutes. Look at the health of the poller; the ${noun} goes on once it runs.`,
      );
    await clock.sleep(pauseMs, signal);
  }
}
