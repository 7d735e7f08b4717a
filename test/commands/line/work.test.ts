import { describe, expect, test } from 'vitest';
import { WORK_MS_MAX } from '../../../functions/commands/invocation.ts';
import { SWEPT_LINES_MAX, type WorkerAccount, work } from '../../../functions/commands/work.ts';
import type { Wake } from '../../../shared/commands/wakes.ts';
import { ACCOUNT_ID, createLineUnderTest, PROJECT_ID } from './line-under-test.ts';
import { theseAccounts } from './these-accounts.ts';

const OTHER_PROJECT_ID = 'quiet-pond-12345678';

/** A message as Lambda's event shows it when it is received for the first time. */
const received = (messageId: string, body: string) => ({
  messageId,
  receiptHandle: `handle-${messageId}`,
  body,
  attributes: { ApproximateReceiveCount: '1' },
});

/** A message of the project that was received this many times, this time included. */
const receivedAgain = (messageId: string, count: number) => ({
  ...received(messageId, JSON.stringify({ account_id: ACCOUNT_ID, project_id: PROJECT_ID })),
  attributes: { ApproximateReceiveCount: String(count) },
});

const messageOf = (messageId: string, project_id = PROJECT_ID, account_id = ACCOUNT_ID) =>
  received(messageId, JSON.stringify({ account_id, project_id }));

function createWorker(more: Readonly<Record<string, WorkerAccount>> = {}) {
  const line = createLineUnderTest();
  const woken: Wake[] = [];
  let idleCount = 0;
  const idle = async () => {
    idleCount++;
  };
  const accounts = theseAccounts(
    new Map([[ACCOUNT_ID, { line: line.deps, callbacks: undefined, idle }], ...Object.entries(more)]),
  );
  const wakes = { send: async (sent: readonly Wake[]) => void woken.push(...sent) };
  const { clock, telemetry } = line.deps;
  const handedBack: (readonly [receiptHandle: string, pauseMs: number])[] = [];
  const handBack = async (...message: readonly [string, number]) => void handedBack.push(message);
  const deps = { accounts, wakes, handBack, clock, telemetry, newId: () => 'a-new-id' };
  return {
    line,
    woken,
    handedBack,
    deps,
    idleCount: () => idleCount,
    invoke: (event: unknown) => work(deps, event),
  };
}

const failing = (name: string): WorkerAccount => {
  const { deps } = createLineUnderTest();
  const fail = async () => {
    throw new TypeError(name);
  };
  return {
    line: { ...deps, queue: { ...deps.queue, readLine: fail, findLines: fail } },
    callbacks: undefined,
    idle: async () => {},
  };
};

describe('a batch of messages', () => {
  test('works on the line of each project once', async () => {
    const worker = createWorker();
    await worker.line.accept('restart');
    worker.line.answers(Response.json({}));
    let looks = 0;
    const readFreeze = worker.line.queue.readFreeze.bind(worker.line.queue);
    Object.assign(worker.line.deps.queue, {
      readFreeze: () => {
        looks++;
        return readFreeze();
      },
    });

    const answer = await worker.invoke({ Records: [messageOf('a'), messageOf('b')] });

    expect(answer).toEqual({ batchItemFailures: [] });
    expect((await worker.line.commandOf('restart')).state).toBe('succeeded');
    // Before the command waits for its permit, and after that.
    expect(looks).toBe(2);
    expect(worker.idleCount()).toBe(1);
  });

  test('gives back all messages of a line that failed, and of no other', async () => {
    const worker = createWorker({ broken: failing('no table') });
    await worker.line.accept('restart');
    worker.line.answers(Response.json({}));

    const answer = await worker.invoke({
      Records: [messageOf('a', PROJECT_ID, 'broken'), messageOf('b'), messageOf('c', PROJECT_ID, 'broken')],
    });

    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'a' }, { itemIdentifier: 'c' }] });
    expect((await worker.line.commandOf('restart')).state).toBe('succeeded');
    expect(worker.line.logs).toContainEqual({
      level: 'error',
      event: 'line.failed',
      account_id: 'broken',
      project_id: PROJECT_ID,
      reason: 'TypeError',
    });
  });

  test('gives back the messages that it cannot read, and counts them', async () => {
    const worker = createWorker();
    const Records = [received('a', 'no JSON'), received('b', '{"account_id":"main"}')];

    const answer = await worker.invoke({ Records });

    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'a' }, { itemIdentifier: 'b' }] });
    expect(worker.line.logs).toEqual([{ level: 'error', event: 'wake.unreadable', message_count: 2 }]);
  });

  test('drops the messages of an account that is not configured', async () => {
    const worker = createWorker();

    expect(await worker.invoke({ Records: [messageOf('a', PROJECT_ID, 'gone')] })).toEqual({
      batchItemFailures: [],
    });
    expect(worker.woken).toEqual([]);
  });

  test('wakes a line again that is not finished when the time is over', async () => {
    const worker = createWorker();
    for (const id of ['first', 'second']) await worker.line.accept(id);
    worker.line.answers(() => {
      worker.line.pass(WORK_MS_MAX);
      return Response.json({});
    });

    await worker.invoke({ Records: [messageOf('a')] });

    expect(worker.woken).toEqual([{ account_id: ACCOUNT_ID, project_id: PROJECT_ID, id: 'a-new-id' }]);
    expect((await worker.line.commandOf('second')).state).toBe('queued');
  });

  test('goes on until a millisecond before that time', async () => {
    const worker = createWorker();
    for (const id of ['first', 'second']) await worker.line.accept(id);
    worker.line.answers(() => {
      worker.line.pass(WORK_MS_MAX - 1);
      return Response.json({});
    }, Response.json({}));

    await worker.invoke({ Records: [messageOf('a')] });

    expect(worker.woken).toEqual([]);
    expect((await worker.line.commandOf('second')).state).toBe('succeeded');
  });
});

describe('a line that pauses', () => {
  const refusal = (seconds: number) =>
    new Response('{}', { status: 429, headers: { 'retry-after': String(seconds) } });

  test.each([
    ['for the pause', 7, 7_000],
    ['for four seconds at least', 1, 4_000],
    ['for a minute at most', 60, 60_000],
  ])('hands its messages back %s', async (_name, seconds, pauseMs) => {
    const worker = createWorker();
    await worker.line.accept('restart');
    worker.line.answers(refusal(seconds));

    const answer = await worker.invoke({ Records: [messageOf('a'), messageOf('b')] });

    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'a' }, { itemIdentifier: 'b' }] });
    expect(worker.handedBack).toEqual([
      ['handle-a', pauseMs],
      ['handle-b', pauseMs],
    ]);
    expect(worker.woken).toEqual([]);
  });

  test('is left to the sweep when it pauses for more than a minute', async () => {
    const worker = createWorker();
    await worker.line.accept('restart');
    worker.line.answers(refusal(61));

    expect(await worker.invoke({ Records: [messageOf('a')] })).toEqual({ batchItemFailures: [] });
    expect([worker.handedBack, worker.woken]).toEqual([[], []]);
  });

  test('replaces its messages by a new one when one of them was received before, so that no pause brings it nearer to the dead letters', async () => {
    const worker = createWorker();
    await worker.line.accept('restart');
    worker.line.answers(refusal(7));

    const answer = await worker.invoke({ Records: [receivedAgain('a', 2), receivedAgain('b', 1)] });

    expect(answer).toEqual({ batchItemFailures: [] });
    expect(worker.handedBack).toEqual([]);
    expect(worker.woken).toEqual([{ account_id: ACCOUNT_ID, project_id: PROJECT_ID, id: 'a-new-id' }]);
  });

  test('is left to the sweep when the end of an operation has woken it for more than a minute', async () => {
    const worker = createWorker();
    await worker.line.accept('restart');
    worker.line.answers(refusal(61));

    await worker.invoke({
      'detail-type': 'Operation State Changed',
      detail: { account_id: ACCOUNT_ID, project_id: PROJECT_ID, status: 'finished' },
    });

    expect(worker.woken).toEqual([]);
  });

  test('sends a new message when the end of an operation has woken it, because there is none to hand back', async () => {
    const worker = createWorker();
    await worker.line.accept('restart');
    worker.line.answers(refusal(7));

    await worker.invoke({
      'detail-type': 'Operation State Changed',
      detail: { account_id: ACCOUNT_ID, project_id: PROJECT_ID, status: 'finished' },
    });

    expect(worker.woken).toEqual([{ account_id: ACCOUNT_ID, project_id: PROJECT_ID, id: 'a-new-id' }]);
  });

  test('keeps its messages when they cannot be handed back, until their time-out', async () => {
    const worker = createWorker();
    await worker.line.accept('restart');
    worker.line.answers(refusal(7));
    Object.assign(worker.deps, { handBack: () => Promise.reject(new TypeError('no queue')) });

    const answer = await worker.invoke({ Records: [messageOf('a')] });

    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'a' }] });
    expect(worker.line.logs).toContainEqual(expect.objectContaining({ event: 'line.failed' }));
  });
});

describe('the end of an operation', () => {
  const event = (project_id: string) => ({
    'detail-type': 'Operation State Changed',
    detail: { account_id: ACCOUNT_ID, project_id, status: 'finished' },
  });

  test('works on the line of its project', async () => {
    const worker = createWorker();
    await worker.line.accept('restart');
    worker.line.answers(Response.json({}));

    expect(await worker.invoke(event(OTHER_PROJECT_ID))).toEqual({ batchItemFailures: [] });
    expect(worker.line.sent).toHaveLength(0);
    expect(await worker.invoke(event(PROJECT_ID))).toEqual({ batchItemFailures: [] });
    expect(worker.line.sent).toHaveLength(1);
    expect(worker.woken).toEqual([]);
    expect(worker.idleCount()).toBe(2);
  });

  test('rejects when the table does, so that the bus tries again, and leaves nothing unwritten', async () => {
    let isIdle = false;
    const idle = async () => {
      isIdle = true;
    };
    const worker = createWorker({ broken: { ...failing('no table'), idle } });
    const of = { ...event(PROJECT_ID), detail: { account_id: 'broken', project_id: PROJECT_ID } };

    await expect(worker.invoke(of)).rejects.toThrow('no table');
    expect(isIdle).toBe(true);
  });
});

describe('the schedule', () => {
  test('wakes every line that is not empty, once a minute at most', async () => {
    const worker = createWorker();
    await worker.line.accept('restart');

    expect(await worker.invoke({ source: 'aws.scheduler' })).toEqual({ batchItemFailures: [] });

    const minute = Math.floor(worker.line.deps.clock.now() / 60_000);
    expect(worker.woken).toEqual([{ account_id: ACCOUNT_ID, project_id: PROJECT_ID, id: `sweep-${minute}` }]);
    expect(worker.line.sent).toEqual([]);
  });

  test('sends nothing when every line is empty', async () => {
    const worker = createWorker();
    Object.assign(worker.deps.wakes, {
      send: async () => {
        throw new Error('Nothing was to be sent');
      },
    });

    await worker.invoke({});

    expect(worker.line.logs).toEqual([]);
  });

  test('goes on with the other accounts when one fails', async () => {
    const worker = createWorker({ broken: failing('no table') });
    await worker.line.accept('restart');

    await worker.invoke(undefined);

    expect(worker.woken).toHaveLength(1);
    expect(worker.line.logs).toContainEqual({
      level: 'error',
      event: 'sweep.failed',
      account_id: 'broken',
      reason: 'TypeError',
    });
  });

  test('asks for a thousand lines at most', async () => {
    const worker = createWorker();
    const asked: number[] = [];
    Object.assign(worker.line.deps.queue, {
      findLines: async (projectsMax: number) => {
        asked.push(projectsMax);
        return [];
      },
    });

    await worker.invoke({});

    expect(asked).toEqual([SWEPT_LINES_MAX]);
  });
});
