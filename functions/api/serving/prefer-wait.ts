/** Reads how long a caller is willing to wait, and for what (`Prefer: wait=N`, RFC 7240, section 4.3). */

import type { Caller } from '../../../shared/callers/authorize.ts';
import { invalid } from './problem.ts';

/** Most locks are released within this time, because operations take a second or two. */
const WAIT_MS_DEFAULT = 5_000;

/** The whole request ends after 28 s, and a request to the upstream, which may take ten, must fit behind the wait. */
const WAIT_SECONDS_MAX = 20;
export const WAIT_MS_MAX = WAIT_SECONDS_MAX * 1_000;

/** Returns milliseconds, also when the caller names no time. Throws `Problem` as `namedWaitMs` does. */
export function preferredWaitMs(prefer: string | null | undefined): number {
  return namedWaitMs(prefer) ?? WAIT_MS_DEFAULT;
}

/**
 * Returns milliseconds, and undefined when the caller names no time. Other preferences are ignored, as the RFC says.
 * Throws `Problem` when `wait` is not a whole number of seconds.
 */
export function namedWaitMs(prefer: string | null | undefined): number | undefined {
  const wait = partsOf(prefer).find((part) => /^wait\b/i.test(part) && !isReady(part));
  if (wait === undefined) return undefined;
  const seconds = /^wait\s*=\s*"?(\d{1,6})"?$/i.exec(wait)?.[1];
  if (seconds === undefined)
    throw invalid([
      { field: 'header.prefer', reason: 'wait takes whole seconds, like wait=10, or wait=ready' },
    ]);
  return Math.min(Number(seconds), WAIT_SECONDS_MAX) * 1_000;
}

/**
 * `wait=ready` says that the caller wants the answer when everything that the command has started is done: a new
 * branch can be used then.
 */
export function isReadyAwaited(prefer: string | null | undefined): boolean {
  return partsOf(prefer).some(isReady);
}

function partsOf(prefer: string | null | undefined): readonly string[] {
  // Most requests have no such header.
  return prefer ? prefer.split(/[,;]/).map((part) => part.trim()) : [];
}

function isReady(part: string): boolean {
  return /^wait\s*=\s*"?ready"?$/i.test(part);
}

/** Returns whether a command of the caller is answered when it has settled, and not when the upstream has answered it. */
export function isAnsweredAtEnd(
  { settles }: Pick<Caller, 'settles'>,
  prefer: string | null | undefined,
): boolean {
  return settles === true || isReadyAwaited(prefer);
}
