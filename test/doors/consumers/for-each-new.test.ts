/**
 * A consumer behind a queue of SQS, whose effects fail, whose batches run side by side, and whose processes are killed: every
 * event has its effect, or lies in the dead-letter queue.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type BridgeEvent,
  createMemoryMarks,
  createTableMarks,
  type Effect,
  type EffectOptions,
  forEachNew,
  ifNew,
  type QueueRecord,
} from '../../../infra/packages/events/operations-bridge-events.ts';
import { ROOT } from '../../../infra/release/project.ts';
import { computeStateChanged, eventCatalog, operationStateChanged } from '../../../shared/events/catalog.ts';
import { openMarkTable } from './mark-table.ts';
import { boto3IsMissing, runPython } from './python.ts';
import { consume, type QueueOutcome, type QueuePlan, SEQUENCES } from './queue-world.ts';

const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
afterEach(() => said.mockClear());

const idOf = ({ detail }: BridgeEvent) => detail.id;
const operationOf = ({ detail }: BridgeEvent) => ('operation_id' in detail ? detail.operation_id : detail.id);
const plan: QueuePlan = {
  seed: 1,
  operations: 50,
  failing: 0.1,
  poisoned: 2,
  copied: 0.2,
  killed: 0,
  width: 5,
};

/** How often the effect of each event has happened. */
function timesOf({ ids, effects }: QueueOutcome): ReadonlyMap<string, number> {
  const times = new Map(ids.map((id) => [id, 0]));
  for (const { id } of effects) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

describe.each(SEEDS)('behind a queue, by seed %i,', (seed) => {
  const inMemory = (options?: EffectOptions) => (now: () => number) => {
    const marks = createMemoryMarks({ now });
    return (records: readonly QueueRecord[], effect: Effect) => forEachNew(records, marks, effect, options);
  };

  test('an event whose effect fails comes again, and no effect is repeated', async () => {
    const outcome = await consume({ ...plan, seed }, inMemory(), idOf);

    expect(outcome.failedEffects).toBeGreaterThan(10);
    expect(outcome.deadLetters).toEqual(outcome.poisoned);
    for (const [id, times] of timesOf(outcome)) expect(times, id).toBe(outcome.poisoned.has(id) ? 0 : 1);
    expect(outcome.together).toEqual([]);
  });

  test('a process that loses its memory repeats effects and loses none', async () => {
    const outcome = await consume({ ...plan, seed, killed: 0.03 }, inMemory(), idOf);

    expect(outcome.kills).toBeGreaterThan(0);
    for (const [id, times] of timesOf(outcome))
      expect(times > 0 || outcome.deadLetters.has(id), id).toBe(true);
    expect([...outcome.deadLetters]).toEqual(expect.arrayContaining([...outcome.poisoned]));
  });

  test('the latest state of each operation has its effect, and no effect follows that of a later one', async () => {
    const outcome = await consume(
      { ...plan, seed, poisoned: 0 },
      inMemory({ states: 'latest' }),
      operationOf,
    );

    const latest = new Map<string, number>();
    for (const { id, operation, sequence } of outcome.effects) {
      expect(sequence, id).toBeGreaterThan(latest.get(operation) ?? 0);
      latest.set(operation, sequence);
    }
    expect(outcome.failedEffects).toBeGreaterThan(5);
    expect([...latest.values()]).toEqual(Array.from({ length: plan.operations }, () => SEQUENCES));
    expect(outcome.together).toEqual([]);
  });
});

test('a table keeps what processes knew that were killed: only an effect whose mark was never written is repeated', async () => {
  const { documents, tableName } = await openMarkTable();
  for (const seed of [1, 2]) {
    const outcome = await consume(
      { ...plan, operations: 15, seed, killed: 0.05 },
      (now) => (records, effect) => {
        const marks = createTableMarks(documents, { tableName, consumer: `seed ${seed}`, now });
        return forEachNew(records, marks, effect);
      },
      idOf,
    );

    expect(outcome.kills).toBeGreaterThan(0);
    for (const [id, times] of timesOf(outcome)) {
      expect(times > 0 || outcome.deadLetters.has(id), id).toBe(true);
      expect(times, id).toBeLessThanOrEqual(1 + (outcome.killedAfter.get(id) ?? 0));
    }
    expect(outcome.together).toEqual([]);
  }
});

describe('one event', () => {
  const changed = (fields: object = {}) => ({
    source: 'operations-bridge',
    'detail-type': 'Operation State Changed',
    detail: { ...operationStateChanged.example, ...fields },
  });
  const nothing: Effect = async () => undefined;
  const failing: Effect = async () => {
    throw new Error('the database is away');
  };

  test('is done once, and its copy is old', async () => {
    const marks = createMemoryMarks();

    expect(await ifNew(changed(), marks, nothing)).toBe('done');
    expect(await ifNew(changed(), marks, nothing)).toBe('old');
  });

  test('rejects with the reason of its effect, and is new when it comes again', async () => {
    const marks = createMemoryMarks();

    await expect(ifNew(changed(), marks, failing)).rejects.toThrow('the database is away');
    expect(await ifNew(changed(), marks, nothing)).toBe('done');
  });

  test('rejects while its effect runs, so that it comes again', async () => {
    const marks = createMemoryMarks();
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = ifNew(changed(), marks, () => promise);

    await expect(ifNew(changed(), marks, nothing)).rejects.toThrow(/runs at present/);
    resolve();
    expect(await first).toBe('done');
  });

  test('says why the effect failed also when the mark cannot be taken back', async () => {
    const away = () => Promise.reject(new Error('the table is away'));
    const marks = { begin: async () => ({ done: away, failed: away }) };

    await expect(ifNew(changed(), marks, failing)).rejects.toThrow('the database is away');
    await expect(ifNew(changed(), marks, nothing)).rejects.toThrow('the table is away');
  });

  test('has no effect when the package does not know it', async () => {
    expect(await ifNew({ source: 'aws.s3' }, createMemoryMarks(), failing)).toBe('none');
  });

  test('of a test has an effect only when test events are accepted', async () => {
    const sample = { ...changed(), source: 'operations-bridge.test' };

    expect(await ifNew(sample, createMemoryMarks(), failing)).toBe('none');
    expect(await ifNew(sample, createMemoryMarks(), nothing, { testEvents: 'accepted' })).toBe('done');
  });

  /** Says for each event in turn whether it is new where only the latest state counts. */
  const latestOf = async (events: readonly object[]) => {
    const marks = createMemoryMarks();
    const answers: string[] = [];
    for (const event of events) answers.push(await ifNew(event, marks, nothing, { states: 'latest' }));
    return answers;
  };

  test('of another account or another operation counts by itself', async () => {
    const of = (operation_id: string, sequence: number, account_id = 'main') =>
      changed({ id: `${operation_id}-${sequence}-${account_id}`, operation_id, sequence, account_id });

    expect(await latestOf([of('a', 5), of('b', 1), of('a', 1, 'other'), of('a', 1)])).toEqual([
      'done',
      'done',
      'done',
      'old',
    ]);
  });

  test('of a compute counts by the compute, also when it names the same operation as another event', async () => {
    const compute = (sequence: number, operation_id: string) => ({
      source: 'operations-bridge',
      'detail-type': 'Compute State Changed',
      detail: { ...computeStateChanged.example, sequence, operation_id },
    });
    const events = [
      compute(57, 'a'),
      changed({ operation_id: 'a', sequence: 3 }),
      compute(56, 'b'),
      compute(58, 'b'),
    ];

    expect(await latestOf(events)).toEqual(['done', 'done', 'old', 'done']);
  });

  test.each(eventCatalog)('$detailType is old by its sequence only when it has one', async (definition) => {
    const { detailType, example, detail } = definition;
    const event = (id: string) => ({
      source: 'operations-bridge',
      'detail-type': detailType,
      detail: { ...example, id },
    });

    expect(await latestOf([event('a'), event('b')])).toEqual([
      'done',
      'sequence' in detail.shape ? 'old' : 'done',
    ]);
  });
});

test('what cannot be parsed goes back to the queue, with its reason in the log, and holds nothing back', async () => {
  const good = {
    source: 'operations-bridge',
    'detail-type': 'Operation State Changed',
    detail: operationStateChanged.example,
  };
  const bodies = [
    'no JSON',
    JSON.stringify({ ...good, detail: {} }),
    JSON.stringify(good),
    JSON.stringify({ source: 'aws.s3' }),
  ];
  const told: string[] = [];

  const answer = await forEachNew(
    bodies.map((body, place) => ({ messageId: `m${place}`, body })),
    createMemoryMarks(),
    async (event) => told.push(event.detailType),
  );

  expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'm0' }, { itemIdentifier: 'm1' }] });
  expect(told).toEqual(['Operation State Changed']);
  expect(said.mock.calls.map(([line]) => line)).toEqual([
    'Message m0 goes back to the queue:',
    'Message m1 goes back to the queue:',
  ]);
});

describe('a process that is killed during an effect', () => {
  const event = {
    source: 'operations-bridge',
    'detail-type': 'Operation State Changed',
    detail: operationStateChanged.example,
  };
  const Records = [{ messageId: 'm0', body: JSON.stringify(event) }];
  const START_MS = Date.parse('2026-01-16T21:02:09Z');

  /** Handles the batch in a process of its own. The effect prints `effect`, and kills its process when it is told to. */
  type Run = (
    nowMs: number,
    isKilled: boolean,
  ) => Promise<{ readonly signal: string | null; readonly output: string }>;

  /** Returns what the processes printed: one is killed, one finds the mark, one comes after it, and one comes last. */
  async function outputsOf(run: Run): Promise<readonly string[]> {
    const killed = await run(START_MS, true);
    expect(killed.signal).toBe('SIGKILL');
    const later = [
      await run(START_MS + 29_999, false),
      await run(START_MS + 30_000, false),
      await run(START_MS + 30_001, false),
    ];
    return [killed, ...later].map(({ output }) => output.trim());
  }
  const failed = '{"batchItemFailures":[{"itemIdentifier":"m0"}]}';
  const succeeded = '{"batchItemFailures":[]}';
  const expected = ['effect', failed, `effect\n${succeeded}`, succeeded];

  test('has its event come again to another process, in TypeScript', async () => {
    const { environment, tableName } = await openMarkTable();
    const run: Run = async (nowMs, isKilled) => {
      const script = `
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { createTableMarks, forEachNew } from './infra/packages/events/operations-bridge-events.ts';
const client = new DynamoDBClient();
const options = { tableName: '${tableName}', consumer: 'c', now: () => ${nowMs} };
const answer = await forEachNew(${JSON.stringify(Records)}, createTableMarks(DynamoDBDocument.from(client), options), async () => {
  await new Promise((resolve) => process.stdout.write('effect\\n', resolve));
  if (${isKilled}) process.kill(process.pid, 'SIGKILL');
});
console.log(JSON.stringify(answer));
client.destroy();
`;
      const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
        cwd: ROOT,
        env: { PATH: process.env['PATH'] ?? '', ...environment },
      });
      const [output, [, signal]] = await Promise.all([
        text(child.stdout),
        once(child, 'close') as Promise<[number | null, string | null]>,
      ]);
      return { signal, output };
    };

    expect(await outputsOf(run)).toEqual(expected);
  });

  test.skipIf(boto3IsMissing !== undefined)(
    'has its event come again to another process, in Python',
    async () => {
      const { environment, tableName } = await openMarkTable();
      const run: Run = (nowMs, isKilled) =>
        runPython(
          `
import boto3, contextlib, os, signal
def effect(detail_type, detail):
    print("effect", file=sys.__stdout__, flush=True)
    if ${isKilled ? 'True' : 'False'}:
        os.kill(os.getpid(), signal.SIGKILL)
marks = consumer.TableMarks(boto3.client("dynamodb"), "${tableName}", "c", now=lambda: ${nowMs} / 1000)
with contextlib.redirect_stdout(sys.stderr):
    answer = consumer.for_each_new(input, marks, effect)
print(json.dumps(answer, separators=(",", ":")))`,
          Records,
          { ...environment, AWS_DEFAULT_REGION: 'us-east-1' },
        );

      expect(await outputsOf(run)).toEqual(expected);
    },
  );
});
