/**
 * The reply to a write is lost on its way. The SDK repeats the write by itself, and the first attempt, which was made,
 * refuses the repetition. Nobody must take the own write for somebody else's.
 */

import { describe, expect, test } from 'vitest';
import { operationKey, projectKey } from '../../../shared/store/keys.ts';
import type { Table, Update } from '../../../shared/store/table.ts';
import { ACCOUNT_ID } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { openApi } from './api-door.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const REPAIR = `/bridge/v1/projects/${PROJECT_ID}/repair`;
const REPLAY = '/bridge/v1/replay';

type Loss = (update: Update, count: number) => 'repeated' | 'unanswered' | undefined;

/** The table makes every write. It loses the replies that `loss` names; the SDK has repeated the write, or has given up. */
function losing(loss: Loss) {
  let count = 0;
  const wrapTable = (table: Table): Table => ({
    ...table,
    async update(update) {
      const lost = loss(update, count++);
      const outcome = await table.update(update);
      if (lost === 'unanswered') throw new Error('TimeoutError');
      return lost === 'repeated' ? table.update(update) : outcome;
    },
  });
  return { wrapTable, writeCount: () => count };
}

async function openLosing(loss: Loss) {
  const { wrapTable, writeCount } = losing(loss);
  const rules = { upstreamHosts: ['upstream.test'], keySecretPrefix: 'operations-bridge/upstream-keys/' };
  const door = await openApi(() => Response.json({ projects: [], operations: [] }), { wrapTable, rules });
  await door.api.memory.update({
    key: projectKey(ACCOUNT_ID, PROJECT_ID),
    set: { kind: 'project', account_id: ACCOUNT_ID, project_id: PROJECT_ID, is_visible: true },
  });
  return { ...door, writeCount };
}

type Door = Awaited<ReturnType<typeof openLosing>>;

/** The record of a command says how it ended; the poller publishes what the worker has left there. */
async function recordedEnd({ ask }: Door, commandId: string): Promise<unknown> {
  const { body } = await ask('GET', `/bridge/v1/projects/${PROJECT_ID}/commands/${commandId}`);
  return body.command?.events.at(-1)?.detail.outcome;
}

/** What a caller does, and all that the caller and the world see of it. */
const scenarios: Readonly<Record<string, (door: Door) => Promise<object>>> = {
  'a queued command': async (door) => {
    const { status, body, headers } = await door.ask('POST', RESTART, { prefer: 'respond-async' });
    await door.work();
    door.pass(61_000);
    await door.work();
    const { state, reason } = (await door.ask('GET', headers.get('location') ?? '')).body.command;
    const recorded = await recordedEnd(door, body.command.command_id);
    return { status, state, reason, sent: door.upstream.sent.length, recorded };
  },
  'a queued command that its caller cancels': async (door) => {
    const accepted = await door.ask('POST', RESTART, { prefer: 'respond-async' });
    const { status, body } = await door.ask('DELETE', accepted.headers.get('location') ?? '');
    await door.work();
    const recorded = await recordedEnd(door, accepted.body.command.command_id);
    return { status, state: body.command?.state, sent: door.upstream.sent.length, recorded };
  },
  'a repair': async ({ ask }) => {
    const asked = await ask('POST', REPAIR, {}, { since: '2026-01-15T11:00:00Z' });
    const again = await ask('POST', REPAIR, {}, { since: '2026-01-15T11:00:00Z' });
    return { asked: [asked.status, asked.body.state], again: again.status };
  },
  'an account that is added, paused and removed': async ({ ask }) => {
    const added = await ask('POST', '/bridge/v1/accounts', {}, { account_id: 'tenant' });
    const paused = await ask('PATCH', '/bridge/v1/accounts/tenant', {}, { state: 'paused' });
    const removed = await ask('DELETE', '/bridge/v1/accounts/tenant');
    return { added: added.status, paused: paused.body.account?.state, removed: removed.status };
  },
  'a replay': async ({ ask }) => {
    const range = { since: '2026-01-15T11:00:00Z', until: '2026-01-15T12:00:00Z' };
    const asked = await ask('POST', REPLAY, {}, range);
    const again = await ask('POST', REPLAY, {}, range);
    const stopped = await ask('DELETE', REPLAY);
    return { asked: [asked.status, asked.body.state], again: again.status, stopped: stopped.body.state };
  },
};

const UNDISTURBED = {
  'a queued command': { status: 202, state: 'succeeded', reason: undefined, sent: 1, recorded: 'succeeded' },
  'a queued command that its caller cancels': {
    status: 200,
    state: 'cancelled',
    sent: 0,
    recorded: 'cancelled',
  },
  'an account that is added, paused and removed': { added: 201, paused: 'paused', removed: 204 },
  'a repair': { asked: [202, 'in_progress'], again: 409 },
  'a replay': { asked: [202, 'in_progress'], again: 409, stopped: 'stopped' },
} as const;

describe.each(Object.entries(scenarios))('%s', (name, run) => {
  test('comes to the same end, whichever write loses its reply and is repeated by the SDK', async () => {
    const calm = await openLosing(() => undefined);
    const ends = [await run(calm)];
    for (let lost = 0; lost < calm.writeCount(); lost++)
      ends.push(await run(await openLosing((_update, count) => (count === lost ? 'repeated' : undefined))));

    expect(ends.length).toBeGreaterThan(3);
    expect(ends).toEqual(ends.map(() => UNDISTURBED[name as keyof typeof UNDISTURBED]));
  });
});

/** Each of these writes decides what the caller is told. */
const deciding: Readonly<Record<string, (set: Update['set']) => boolean>> = {
  'a queued command': (set) => set['kind'] === 'queued_command' && set['state'] === 'sent',
  'a queued command that its caller cancels': (set) => set['state'] === 'cancelled',
  'a repair': (set) => set['kind'] === 'repair',
  'a replay': (set) => set['kind'] === 'replay' && set['sent_count'] === 0,
};

describe.each(Object.entries(deciding))('%s', (name, isDeciding) => {
  test('comes to the same end when the write that decides it was made and never answered', async () => {
    let isLost = false;
    const door = await openLosing(({ set }) => {
      if (isLost || !isDeciding(set)) return undefined;
      isLost = true;
      return 'unanswered';
    });

    const end = await scenarios[name]?.(door);

    expect(isLost).toBe(true);
    expect(end).toEqual(UNDISTURBED[name as keyof typeof UNDISTURBED]);
  });
});

test('a queued command is sent once by three workers at a time, whose first writes all lose their replies', async () => {
  const isSending = deciding['a queued command'] ?? (() => false);
  const door = await openLosing(({ set }) => (isSending(set) ? 'repeated' : undefined));
  await door.ask('POST', RESTART, { prefer: 'respond-async' });

  await Promise.all([door.work(), door.work(), door.work()]);

  expect(door.upstream.sent).toHaveLength(1);
  expect(door.publishedOf('Command Settled').at(-1)).toMatchObject({ outcome: 'succeeded' });
});

test.each([
  ['the line of its project', 'project_line'],
  ['the wish for a reading', 'read_request'],
])('a queued command that a lock refuses is sent later, although %s gets no reply', async (_what, kind) => {
  const answers = [Response.json({ code: 'LOCKED' }, { status: 423 })];
  const answer = () => answers.shift() ?? Response.json({ operations: [] });
  let isLost = false;
  const { wrapTable } = losing(({ set }) => {
    if (isLost || answers.length > 0 || set['kind'] !== kind) return undefined;
    isLost = true;
    return 'unanswered';
  });
  const door = await openApi(answer, { wrapTable });
  door.know(PROJECT_ID);
  await door.ask('POST', RESTART, { prefer: 'respond-async' });

  await door.work();
  door.pass(61_000);
  await door.work();

  expect(isLost).toBe(true);
  expect(door.upstream.sent).toHaveLength(2);
  expect(door.publishedOf('Command Settled').at(-1)).toMatchObject({ outcome: 'succeeded' });
});

test('a wish for a reading is not said to be taken while the table does not answer its write', async () => {
  const { ask } = await openLosing(({ set }) =>
    set?.['kind'] === 'read_request' ? 'unanswered' : undefined,
  );

  expect((await ask('POST', `/bridge/v1/projects/${PROJECT_ID}/read`)).status).toBe(500);
});

test('a command whose one operation has an item that nobody can read is recorded with the others', async () => {
  const operation = (id: string) => ({
    id,
    project_id: PROJECT_ID,
    action: 'start_compute',
    status: 'running',
    failures_count: 0,
    created_at: '2026-01-15T12:00:00Z',
    updated_at: '2026-01-15T12:00:00Z',
  });
  const door = await openApi(() => Response.json({ operations: [operation('op-1'), operation('op-2')] }));
  await door.api.memory.update({
    key: operationKey(ACCOUNT_ID, PROJECT_ID, 'op-1'),
    set: { kind: 'operation', revision: -1 },
  });

  expect((await door.ask('POST', RESTART)).status).toBe(200);
  expect(door.publishedOf('Operation State Changed').map((detail) => detail['operation_id'])).toEqual([
    'op-2',
  ]);
});
