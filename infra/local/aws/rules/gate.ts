/** Lets a bounded number of deliveries to one target run at the same time, and a bounded number wait. */

import { DeliveryError } from '../services/deliveries.ts';

/** A server on a laptop answers in milliseconds, so ten at a time keep up with any feed of the local run. */
const RUNNING_MAX = 10;

/** With each event below 256 KiB, and most of them below one, more would be a leak of memory and no backlog. */
export const WAITING_DELIVERIES_MAX = 1_000;

export interface Gate {
  /** Rejects with a `DeliveryError` when too many wait already. */
  run(deliver: () => Promise<void>): Promise<void>;
}

export function createGate(): Gate {
  const waiting: (() => void)[] = [];
  let runningCount = 0;
  return {
    async run(deliver) {
      if (waiting.length >= WAITING_DELIVERIES_MAX) throw overflow();
      if (runningCount >= RUNNING_MAX) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        await promise;
      } else runningCount += 1;
      try {
        await deliver();
      } finally {
        const next = waiting.shift();
        // The next one takes over the place of this one.
        if (next === undefined) runningCount -= 1;
        else next();
      }
    },
  };
}

function overflow(): DeliveryError {
  const reason = `${WAITING_DELIVERIES_MAX} deliveries to this target wait already.`;
  return new DeliveryError('RESOURCE_LIMIT_EXCEEDED', reason, false);
}
