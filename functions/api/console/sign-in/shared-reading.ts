/** Shares one reading among all who ask, and remembers how it ended. */

import type { Clock } from '../../../../shared/runtime/clock.ts';

/** Providers announce changes of their metadata days ahead. */
const METADATA_MS = 3_600_000;

/** A provider that does not answer is asked at most once in this time, however many people try to sign in. */
const PAUSE_MS = 10_000;

interface SharedReading<Value> {
  current(): Promise<Value>;
  forget(): void;
}

/** Remembers what was read for an hour, and a failure for some seconds. People who ask meanwhile share one reading. */
export function createSharedReading<Value>(read: () => Promise<Value>, clock: Clock): SharedReading<Value> {
  let known: { readonly value: Promise<Value>; untilMs: number } | undefined;
  return {
    current() {
      if (known !== undefined && clock.now() < known.untilMs) return known.value;
      const next = { value: read(), untilMs: clock.now() + METADATA_MS };
      known = next;
      next.value.catch(() => {
        next.untilMs = clock.now() + PAUSE_MS;
      });
      return next.value;
    },
    forget() {
      known = undefined;
    },
  };
}
