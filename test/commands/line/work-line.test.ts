import { describe, expect, test } from 'vitest';
import { SENDING_MS_MAX } from '../../../shared/commands/queued-command.ts';
import { anOperation, commandRecord, NOON_MS } from '../../builders.ts';
import { createLineUnderTest, DEADLINE_MS, PROJECT_ID } from './line-under-test.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const done = (operations: readonly object[] = []) => Response.json({ operations });
const refusal = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ code: 'REFUSED', message: 'No.' }, { status, headers });
const anOpenOperation = (id: string) =>
  anOperation({ id, project_id: PROJECT_ID, action: 'start_compute', status: 'running' });
const isOverAfter = (steps: number) => {
  let left = steps;
  return () => left-- <= 0;
};

describe('a line', () => {
  test('without commands is empty, and costs no request', async () => {
    const world = createLineUnderTest();

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(world.sent).toEqual([]);
  });

  test('sends its commands one after the other, as they were accepted', async () => {
    const world = createLineUnderTest();
    await world.accept('first', { traceparent: TRACE });
    await world.accept('second');
    world.answers(done(), done());

    expect(await world.work()).toEqual({ kind: 'empty' });
    const path = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
    expect(world.sent).toMatchObject([
      { method: 'POST', path, body: '' },
      { method: 'POST', path, body: '' },
    ]);
    expect(world.sent[0]?.headers.get('authorization')).toBe('Bearer upstream-key');
    expect((await world.line()).entries).toEqual([]);
  });

  test('sends the method and the body of each command', async () => {
    const world = createLineUnderTest();
    const body = { endpoint: { suspend_timeout_seconds: 60 } };
    await world.accept('change', { body });
    world.answers(done());

    await world.work();

    const path = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426`;
    expect(world.sent).toMatchObject([{ method: 'PATCH', path, body: JSON.stringify(body) }]);
    expect(world.sent[0]?.headers.get('content-type')).toBe('application/json');
  });

  test('is unfinished when the time of the invocation is over, and goes on with the next one', async () => {
    const world = createLineUnderTest();
    await world.accept('first');
    await world.accept('second');
    world.answers(done(), done());

    expect(await world.work(isOverAfter(1))).toEqual({ kind: 'unfinished' });
    expect(world.sent).toHaveLength(1);
    expect(await world.work(() => true)).toEqual({ kind: 'unfinished' });
    expect(world.sent).toHaveLength(1);
    expect(await world.work()).toEqual({ kind: 'empty' });
  });

  test('takes at most 250 steps in one invocation', async () => {
    const world = createLineUnderTest((deps) => ({
      queue: { ...deps.queue, changeCommand: async () => 'conflict' },
    }));
    await world.accept('contended');
    let looks = 0;
    const isOver = () => {
      looks++;
      return false;
    };

    expect(await world.work(isOver)).toEqual({ kind: 'unfinished' });
    expect(looks).toBe(250);
    expect(world.sent).toEqual([]);
  });
});

describe('a command that succeeds without an operation', () => {
  test('has succeeded, leaves the line, and its end is published', async () => {
    const world = createLineUnderTest();
    const traceparent = TRACE;
    await world.accept('restart', { traceparent });
    world.pass(2_000);
    world.answers(done());

    await world.work();

    const command = await world.commandOf('restart');
    expect(command).toMatchObject({
      state: 'succeeded',
      left_line_at: '2026-01-15T12:00:02.000Z',
      traceparent,
    });
    expect(command).not.toHaveProperty('request');
    expect(command.reason).toBeUndefined();
    expect(world.published).toMatchObject([
      {
        detailType: 'Command Settled',
        detail: {
          project_id: PROJECT_ID,
          command: { client_id: 'deployer', request_id: 'restart' },
          call: 'restartEndpoint',
          outcome: 'succeeded',
        },
      },
    ]);
    expect(world.logs.filter(({ event }) => event === 'command.left_line')).toEqual([
      {
        level: 'info',
        event: 'command.left_line',
        account_id: 'main',
        project_id: PROJECT_ID,
        command_id: 'restart',
        call: 'restartEndpoint',
        state: 'succeeded',
        waited_ms: 2_000,
        traceparent,
      },
    ]);
  });

  test('keeps the answer for its caller: sealed, and without its secrets', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    world.answers(Response.json({ password: 'hunter2', name: 'main' }));

    await world.work();

    const { answer } = await world.commandOf('restart');
    expect(answer).toMatchObject({ status: 200, content_type: 'application/json' });
    expect(answer?.body).not.toContain('main');
    expect(JSON.parse((await world.answerOf('restart')) ?? '')).toEqual({ password: '', name: 'main' });
  });

  test('keeps the status alone of an answer without a type, or with a body that is too large', async () => {
    const world = createLineUnderTest();
    await world.accept('bare');
    await world.accept('large');
    await world.accept('just fits');
    world.answers(
      new Response(null, { status: 204 }),
      new Response('x'.repeat(64_001), { headers: { 'content-type': 'text/plain' } }),
      new Response('x'.repeat(64_000), { headers: { 'content-type': 'text/plain' } }),
    );

    await world.work();

    expect((await world.commandOf('bare')).answer).not.toHaveProperty('content_type');
    expect((await world.commandOf('large')).answer).toEqual({ status: 200, content_type: 'text/plain' });
    expect(await world.answerOf('just fits')).toHaveLength(64_000);
  });
});

describe('a command that starts an operation', () => {
  test('runs, and the next command waits for the operation without a request', async () => {
    const world = createLineUnderTest();
    await world.accept('first');
    await world.accept('second');
    world.answers(done([anOpenOperation('op-1')]), done());

    expect(await world.work()).toEqual({ kind: 'waiting' });
    expect(await world.commandOf('first')).toMatchObject({ state: 'running', operation_ids: ['op-1'] });
    expect(await world.line()).toMatchObject({ entries: [{ command_id: 'second' }], waiting_for: ['op-1'] });
    expect(world.sent).toHaveLength(1);
    expect(world.wishes).toEqual([PROJECT_ID]);
    expect(world.logs.filter(({ event }) => event === 'command.held')).toMatchObject([
      { level: 'info', project_id: PROJECT_ID, command_id: 'second', lock_holder_count: 1, pause_ms: 0 },
    ]);

    await world.record({
      ...anOpenOperation('op-1'),
      status: 'finished',
      updated_at: '2026-01-15T12:00:30Z',
    });
    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(world.sent).toHaveLength(2);
  });

  test('publishes no end yet: its record settles with its operations', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    world.answers(done([anOpenOperation('op-1')]));

    await world.work();

    expect(world.published.map(({ detailType }) => detailType)).not.toContain('Command Settled');
    expect(await world.deps.readRecord(PROJECT_ID, 'restart')).toMatchObject({
      operation_ids: ['op-1'],
      is_settled: false,
    });
  });
});

describe('a project that is held', () => {
  test('by a freeze is not looked at, and nothing is written', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    await world.queue.writeFreeze({ is_frozen: true, reason: 'An incident', client_id: 'ops' });
    const { revision } = await world.line();

    expect(await world.work()).toEqual({ kind: 'waiting' });
    expect((await world.line()).revision).toBe(revision);
    expect(world.sent).toEqual([]);

    await world.queue.writeFreeze({ is_frozen: false, reason: 'It is over', client_id: 'ops' });
    world.answers(done());
    expect(await world.work()).toEqual({ kind: 'empty' });
  });

  test('by a freeze that begins while it waits for its permit sends nothing', async () => {
    const freeze = { is_frozen: true, reason: 'An incident', client_id: 'ops' };
    const world = createLineUnderTest((deps) => ({
      admit: async () => {
        await deps.queue.writeFreeze(freeze);
        return 0;
      },
    }));
    await world.accept('restart');
    world.answers(done());

    expect(await world.work()).toEqual({ kind: 'waiting' });
    expect(world.sent).toEqual([]);
    expect((await world.commandOf('restart')).state).toBe('queued');
  });

  test('by an operation of somebody else waits for it, and a second look writes nothing', async () => {
    const world = createLineUnderTest();
    await world.record(anOpenOperation('op-other'));
    await world.accept('restart');

    expect(await world.work()).toEqual({ kind: 'waiting' });
    const held = await world.line();
    expect(held).toMatchObject({ waiting_for: ['op-other'], not_before_ms: 0 });
    expect(await world.work()).toEqual({ kind: 'waiting' });
    expect((await world.line()).revision).toBe(held.revision);
    expect(world.sent).toEqual([]);
  });

  test('by the rate limit is asked again when a permit is there, with the permit of its caller', async () => {
    const pauses = [4_000, 0];
    const asked: string[] = [];
    const world = createLineUnderTest(() => ({
      admit: async (clientId) => {
        asked.push(clientId);
        return pauses.shift() ?? 0;
      },
    }));
    await world.accept('restart');

    expect(await world.work()).toEqual({ kind: 'paused', pauseMs: 4_000 });
    expect(await world.line()).toMatchObject({ waiting_for: [], not_before_ms: NOON_MS + 4_000 });
    expect(world.logs.find(({ event }) => event === 'command.held')).toMatchObject({ pause_ms: 4_000 });
    world.pass(3_999);
    expect(await world.work()).toEqual({ kind: 'paused', pauseMs: 1 });
    expect(asked).toEqual(['deployer']);
    world.pass(1);
    world.answers(done());
    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(asked).toEqual(['deployer', 'deployer']);
    expect(world.wishes).toEqual([]);
  });

  test('by a lock that only the upstream knows keeps the command, which is sent when the pause is over', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    world.answers(refusal(423));

    expect(await world.work()).toEqual({ kind: 'paused', pauseMs: 5_000 });
    const command = await world.commandOf('restart');
    expect(command).toMatchObject({ state: 'queued' });
    expect(command).not.toHaveProperty('sent_until_ms');
    expect(await world.line()).toMatchObject({ waiting_for: [], not_before_ms: NOON_MS + 5_000 });
    expect(world.wishes).toEqual([PROJECT_ID]);
    world.pass(5_000);
    world.answers(done());
    expect(await world.work()).toEqual({ kind: 'empty' });
  });

  test.each([
    ['is looked at less often when the second refusal shows none either', [5_000], 20_000],
    ['is looked at soon again when the pause before is a minute ago', [65_000], 5_000],
    ['is looked at less often when it is less than a minute ago', [64_999], 20_000],
  ])('by a lock that no operation explains %s', async (_name, pauses, pauseMs) => {
    const world = createLineUnderTest();
    await world.accept('restart');
    for (const passes of pauses) {
      world.answers(refusal(423));
      await world.work();
      world.pass(passes);
    }
    world.answers(refusal(423));

    expect(await world.work()).toEqual({ kind: 'paused', pauseMs });
  });

  test('by refusals without a lock is asked after the same time again, and needs no reading', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    world.answers(refusal(503), refusal(503));
    await world.work();
    world.pass(5_000);

    expect(await world.work()).toEqual({ kind: 'paused', pauseMs: 5_000 });
    expect(world.wishes).toEqual([]);
  });

  test('by a lock is asked again no sooner than the upstream says', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    world.answers(refusal(423), refusal(423, { 'retry-after': '30' }));
    await world.work();
    world.pass(5_000);

    expect(await world.work()).toEqual({ kind: 'paused', pauseMs: 30_000 });
  });

  test('by a pause of its account is not looked at, and nothing is written', async () => {
    const world = createLineUnderTest(() => ({ isPaused: () => true }));
    await world.accept('restart');
    const { revision } = await world.line();

    expect(await world.work()).toEqual({ kind: 'waiting' });
    expect((await world.line()).revision).toBe(revision);
    expect(world.sent).toEqual([]);
  });

  test.each([
    ['the time that the upstream names', refusal(429, { 'retry-after': '7' }), 7_000],
    ['five seconds when it names none', refusal(503), 5_000],
    ['a minute after it has refused the key', refusal(401), 60_000],
  ])('by a refusal waits for %s', async (_name, answer, pauseMs) => {
    const world = createLineUnderTest();
    await world.accept('restart');
    world.answers(answer);

    expect(await world.work()).toEqual({ kind: 'paused', pauseMs });
    expect(await world.line()).toMatchObject({ waiting_for: [], not_before_ms: NOON_MS + pauseMs });
    expect((await world.commandOf('restart')).state).toBe('queued');
    expect(world.sent).toHaveLength(1);
  });
});

describe('a command ends without success', () => {
  const endOf = async (answer: Response | (() => never)) => {
    const world = createLineUnderTest();
    await world.accept('restart');
    await world.accept('next');
    world.answers(answer, done());
    expect(await world.work()).toEqual({ kind: 'empty' });
    expect((await world.commandOf('next')).state).toBe('succeeded');
    const { state, reason } = await world.commandOf('restart');
    return { state, reason, outcome: world.published[0]?.detail['outcome'] };
  };

  test('when the upstream refuses it', async () => {
    expect(await endOf(refusal(404))).toEqual({ state: 'refused', reason: undefined, outcome: 'refused' });
  });

  test('when it is unknown whether the upstream did its work', async () => {
    expect(await endOf(refusal(500))).toEqual({
      state: 'unknown',
      reason: 'The upstream answered with a failure. The command may have been carried out.',
      outcome: 'unknown',
    });
  });

  test('when the answer was lost', async () => {
    const lost = () => {
      throw new TypeError('The connection was lost');
    };
    expect(await endOf(lost)).toEqual({
      state: 'unknown',
      reason: 'The upstream gave no answer that can be read. The command may have been carried out.',
      outcome: 'unknown',
    });
  });

  test('when its deadline passes while it waits for its permit', async () => {
    const world = createLineUnderTest(() => ({
      admit: async () => {
        world.pass(DEADLINE_MS);
        return 0;
      },
    }));
    await world.accept('restart');

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(world.sent).toEqual([]);
    expect((await world.commandOf('restart')).state).toBe('expired');
  });

  test('when its deadline has passed before it could be sent', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    world.pass(DEADLINE_MS);

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(await world.commandOf('restart')).toMatchObject({
      state: 'expired',
      reason: 'Its deadline passed before it could be sent.',
    });
    expect(world.published).toMatchObject([{ detail: { outcome: 'expired' } }]);
    expect(world.sent).toEqual([]);
  });

  test('when its sealed request cannot be opened any more', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    await world.changeItem('restart', { request: 'damaged' });

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(await world.commandOf('restart')).toMatchObject({
      state: 'failed',
      reason: 'The bridge can no longer open the request. It was not sent.',
    });
    expect(world.measured).toContain('CommandsUnworkable');
    expect(world.logs).toContainEqual({
      level: 'error',
      event: 'command.unworkable',
      project_id: PROJECT_ID,
      command_id: 'restart',
      call: 'restartEndpoint',
    });
    expect(world.sent).toEqual([]);
  });

  test('when its ids no longer fit the path', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    const command = await world.commandOf('restart');
    await world.queue.changeCommand({ ...command, ids: {}, revision: command.revision + 1 });

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(await world.commandOf('restart')).toMatchObject({
      state: 'failed',
      reason: 'This version of the bridge cannot send the command in the form in which it was accepted.',
    });
    expect(world.sent).toEqual([]);
  });
});

describe('the next process', () => {
  const beginSending = async (world: ReturnType<typeof createLineUnderTest>) => {
    await world.accept('restart');
    const command = await world.commandOf('restart');
    const sent = { ...command, state: 'sent' as const, revision: 2, sent_until_ms: NOON_MS + SENDING_MS_MAX };
    await world.queue.changeCommand(sent);
  };

  test('waits while another one sends the command', async () => {
    const world = createLineUnderTest();
    await beginSending(world);
    world.pass(SENDING_MS_MAX - 1);

    expect(await world.work()).toEqual({ kind: 'waiting' });
    expect((await world.commandOf('restart')).state).toBe('sent');
  });

  test('cannot know what became of a command whose process is dead', async () => {
    const world = createLineUnderTest();
    await beginSending(world);
    world.pass(SENDING_MS_MAX);

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(await world.commandOf('restart')).toMatchObject({
      state: 'unknown',
      reason:
        'The process that sent it ended before it saw an answer. The command may have been carried out.',
    });
    expect(world.sent).toEqual([]);
  });

  test.each([
    ['runs when its record names operations', ['op-1'], 'running'],
    ['has succeeded when its record names none', [], 'succeeded'],
  ])('sees that such a command %s', async (_name, operation_ids, state) => {
    const world = createLineUnderTest();
    await beginSending(world);
    await world.store.record({ ...commandRecord(PROJECT_ID, 'restart'), operation_ids }, undefined);
    world.pass(SENDING_MS_MAX);

    await world.work();

    expect(await world.commandOf('restart')).toMatchObject({ state, operation_ids });
    expect((await world.line()).entries).toEqual([]);
  });

  test.each([
    ['running', 0],
    ['refused', 1],
    ['cancelled', 1],
  ] as const)('removes the entry of a command that is %s already', async (state, endCount) => {
    const world = createLineUnderTest();
    await world.accept('restart', { traceparent: TRACE });
    const command = await world.commandOf('restart');
    await world.queue.changeCommand({ ...command, state, revision: 2, operation_ids: ['op-1'] });

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect((await world.line()).entries).toEqual([]);
    expect(world.published).toHaveLength(endCount);
    expect(await world.deps.readRecord(PROJECT_ID, 'restart')).toMatchObject({
      operation_ids: state === 'running' ? ['op-1'] : [],
      is_settled: state !== 'running',
      client_id: 'deployer',
      call: 'restartEndpoint',
      traceparent: TRACE,
    });
  });

  test('records no trace for a command without one', async () => {
    const world = createLineUnderTest();
    await world.accept('restart');
    world.answers(refusal(404));

    await world.work();

    expect(Object.keys((await world.deps.readRecord(PROJECT_ID, 'restart')) ?? {})).not.toContain(
      'traceparent',
    );
  });

  test.each(['deleted', 'unreadable'])('passes over a command whose item is %s', async (kind) => {
    const world = createLineUnderTest();
    await world.accept('restart');
    await world.accept('next');
    if (kind === 'deleted') world.deleteItem('restart');
    else await world.changeItem('restart', { state: 'from a later version' });
    world.answers(done());

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect((await world.commandOf('next')).state).toBe('succeeded');
    expect(world.measured).toContain('CommandsUnworkable');
    expect(world.logs).toContainEqual({
      level: 'error',
      event: 'command.unreadable',
      project_id: PROJECT_ID,
      command_id: 'restart',
    });
  });
});

describe('a process that comes too late', () => {
  test('sends nothing when another process has taken the step', async () => {
    let conflicts = 0;
    const world = createLineUnderTest((deps) => ({
      queue: {
        ...deps.queue,
        changeCommand: async (next) => {
          if (next.state !== 'sent' || conflicts++ > 0) return deps.queue.changeCommand(next);
          const { request: _request, ...rest } = next;
          await deps.queue.changeCommand({ ...rest, state: 'cancelled' });
          return 'conflict';
        },
      },
    }));
    await world.accept('restart');

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect((await world.commandOf('restart')).state).toBe('cancelled');
    expect(world.sent).toEqual([]);
  });

  test('writes no end over the step of another process', async () => {
    const world = createLineUnderTest((deps) => ({
      queue: {
        ...deps.queue,
        changeCommand: async (next) =>
          next.state === 'expired' ? 'conflict' : deps.queue.changeCommand(next),
      },
    }));
    await world.accept('restart');
    world.pass(DEADLINE_MS);

    expect(await world.work(isOverAfter(1))).toEqual({ kind: 'unfinished' });
    expect(world.logs.map(({ event }) => event)).not.toContain('command.left_line');
    expect(world.published).toEqual([]);
    expect((await world.line()).entries).toHaveLength(1);
  });

  test('sends nothing in the second half of the time that the command is sent', async () => {
    const world = createLineUnderTest((deps) => ({
      queue: {
        ...deps.queue,
        changeCommand: async (next) => {
          const result = await deps.queue.changeCommand(next);
          if (next.state === 'sent') world.pass(SENDING_MS_MAX / 2);
          return result;
        },
      },
    }));
    await world.accept('restart');

    expect(await world.work()).toEqual({ kind: 'paused', pauseMs: 5_000 });
    expect(world.sent).toEqual([]);
    expect((await world.commandOf('restart')).state).toBe('queued');
    expect((await world.line()).not_before_ms).toBe(NOON_MS + SENDING_MS_MAX / 2 + 5_000);
  });

  test('still sends a millisecond before', async () => {
    const world = createLineUnderTest((deps) => ({
      queue: {
        ...deps.queue,
        changeCommand: async (next) => {
          const result = await deps.queue.changeCommand(next);
          if (next.state === 'sent') world.pass(SENDING_MS_MAX / 2 - 1);
          return result;
        },
      },
    }));
    await world.accept('restart');
    world.answers(done());

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(world.sent).toHaveLength(1);
  });

  test('gives up a line that changes a hundred times under it', async () => {
    let writes = 0;
    const world = createLineUnderTest((deps) => ({
      queue: {
        ...deps.queue,
        changeLine: async () => {
          writes++;
          return 'conflict';
        },
      },
    }));
    await world.accept('restart');
    world.answers(done());

    await expect(world.work()).rejects.toMatchObject({
      code: 'line_contended',
      message: `The line of ${PROJECT_ID} changed 100 times in a row`,
    });
    expect(writes).toBe(100);
  });
});

describe('a bridge that fails', () => {
  const secretMissing = async () => {
    throw new Error('The secret cannot be read');
  };

  test('before the request has left, sends the command ten seconds later', async () => {
    const world = createLineUnderTest(({ account }) => ({
      account: {
        ...account,
        upstream: { ...account.upstream, apiKey: { current: secretMissing, refresh: secretMissing } },
      },
    }));
    await world.accept('restart');

    expect(await world.work()).toEqual({ kind: 'paused', pauseMs: 10_000 });
    expect(await world.line()).toMatchObject({ waiting_for: [], not_before_ms: NOON_MS + 10_000 });
    expect((await world.commandOf('restart')).state).toBe('queued');
    expect(world.logs).toContainEqual({
      level: 'error',
      event: 'command.not_sent',
      project_id: PROJECT_ID,
      command_id: 'restart',
      reason: 'Error',
    });
  });

  test('after the request has left, does not know what became of the command', async () => {
    const world = createLineUnderTest(({ account }) => ({
      account: {
        ...account,
        upstream: {
          ...account.upstream,
          apiKey: { current: () => account.upstream.apiKey.current(), refresh: secretMissing },
        },
      },
    }));
    await world.accept('restart');
    world.answers(refusal(401));

    expect(await world.work()).toEqual({ kind: 'empty' });
    expect(await world.commandOf('restart')).toMatchObject({
      state: 'unknown',
      reason: 'The bridge failed while it sent the command. The command may have been carried out.',
    });
    expect((await world.commandOf('restart')).answer).toBeUndefined();
  });
});
