/**
 * Carries out an effect for each event that is new. Marks say which effects have begun and which are done, because an
 * event can be delivered twice, and a consumer can end between its effect and its mark.
 */

import { type BridgeEvent, type ParseOptions, parseBridgeEvent } from './delivered-event.ts';

/** The effect of an event. What it starts and does not wait for can be lost. */
export type Effect = (event: BridgeEvent) => Promise<unknown>;

export interface EffectOptions extends ParseOptions {
  /**
   * `every`, the default: each event has its effect. `latest`: an event is old, too, once the effect of a later event of its
   * operation or of its compute is done, because EventBridge keeps no order; only one effect of an operation or of a compute
   * runs at a time. A consumer that needs each state must not choose it.
   */
  readonly states?: 'every' | 'latest';
}

/** The fields that are used of a record of SQS, as Lambda gives it. */
export interface QueueRecord {
  readonly messageId: string;
  readonly body: string;
}

/**
 * Handles one event as EventBridge or a webhook delivers it. `done`: the effect was carried out. `old`: it had been done before.
 * `none`: the package does not know the event. Rejects when the effect failed, when an effect of the event runs at present, and when
 * the marks cannot be read or written; in each of these cases the event must be delivered again.
 */
export async function ifNew(
  event: unknown,
  marks: Marks,
  effect: Effect,
  { states = 'every', ...parsing }: EffectOptions = {},
): Promise<'done' | 'old' | 'none'> {
  const parsed = parseBridgeEvent(event, parsing);
  if (parsed === undefined) return 'none';
  const { key, number } = markOf(parsed, states);
  const mark = await marks.begin(key, number);
  if (mark === 'old') return 'old';
  if (mark === 'running')
    throw new Error(`An effect for ${key} runs at present, so the event must come again.`);
  try {
    await effect(parsed);
  } catch (error) {
    // A mark that cannot be taken back expires; what people need to know is why the effect failed.
    await mark.failed().catch(() => undefined);
    throw error;
  }
  await mark.done();
  return 'done';
}

/**
 * Handles a batch of SQS, one record after the other, and returns what Lambda must not delete from the queue. The event source
 * mapping needs `ReportBatchItemFailures`: without it Lambda does not look at the answer, and deletes every message. The reason of each failure is
 * written to the log.
 */
export async function forEachNew(
  records: readonly QueueRecord[],
  marks: Marks,
  effect: Effect,
  options?: EffectOptions,
): Promise<{ batchItemFailures: { itemIdentifier: string }[] }> {
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const { messageId, body } of records) {
    try {
      await ifNew(JSON.parse(body), marks, effect, options);
    } catch (error) {
      console.error(`Message ${messageId} goes back to the queue:`, error);
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  }
  return { batchItemFailures };
}

function markOf(event: BridgeEvent, states: 'every' | 'latest'): { key: string; number: number } {
  const { detailType, detail } = event;
  if (states === 'latest' && detailType === 'Operation State Changed')
    return chainOf(detailType, detail, detail.operation_id);
  if (states === 'latest' && detailType === 'Compute State Changed')
    return chainOf(detailType, detail, detail.endpoint_id);
  return { key: detail.id, number: 1 };
}

/** Both kinds of events name an operation, but only those of the first kind count by it. */
function chainOf(
  detailType: string,
  detail: { readonly account_id: string; readonly project_id: string; readonly sequence: number },
  object: string,
) {
  // An account that sees a project for the first time begins new chains, also when another account has counted before: both share it, or it
  // moved while the other one was not read. After any other move its operations count on.
  return {
    key: JSON.stringify([detailType, detail.account_id, detail.project_id, object]),
    number: detail.sequence,
  };
}

/** An effect has this long by default: a queue of SQS hides a message for as long by default, and then delivers it again. */
const RUNNING_MS_MAX = 30_000;

/** Marks in memory take about 200 bytes each, so these have 2 MB. */
const KEYS_MAX = 10_000;

/** The archive of the bus keeps 30 days, and a replay from the table reaches back 200 days. */
const KEPT_DAYS = 200;

export interface Marks {
  /**
   * Marks that an effect begins. `key` names what the effect is about, and `number`, from 1 on, which state of it. The answer is
   * `old` when an effect of this number or of a higher one is done. It is `running` when another effect of the key has begun
   * and has not ended: then the event is neither new nor old, and must be delivered again. Otherwise the mark belongs to the
   * caller, who says how the effect ended.
   */
  begin(key: string, number: number): Promise<BegunMark | 'old' | 'running'>;
}

/** The mark of an effect that has begun. It counts for `runningMsMax` milliseconds, and then another effect may begin. */
export interface BegunMark {
  /** Rejects when the mark has expired and another effect has begun: the event must be delivered again. */
  done(): Promise<void>;
  /** Takes the mark back, so that the event is new when it is delivered again. */
  failed(): Promise<void>;
}

export interface MarkOptions {
  /**
   * An effect that has not ended after this time is taken for one that a crash has ended. Choose at least the time-out of
   * your function, and at most the time for which the queue hides a message.
   */
  readonly runningMsMax?: number;
  /** The time in milliseconds since 1970. The clocks of all processes with the same marks must agree within seconds. */
  readonly now?: () => number;
}

export interface MemoryMarkOptions extends MarkOptions {
  /** The marks of this many keys are kept; those that were done first are forgotten first. */
  readonly keysMax?: number;
}

/**
 * Keeps marks in the memory of the process. It serves a consumer of one process. When the process ends, the marks are gone: no event
 * is lost by that, and effects can be repeated.
 */
export function createMemoryMarks({
  runningMsMax = RUNNING_MS_MAX,
  now = Date.now,
  keysMax = KEYS_MAX,
}: MemoryMarkOptions = {}): Marks {
  const done = new Map<string, number>();
  const running = new Map<string, { readonly untilMs: number }>();
  const doneOf = (key: string) => done.get(key) ?? 0;
  return {
    async begin(key, number) {
      if (doneOf(key) >= number) return 'old';
      if ((running.get(key)?.untilMs ?? 0) > now()) return 'running';
      const mark = { untilMs: now() + runningMsMax };
      running.set(key, mark);
      const takeBack = () => running.get(key) === mark && running.delete(key);
      return {
        async done() {
          if (!takeBack() && doneOf(key) < number) throw lost(key);
          const highest = Math.max(doneOf(key), number);
          // Deleting the entry first moves it to the end, so that the first entry is the one to forget.
          done.delete(key);
          done.set(key, highest);
          const [oldest] = done.keys();
          if (done.size > keysMax && oldest !== undefined) done.delete(oldest);
        },
        async failed() {
          takeBack();
        },
      };
    },
  };
}

/** The calls that are used of `DynamoDBDocument` of `@aws-sdk/lib-dynamodb`. */
export interface MarkTable {
  update(input: {
    TableName: string;
    Key: Record<string, unknown>;
    UpdateExpression: string;
    ConditionExpression: string;
    ExpressionAttributeValues: Record<string, unknown>;
  }): Promise<unknown>;
  get(input: {
    TableName: string;
    Key: Record<string, unknown>;
    ConsistentRead: boolean;
  }): Promise<{ Item?: Record<string, unknown> | undefined }>;
}

export interface TableMarkOptions extends MarkOptions {
  /** The table has the partition key `pk`, a string, no sort key, and the time to live in `expires_at`. */
  readonly tableName: string;
  /** The name of the consumer. Two consumers under one name would take the events of each other for their own. */
  readonly consumer: string;
  /** A mark is kept for this many days. A copy that comes later counts as new. */
  readonly keptDays?: number;
}

/** Keeps marks in a table of DynamoDB, by conditional writes. It serves a consumer of any number of processes. */
export function createTableMarks(
  table: MarkTable,
  {
    tableName,
    consumer,
    keptDays = KEPT_DAYS,
    runningMsMax = RUNNING_MS_MAX,
    now = Date.now,
  }: TableMarkOptions,
): Marks {
  return {
    async begin(key, number) {
      const place = { TableName: tableName, Key: { pk: `${consumer}/${key}` } };
      const owner = crypto.randomUUID();
      const read = async () => (await table.get({ ...place, ConsistentRead: true })).Item ?? {};
      const isDone = (item: Record<string, unknown>) => Number(item['done_number'] ?? 0) >= number;
      const nowMs = now();
      const isMarked = await applied(
        table.update({
          ...place,
          UpdateExpression: 'SET running_by = :owner, running_until = :until, expires_at = :expires',
          ConditionExpression:
            '(attribute_not_exists(done_number) OR done_number < :number) AND (attribute_not_exists(running_until) OR running_until <= :now)',
          ExpressionAttributeValues: {
            ':owner': owner,
            ':until': nowMs + runningMsMax,
            ':expires': Math.ceil(nowMs / 1_000) + keptDays * 86_400,
            ':number': number,
            ':now': nowMs,
          },
        }),
      );
      if (!isMarked) {
        const item = await read();
        if (isDone(item)) return 'old';
        // The SDK repeats a write whose reply was lost, and then the condition meets the mark of the first attempt.
        if (item['running_by'] !== owner) return 'running';
      }
      const mine = { ...place, ConditionExpression: 'running_by = :owner' };
      return {
        async done() {
          const isRecorded = await applied(
            table.update({
              ...mine,
              UpdateExpression: 'SET done_number = :number REMOVE running_by, running_until',
              ExpressionAttributeValues: { ':owner': owner, ':number': number },
            }),
          );
          if (!isRecorded && !isDone(await read())) throw lost(key);
        },
        async failed() {
          await applied(
            table.update({
              ...mine,
              UpdateExpression: 'REMOVE running_by, running_until',
              ExpressionAttributeValues: { ':owner': owner },
            }),
          );
        },
      };
    },
  };
}

/** Returns whether the condition of the write held. */
async function applied(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return false;
    throw error;
  }
}

function lost(key: string): Error {
  return new Error(
    `The effect for ${key} took longer than its mark counts, and another effect has begun. Raise runningMsMax above what an effect takes.`,
  );
}
