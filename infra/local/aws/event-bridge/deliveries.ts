/**
 * Delivers events to targets later and independently, so no target delays another or makes it fail. Only a bounded
 * number of deliveries to one target run and wait at the same time.
 */

import { z } from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { BusLog, BusStep, RuleCounts } from '../cloudwatch.ts';

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

/** Why a target did not get an event. */
export interface FailedDelivery {
  readonly error: Error;
  readonly attemptCount: number;
  /** Every attempt that is allowed was made; a failure that no repetition heals ends the attempts before. */
  readonly isExhausted: boolean;
}

export type Target =
  | Deliver
  | {
      readonly deliver: Deliver;
      /** The target that a caller has added has this ARN. The log of the bus names no others. */
      readonly arn?: string;
      readonly deadLetter?: (event: DeliveredEvent, failure: FailedDelivery) => void | Promise<void>;
      /** The default, and the most, is `DELIVERY_ATTEMPTS_MAX`. */
      readonly attemptsMax?: number;
      /** Ends the waits for another attempt. */
      readonly signal?: AbortSignal;
    };

/** A failure with the code that EventBridge has for it. */
export class DeliveryError extends Error {
  readonly code: string;
  /** A repetition can heal it. */
  readonly isRetryable: boolean;

  constructor(code: string, message: string, isRetryable: boolean) {
    super(message);
    this.name = 'DeliveryError';
    this.code = code;
    this.isRetryable = isRetryable;
  }
}

export interface Delivery {
  readonly event: DeliveredEvent;
  readonly busName: string;
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
  /** Counts what becomes of the deliveries of each rule. */
  readonly counts?: RuleCounts | undefined;
  /** Notes what becomes of each delivery to a target that a caller has added. */
  readonly log?: BusLog | undefined;
}

/** AWS goes on for a day and 185 attempts. A local target that fails five times in a row is broken. */
const DELIVERY_ATTEMPTS_MAX = 5;
const FIRST_RETRY_DELAY_MS = 400;

export function createDeliveries({ clock, onDropped, counts, log }: DeliveriesOptions): Deliveries {
  const note = (step: BusStep, { event, busName, ruleName, target }: Delivery, error?: Error) => {
    const { arn } = settingsOf(target);
    if (arn !== undefined)
      log?.note(step, { busName, eventId: event.id }, { ruleName, arn, error: error?.message });
  };
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
    const { event, busName, ruleName } = delivery;
    const { deliver: take, attemptsMax = DELIVERY_ATTEMPTS_MAX, signal } = settingsOf(delivery.target);
    for (let attemptCount = 1; ; attemptCount++) {
      const error = await failureOf(take, event);
      if (attemptCount > 1) counts?.note(busName, ruleName, 'RetryInvocationAttempts');
      if (error === undefined) {
        note('INVOCATION_SUCCESS', delivery);
        return counts?.note(busName, ruleName, 'Invocations');
      }
      const isExhausted = attemptCount >= Math.min(attemptsMax, DELIVERY_ATTEMPTS_MAX);
      if (!isExhausted && !isFinal(error)) note('INVOCATION_ATTEMPT_RETRYABLE_FAILURE', delivery, error);
      if (isExhausted || isFinal(error) || !(await waited(attemptCount, signal)))
        return giveUp(delivery, { error, attemptCount, isExhausted });
    }
  }

  /** Returns false when the deliveries or those of the target were closed during the wait. */
  function waited(attemptCount: number, signal = closing.signal): Promise<boolean> {
    const ended = AbortSignal.any([closing.signal, signal]);
    return clock.sleep(FIRST_RETRY_DELAY_MS * 2 ** (attemptCount - 1), ended).then(
      () => true,
      () => false,
    );
  }

  async function giveUp(delivery: Delivery, failure: FailedDelivery): Promise<void> {
    const { event, busName, ruleName } = delivery;
    const { deadLetter } = settingsOf(delivery.target);
    note('INVOCATION_FAILURE', delivery, failure.error);
    for (const metric of ['Invocations', 'FailedInvocations'] as const)
      counts?.note(busName, ruleName, metric);
    const lastError =
      deadLetter === undefined ? failure.error : await failureOf((copy) => deadLetter(copy, failure), event);
    if (deadLetter !== undefined)
      counts?.note(
        busName,
        ruleName,
        lastError === undefined ? 'InvocationsSentToDlq' : 'InvocationsFailedToBeSentToDlq',
      );
    if (lastError === undefined) return note('INVOCATION_DLQ', delivery);
    // When the handler of dropped events also fails, there is nothing left to notify.
    await failureOf(() => onDropped?.(event, ruleName, lastError.message), event);
  }
}

function isFinal(error: Error): boolean {
  return error instanceof DeliveryError && !error.isRetryable;
}

function settingsOf(target: Target): Exclude<Target, Deliver> {
  return typeof target === 'function' ? { deliver: target } : target;
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

/** A queue gets the whole event: what would make something else of it is refused and not passed over. */
export const ruleTarget = z.strictObject({
  Id: z.string().regex(/^[.\-_A-Za-z0-9]{1,64}$/),
  Arn: z.string().min(1).max(1_600),
  DeadLetterConfig: z.object({ Arn: z.string().optional() }).optional(),
  RetryPolicy: z
    .object({
      MaximumRetryAttempts: z.number().int().min(0).max(185).optional(),
      MaximumEventAgeInSeconds: z.number().int().min(60).max(86_400).optional(),
    })
    .optional(),
});

export type RuleTarget = z.output<typeof ruleTarget>;
