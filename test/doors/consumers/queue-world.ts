/**
 * A queue of SQS with events of the bridge in it, and a consumer as Lambda runs it: several batches at a time, each answered
 * with the messages that must come again, and some killed before they can answer.
 */

import { setImmediate } from 'node:timers/promises';
import { createStandardQueue, type ReceivedMessage } from '../../../infra/local/aws/sqs/standard-queue.ts';
import type { BridgeEvent, QueueRecord } from '../../../infra/packages/events/operations-bridge-events.ts';
import { operationStateChanged } from '../../../shared/events/catalog.ts';
import { RECEIVES_MAX } from '../../../shared/events/subscription/subscription.ts';
import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { aClock } from '../../builders.ts';

const DEAD_LETTERS = 'arn:aws:sqs:us-east-1:000000000000:dead-letters';
/** Each operation has this many events. */
export const SEQUENCES = 4;
const BATCH_MAX = 10;

export interface QueuePlan {
  readonly seed: number;
  readonly operations: number;
  /** This share of the effects fails once; of those again this share fails twice, and so on, up to three times. */
  readonly failing: number;
  /** The effects of this many events fail always. */
  readonly poisoned: number;
  /** This share of the messages is sent twice. */
  readonly copied: number;
  /** This share of the effects ends with its process: half of them before the effect has happened, half of them after it. */
  readonly killed: number;
  /** Up to this many batches run side by side. */
  readonly width: number;
}

export type Handle = (
  records: readonly QueueRecord[],
  effect: (event: BridgeEvent) => Promise<void>,
) => Promise<{ readonly batchItemFailures: readonly { readonly itemIdentifier: string }[] }>;

export interface QueueOutcome {
  /** The ids of all events. */
  readonly ids: readonly string[];
  /** The effects that have happened, in their order. */
  readonly effects: readonly { readonly id: string; readonly operation: string; readonly sequence: number }[];
  readonly deadLetters: ReadonlySet<string>;
  readonly poisoned: ReadonlySet<string>;
  /** A process was killed between the effect of the event and the mark that it is done, this many times. */
  readonly killedAfter: ReadonlyMap<string, number>;
  /** Effects of one event, or of one operation, that ran at the same time. */
  readonly together: readonly string[];
  readonly failedEffects: number;
  readonly kills: number;
}

/**
 * `open` begins a process of the consumer: at first, and after one was killed. `now` is the time of its clock. `subjectOf` names that of
 * which no two effects may run at the same time.
 */
export async function consume(
  plan: QueuePlan,
  open: (now: () => number) => Handle,
  subjectOf: (event: BridgeEvent) => string,
): Promise<QueueOutcome> {
  const random = seededRandom(plan.seed);
  const isDrawn = (share: number) => random.next() < share;
  let nowMs = Date.parse('2026-01-16T21:02:09Z');
  let messageCount = 0;
  const deadLetters = new Set<string>();
  const queue = createStandardQueue(
    'events',
    { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: DEAD_LETTERS, maxReceiveCount: RECEIVES_MAX }) },
    {
      clock: aClock(() => nowMs),
      newId: () => `message-${messageCount++}`,
      moveToDeadLetters: (_arn, { body }) => Boolean(deadLetters.add(idIn(body))),
    },
  );
  const events = shuffled(eventsOf(plan.operations), random);
  const ids = events.map(({ detail }) => detail.id);
  const poisoned = new Set(ids.slice(0, plan.poisoned));
  const failuresLeft = new Map(ids.map((id) => [id, drawnFailures(plan.failing, isDrawn)]));
  for (const event of shuffled([...events, ...events.filter(() => isDrawn(plan.copied))], random))
    queue.send({ body: JSON.stringify(event) });

  const effects: { id: string; operation: string; sequence: number }[] = [];
  const killedAfter = new Map<string, number>();
  const running = new Set<string>();
  const together: string[] = [];
  let failedEffects = 0;
  let kills = 0;
  let handle = open(() => nowMs);

  /** Resolves with the batch's failures, or with undefined when its process was killed. */
  const invoke = async (records: readonly ReceivedMessage[]) => {
    const killed = Promise.withResolvers<undefined>();
    const die = () => {
      kills++;
      killed.resolve(undefined);
      return new Promise<never>(() => undefined);
    };
    const effect = async (event: BridgeEvent) => {
      if (event.detailType !== 'Operation State Changed') throw new Error('Only operations are in the queue');
      const { id, operation_id: operation, sequence } = event.detail;
      const subject = subjectOf(event);
      if (running.has(subject)) together.push(subject);
      running.add(subject);
      for (let pause = Math.floor(random.next() * 6); pause > 0; pause--) await setImmediate();
      running.delete(subject);
      const left = failuresLeft.get(id) ?? 0;
      if (poisoned.has(id) || left > 0) {
        failuresLeft.set(id, left - 1);
        failedEffects++;
        throw new Error(`The effect of ${id} fails`);
      }
      const isKilled = isDrawn(plan.killed);
      if (isKilled && isDrawn(0.5)) return die();
      effects.push({ id, operation, sequence });
      if (!isKilled) return;
      killedAfter.set(id, (killedAfter.get(id) ?? 0) + 1);
      return die();
    };
    return Promise.race([handle(records, effect), killed.promise]);
  };

  while (queue.counts().visible + queue.counts().hidden > 0) {
    const batches = Array.from({ length: 1 + Math.floor(random.next() * plan.width) }, () =>
      queue.receive(BATCH_MAX),
    );
    const answers = await Promise.all(batches.map((records) => invoke(records)));
    for (const [place, answer] of answers.entries()) {
      if (answer === undefined) continue;
      const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      for (const { messageId, receiptHandle } of batches[place] ?? [])
        if (!failed.has(messageId)) queue.delete(receiptHandle);
    }
    if (answers.includes(undefined)) handle = open(() => nowMs);
    nowMs += 1_000 + Math.floor(random.next() * 31_000);
  }
  return { ids, effects, deadLetters, poisoned, killedAfter, together, failedEffects, kills };
}

function eventsOf(operations: number) {
  return Array.from({ length: operations * SEQUENCES }, (_, place) => {
    const operation_id = `operation-${Math.floor(place / SEQUENCES)}`;
    const sequence = 1 + (place % SEQUENCES);
    const detail = {
      ...operationStateChanged.example,
      id: `${operation_id}-${sequence}`,
      operation_id,
      sequence,
    };
    return { source: 'operations-bridge', 'detail-type': operationStateChanged.detailType, detail };
  });
}

function idIn(body: string): string {
  return (JSON.parse(body) as { detail: { id: string } }).detail.id;
}

/** An effect that fails three times is delivered at most four times, one time fewer than the queue allows. */
function drawnFailures(share: number, isDrawn: (share: number) => boolean): number {
  let failures = 0;
  while (failures < 3 && isDrawn(share)) failures++;
  return failures;
}

function shuffled<T>(values: readonly T[], random: Random): readonly T[] {
  return values
    .map((value) => ({ value, place: random.next() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ value }) => value);
}
