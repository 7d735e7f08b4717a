/** Delivers events to targets later and independently, so no target delays another or makes it fail. */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';

/** Every target receives this envelope (EventBridge User Guide, "Event structure"). */
export interface DeliveredEvent {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly account: string;
  /** The time has whole seconds. */
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

type Deliver = (event: DeliveredEvent) => void | Promise<void>;

/** A target may have a dead-letter handler. */
export type Target = Deliver | { readonly deliver: Deliver; readonly deadLetter: Deliver };

export interface Delivery {
  readonly event: DeliveredEvent;
  readonly ruleName: string;
  readonly target: Target;
}

export interface Deliveries {
  start(delivery: Delivery): void;
  /** Resolves once everything started so far is delivered or given up. */
  idle(): Promise<void>;
  /** Ends every wait for another attempt, and resolves when nothing is under way. */
  close(): Promise<void>;
}

export interface DeliveriesOptions {
  readonly clock: Clock;
  /** Is called with an event that neither its target nor a dead-letter handler took. */
  readonly onDropped?: ((event: DeliveredEvent, rule: string, reason: string) => void) | undefined;
}

/** AWS goes on for a day and 185 attempts. A local target that fails five times in a row is broken. */
const DELIVERY_ATTEMPTS_MAX = 5;
const FIRST_RETRY_DELAY_MS = 400;

export function createDeliveries({ clock, onDropped }: DeliveriesOptions): Deliveries {
  const underWay = new Set<Promise<void>>();
  const closing = new AbortController();
  const idle = async () => {
    while (underWay.size > 0) await Promise.all(underWay);
  };

  return {
    start(delivery) {
      const running = Promise.resolve().then(() => deliver(delivery));
      underWay.add(running);
      void running.finally(() => underWay.delete(running));
    },
    idle,
    close() {
      closing.abort();
      return idle();
    },
  };

  async function deliver(delivery: Delivery): Promise<void> {
    const { event, target } = delivery;
    const take = typeof target === 'function' ? target : target.deliver;
    for (let attempt = 1; ; attempt++) {
      const failure = await failureOf(take, event);
      if (failure === undefined) return;
      const isLast = attempt === DELIVERY_ATTEMPTS_MAX;
      if (isLast || !(await waited(FIRST_RETRY_DELAY_MS * 2 ** (attempt - 1)))) {
        return giveUp(delivery, failure);
      }
    }
  }

  /** Returns false when the deliveries were closed during the wait. */
  function waited(durationMs: number): Promise<boolean> {
    return clock.sleep(durationMs, closing.signal).then(
      () => true,
      () => false,
    );
  }

  async function giveUp({ event, target, ruleName }: Delivery, failure: Error): Promise<void> {
    const lastFailure = typeof target === 'function' ? failure : await failureOf(target.deadLetter, event);
    if (lastFailure === undefined) return;
    // When the handler of dropped events also fails, there is nothing left to notify.
    await failureOf(() => onDropped?.(event, ruleName, lastFailure.message), event);
  }
}

/**
 * Returns the error of one attempt. Every attempt gets its own copy, as over the network, so that no target sees what
 * another one changed.
 */
async function failureOf(take: Deliver, event: DeliveredEvent): Promise<Error | undefined> {
  try {
    await take(structuredClone(event));
    return undefined;
  } catch (error) {
    return toError(error);
  }
}
