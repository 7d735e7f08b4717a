/**
 * A workflow waits for a command (`Bridge-Callback`): requests come in by HTTP, and what Step Functions is told goes out
 * through the SDK to the local AWS. Processes die at every call that leaves them.
 */

import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { commandEndedPattern } from '../../../functions/commands/invocation.ts';
import { createStepFunctionsTasks, type WaitingTasks } from '../../../functions/commands/waiting-tasks.ts';
import { type LocalAws, type LocalAwsFaults, startLocalAws } from '../../../infra/local/aws/local-aws.ts';
import { TASK_TOKEN_PREFIX } from '../../../infra/local/aws/step-functions.ts';
import { matchesEventPattern, parseEventPattern } from '../../../shared/events/event-pattern.ts';
import { settleCommands } from '../../../shared/protocol/record-derived.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { commandKey, operationKey } from '../../../shared/store/keys.ts';
import { ACCOUNT_ID, createApiUnderTest } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { openApi } from './api-door.ts';

const BRANCHES = `/api/v2/projects/${PROJECT_ID}/branches`;
const BRANCH_ID = 'br-waited-for-1';
const TOKEN = `${TASK_TOKEN_PREFIX}${'AQCEAAAAKgAAAAMAAAAA+/='.repeat(20)}`;
const CALLBACK = { 'bridge-callback': `sfn:${TOKEN}` };

function operation(action: string, status: string, number: number) {
  return {
    id: `22222222-2222-4222-8222-22222222222${number}`,
    project_id: PROJECT_ID,
    branch_id: BRANCH_ID,
    action,
    status,
    failures_count: 0,
    created_at: '2026-01-15T12:00:00Z',
    updated_at: '2026-01-15T12:00:00Z',
  };
}

const created = (status: string) => ({
  branch: { id: BRANCH_ID, name: 'ci' },
  operations: [operation('create_branch', status, 1), operation('start_compute', status, 2)],
});

const rule = parseEventPattern(commandEndedPattern);

/** Invokes the worker for the events of its rule. */
async function wakeWorker(api: ReturnType<typeof createApiUnderTest>): Promise<void> {
  for (const { source, detailType, detail } of api.published.splice(0)) {
    const event = { source, 'detail-type': detailType, detail: JSON.parse(detail) };
    if (matchesEventPattern(rule, event)) await api.invokeWorker(event);
  }
}

const sweep = {};

function messageFor(target: object): object {
  const attributes = { ApproximateReceiveCount: '1' };
  return { Records: [{ messageId: 'm', receiptHandle: 'm', body: JSON.stringify(target), attributes }] };
}

let aws: LocalAws;
const faults: { beforeCall: NonNullable<LocalAwsFaults['beforeCall']> } = { beforeCall: () => undefined };

beforeAll(async () => {
  aws = await startLocalAws({ faults: { beforeCall: (call) => faults.beforeCall(call) } });
  Object.assign(process.env, aws.environment);
  return () => aws.close();
});

/** From now on Step Functions refuses with this error. */
function refuse(type: string | undefined, status = 400): void {
  faults.beforeCall = ({ service }) =>
    service === 'states' && type !== undefined
      ? { type, message: 'The test refuses this.', status }
      : undefined;
  onTestFinished(() => refuse(undefined));
}

/** Each test has a task of its own. */
let taskCount = 0;
async function openDoor(answer: Parameters<typeof openApi>[0]) {
  const token = `${TOKEN}${++taskCount}`;
  const measured: string[] = [];
  const door = await openApi(answer, {
    tasks: createStepFunctionsTasks(),
    onMeasure: (metric) => measured.push(metric),
  });
  door.know(PROJECT_ID);
  const callback = { 'bridge-callback': `sfn:${token}` };
  return { ...door, token, callback, measured, task: () => aws.tasks.find(token) };
}

/** The poller reads the operations of the command in this state. */
async function finish({ api }: Awaited<ReturnType<typeof openDoor>>, requestId: string, nowMs: number) {
  const clock = { now: () => nowMs, sleep: async () => {} };
  const store = createBridgeStore(api.memory.as('poller'), ACCOUNT_ID, clock);
  for (const { id } of created('finished').operations) {
    const key = operationKey(ACCOUNT_ID, PROJECT_ID, id);
    api.memory.sync.update({ key, set: { status: 'finished' } });
  }
  const commands = await store.readCommands([commandKey(ACCOUNT_ID, PROJECT_ID, requestId)]);
  await settleCommands({ store, clock }, commands);
}

describe('a workflow that waits for a command', () => {
  test('gets a sign of life each minute while its operations run, and then the end with the branch', async () => {
    const door = await openDoor(() => Response.json(created('running'), { status: 201 }));
    const { headers, status } = await door.ask('POST', BRANCHES, door.callback, { branch: { name: 'ci' } });
    const requestId = headers.get('bridge-request-id') ?? '';
    await wakeWorker(door.api);
    await door.api.invokeWorker(sweep);
    door.pass(60_000);
    await door.api.invokeWorker(sweep);
    expect([status, door.task()]).toEqual([201, { heartbeatCount: 2, end: undefined }]);
    const path = `/bridge/v1/projects/${PROJECT_ID}/commands/${requestId}`;
    expect((await door.ask('GET', path)).body.command.callback).toEqual({ state: 'waiting' });

    await finish(door, requestId, Date.UTC(2026, 0, 15, 12, 5));
    await door.api.invokeWorker(sweep);
    expect(door.task()?.end).toEqual({
      output: {
        account_id: ACCOUNT_ID,
        project_id: PROJECT_ID,
        command_id: requestId,
        call: 'createBranch',
        outcome: 'succeeded',
        branch_id: BRANCH_ID,
        operations: created('finished').operations.map(({ id, action, status: ended }) => ({
          operation_id: id,
          action,
          status: ended,
          failures_count: 0,
        })),
        operation_count: 2,
      },
    });
    expect((await door.ask('GET', path)).body.command.callback).toEqual({ state: 'delivered' });
    await door.api.invokeWorker(sweep);
    expect(door.task()?.heartbeatCount).toBe(2);
  });

  test('gets the end of a command that starts nothing at once', async () => {
    const done = await openDoor(() => Response.json({ branch: {} }));
    await done.ask('POST', BRANCHES, done.callback, { branch: { name: 'ci' } });
    await wakeWorker(done.api);
    expect(done.task()?.end).toMatchObject({ output: { outcome: 'succeeded' } });
  });

  test.each([
    [404, 'refused'],
    [409, 'refused'],
    [503, 'refused'],
    [408, 'unknown'],
    [500, 'unknown'],
  ])('gets within a minute that the upstream answered %i: the command is %s', async (status, outcome) => {
    const door = await openDoor(() => Response.json({ message: 'no' }, { status }));
    await door.ask('POST', BRANCHES, { ...door.callback, prefer: 'wait=0' }, { branch: { name: 'ci' } });
    await door.api.invokeWorker(sweep);

    expect(door.task()?.end).toEqual({
      error: `OperationsBridge.${outcome}`,
      cause: expect.stringContaining(`"reason":"The upstream answered with status ${status}."`),
    });
  });

  test('gets the end of a command that waited in line: carried out, cancelled or expired', async () => {
    const asynchronous = { prefer: 'respond-async' };
    const done = await openDoor(() => Response.json(created('finished'), { status: 201 }));
    await done.ask('POST', BRANCHES, { ...asynchronous, ...done.callback }, { branch: { name: 'ci' } });
    await done.work();
    await wakeWorker(done.api);
    expect(done.task()?.end).toMatchObject({ output: { branch_id: BRANCH_ID } });

    const cancelled = await openDoor(() => Response.error());
    const { headers } = await cancelled.ask(
      'POST',
      BRANCHES,
      { ...asynchronous, ...cancelled.callback },
      { branch: { name: 'ci' } },
    );
    await cancelled.ask('DELETE', headers.get('location') ?? '');
    await cancelled.work();
    await wakeWorker(cancelled.api);
    expect(cancelled.task()?.end).toMatchObject({ error: 'OperationsBridge.cancelled' });

    const expired = await openDoor(() => Response.error());
    await expired.ask('POST', BRANCHES, { ...asynchronous, ...expired.callback }, { branch: { name: 'ci' } });
    expired.pass(3_600_000);
    await expired.api.invokeWorker(sweep);
    expect(expired.task()?.end).toMatchObject({ error: 'OperationsBridge.expired' });
  });

  test('waits while a person decides, and gets what was decided; a request that asks first is refused', async () => {
    const door = await openDoor(() => Response.error());
    const agent = await door.as({ client_id: 'an-agent', approve: ['POST /projects/*/branches'] });
    const person = await door.as({ client_id: 'marta', scopes: ['operations:read', 'commands:approve'] });
    const send = (callback: object, prefer: object) =>
      agent('POST', BRANCHES, { ...callback, ...prefer }, { branch: { name: 'ci' } });

    const { body } = await send(door.callback, { prefer: 'respond-async' });
    const { command_id: id } = (body as { command: { command_id: string } }).command;
    door.pass(60_000);
    await door.api.invokeWorker(sweep);
    expect(door.task()).toMatchObject({ heartbeatCount: 1, end: undefined });

    await person('POST', `/bridge/v1/approvals/${id}`, {}, { decision: 'deny', reason: 'still in use' });
    await door.api.invokeWorker(sweep);
    expect(door.task()?.end).toMatchObject({
      error: 'OperationsBridge.denied',
      cause: expect.stringContaining('still in use'),
    });

    const asking = await openDoor(() => Response.error());
    const other = await asking.as({ client_id: 'an-agent', approve: ['POST /projects/*/branches'] });
    const refused = await other('POST', BRANCHES, asking.callback, { branch: { name: 'ci' } });
    expect(refused.status).toBe(403);
    await asking.api.invokeWorker(sweep);
    expect(asking.task()?.end).toMatchObject({ error: 'OperationsBridge.refused' });
  });

  test('waits for Branch Ready with wait=ready', async () => {
    const door = await openDoor(() => Response.json(created('finished'), { status: 201 }));
    await door.ask('POST', BRANCHES, { prefer: 'wait=ready', ...door.callback }, { branch: { name: 'ci' } });
    expect(door.publishedOf('Branch Ready')).toHaveLength(1);
    await wakeWorker(door.api);
    expect(door.task()?.end).toMatchObject({ output: { branch_id: BRANCH_ID } });
  });

  test('gets the end of the first command when its request repeats an Idempotency-Key', async () => {
    const door = await openDoor(() => Response.json(created('finished'), { status: 201 }));
    const key = { 'idempotency-key': 'the-name-of-the-execution' };
    const first = await door.ask('POST', BRANCHES, key, { branch: { name: 'ci' } });
    await door.ask('POST', BRANCHES, { ...key, ...door.callback }, { branch: { name: 'ci' } });
    await door.api.invokeWorker(sweep);
    const command_id = first.headers.get('bridge-request-id');
    expect(door.task()?.end).toMatchObject({ output: { command_id, branch_id: BRANCH_ID } });
    expect(door.upstream.sent).toHaveLength(1);
  });
});

describe('a callback that cannot be told', () => {
  test.each(['TaskTimedOut', 'TaskDoesNotExist', 'InvalidToken'])('%s ends it', async (code) => {
    const door = await openDoor(() => Response.json(created('finished'), { status: 201 }));
    const asked = await door.ask('POST', BRANCHES, door.callback, { branch: { name: 'ci' } });
    refuse(code);
    await wakeWorker(door.api);
    const path = `/bridge/v1/projects/${PROJECT_ID}/commands/${asked.headers.get('bridge-request-id')}`;
    const { body } = await door.ask('GET', path);
    expect(body.command.callback).toEqual({ state: 'task_gone', trouble: code });
    expect(door.measured).not.toContain('CallbacksRefused');
  });

  test('is tried again with growing pauses when AWS denies it, is measured, and stands in the answer', async () => {
    const door = await openDoor(() => Response.json(created('finished'), { status: 201 }));
    const asked = await door.ask('POST', BRANCHES, door.callback, { branch: { name: 'ci' } });
    const path = `/bridge/v1/projects/${PROJECT_ID}/commands/${asked.headers.get('bridge-request-id')}`;
    refuse('AccessDeniedException');
    await wakeWorker(door.api);
    expect((await door.ask('GET', path)).body.command.callback).toEqual({
      state: 'waiting',
      trouble: 'AccessDeniedException',
    });
    const triedIn = async (minutes: number) => {
      const before = door.measured.length;
      for (let minute = 0; minute < minutes; minute++) {
        door.pass(60_000);
        await door.api.invokeWorker(sweep);
      }
      return door.measured.slice(before).filter((metric) => metric === 'CallbacksRefused').length;
    };
    expect([await triedIn(1), await triedIn(2), await triedIn(4), await triedIn(8)]).toEqual([1, 1, 1, 1]);
    refuse(undefined);
    await triedIn(10);
    expect(door.task()?.end).toMatchObject({ output: { outcome: 'succeeded' } });
    expect((await door.ask('GET', path)).body.command.callback).toEqual({ state: 'delivered' });
  });
});

describe('the header', () => {
  test.each([
    ['no token', 'sfn:'],
    ['too long a token', `sfn:${'x'.repeat(2_049)}`],
    ['a space', 'sfn:a b'],
    ['another service', 'durable:x'],
  ])('with %s is refused', async (_what, text) => {
    const door = await openDoor(() => Response.error());
    const { status, body } = await door.ask('POST', BRANCHES, { 'bridge-callback': text }, { branch: {} });
    expect([status, body.detail]).toEqual([
      400,
      expect.stringContaining('header.bridge-callback: takes "sfn:"'),
    ]);
    expect(body.detail).toContain('$$.Task.Token');
    expect(door.upstream.sent).toHaveLength(0);
  });

  test('is refused with a read, and by a bridge that is not set up for it', async () => {
    const door = await openDoor(() => Response.error());
    expect((await door.ask('GET', BRANCHES, CALLBACK)).status).toBe(400);
    const { ask, upstream } = await openApi(() => Response.error());
    const { status, body } = await ask('POST', BRANCHES, CALLBACK, { branch: {} });
    expect([status, upstream.sent.length]).toEqual([403, 0]);
    expect(body.detail).toContain('callbacks.state_machine_arns');
  });

  test('leaves its token nowhere: not in the table, a log, an event or an answer', async () => {
    const door = await openDoor(() => Response.json(created('running'), { status: 201 }));
    const { body } = await door.ask('POST', BRANCHES, door.callback, { branch: { name: 'ci' } });
    await wakeWorker(door.api);
    await door.api.invokeWorker(sweep);
    expect(door.task()?.heartbeatCount).toBe(1);
    const { memory, logged, published } = door.api;
    const left = JSON.stringify([memory.sync.items(), logged, published, body, door.upstream.sent]);
    expect(left).not.toContain(TOKEN.slice(0, 60));
    const headers = door.upstream.sent.flatMap((sent) => [...sent.headers.keys()]);
    expect(headers).not.toContain('bridge-callback');
  });
});

describe('a process that dies', () => {
  /** One request and the worker's invocations behind it. Every call that leaves the process passes `gate`. */
  async function live(token: string, prefer: string, gate: <T>(call: () => Promise<T>) => Promise<T>) {
    const memory = createMemoryTable();
    let nowMs = Date.UTC(2026, 0, 15, 12);
    const clock = { now: () => nowMs, sleep: async () => {} };
    const tasks = createStepFunctionsTasks();
    const start = (pass: typeof gate, ids: string) => {
      let idCount = 0;
      const guarded: WaitingTasks = { tell: (...told) => pass(() => tasks.tell(...told)) };
      return createApiUnderTest({
        upstreamBaseUrl: 'https://upstream.test/api/v2',
        upstreamKey: 'a-key',
        memory,
        clock,
        tasks: guarded,
        newId: () => `${ids}-${++idCount}`,
        wrapTable: (table) => ({ ...table, update: (update) => pass(() => table.update(update)) }),
        wrapBus: (bus) => ({ publish: (events) => pass(() => bus.publish(events)) }),
        fetch: () => pass(async () => Response.json(created('finished'), { status: 201 })),
      });
    };
    const dying = start(gate, 'first');
    memory.sync.update({
      key: { pk: `A#${ACCOUNT_ID}#P#${PROJECT_ID}`, sk: 'PROJECT' },
      set: { kind: 'project' },
    });
    const authorization = `Bearer ${await dying.issueToken({ validForMs: 1e9 })}`;
    const run = async () => {
      const headers = { authorization, prefer, 'content-type': 'application/json' };
      const callback = { 'bridge-callback': `sfn:${token}` };
      const init = { method: 'POST', headers: { ...headers, ...callback }, body: '{"branch":{"name":"ci"}}' };
      await dying.app.request(BRANCHES, init);
      await dying.invokeWorker(messageFor({ account_id: ACCOUNT_ID, project_id: PROJECT_ID }));
      await wakeWorker(dying);
      await dying.invokeWorker(sweep);
    };
    /** The next processes: the worker's sweeps, and the poller, which settles commands. */
    const heal = async () => {
      const next = start((call) => call(), 'next');
      const store = createBridgeStore(memory.as('poller'), ACCOUNT_ID, clock);
      for (let minute = 0; minute < 20; minute++) {
        nowMs += 60_000;
        const { entries } = await store.findWorkPage({ limit: 100 });
        const records = await store.readRecords(entries.map(({ key }) => key));
        await settleCommands(
          { store, clock },
          records.filter((record) => record.kind === 'command'),
        );
        await next.invokeWorker(sweep);
        for (const { account_id, project_id } of next.woken.splice(0))
          await next.invokeWorker(messageFor({ account_id, project_id }));
      }
    };
    const kept = () => memory.sync.items().find(({ sk }) => sk === 'CALLBACK');
    return { run, heal, kept };
  }

  test.each(['', 'respond-async'])(
    'at any call, before it or before its reply, leaves a callback that is told once (prefer: %s)',
    async (prefer) => {
      let callCount = 0;
      const counted = await live(`${TOKEN}count${prefer}`, prefer, (call) => {
        callCount++;
        return call();
      });
      await counted.run();
      expect(counted.kept()?.['callback_state']).toBe('delivered');
      expect(callCount).toBeGreaterThan(8);

      const ends = new Map<string, number>();
      const onEnd = aws.tasks.onEnd;
      aws.tasks.onEnd = (_end, token) => void ends.set(token, (ends.get(token) ?? 0) + 1);
      onTestFinished(() => {
        aws.tasks.onEnd = onEnd;
      });
      const never = new Promise<never>(() => {});
      for (let deadAt = 1; deadAt <= callCount; deadAt++)
        for (const isCarriedOut of [false, true]) {
          let place = 0;
          const died = Promise.withResolvers<void>();
          const token = `${TOKEN}${prefer}${deadAt}${isCarriedOut}`;
          const world = await live(token, prefer, async (call) => {
            place++;
            if (place < deadAt) return call();
            if (place === deadAt && isCarriedOut) await call();
            died.resolve();
            return never;
          });
          await Promise.race([world.run(), died.promise]);
          await world.heal();
          const kept = world.kept();
          const where = `dead at call ${deadAt}, carried out: ${isCarriedOut}`;
          // Before the callback is kept nothing was sent, and the caller has no answer.
          if (kept === undefined) expect(ends.get(token), where).toBeUndefined();
          else {
            expect(ends.get(token), where).toBe(1);
            expect(['delivered', 'task_gone'], where).toContain(kept['callback_state']);
          }
        }
    },
  );
});
