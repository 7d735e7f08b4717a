/** A caller who is refused again and again leaves a bounded number of audit records, and nobody else's become fewer. */

import { expect, test } from 'vitest';
import { RECORDED_REFUSALS_MAX } from '../../../functions/api/serving/request-audit.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { type Ask, openApi } from './api-door.ts';

const PROJECT = `/api/v2/projects/${PROJECT_ID}`;
const RESTART = `${PROJECT}/endpoints/ep-little-smoke-851426/restart`;

async function openRefusals(accountSettings: object = {}) {
  const door = await openApi(() => Response.json({ operations: [] }), { accountSettings });
  const refused = await door.as({ client_id: 'a-refused-one', scopes: ['regions:read'] });
  const recordsOf = (client: string) =>
    door.api.memory.sync
      .items()
      .filter(({ kind, client_id }) => kind === 'audit' && client_id === client)
      .map(({ call, resource, outcome }) => ({ call, resource, outcome }));
  return { ...door, refused, recordsOf };
}

const times = async (count: number, act: () => ReturnType<Ask>) => {
  for (let done = 0; done < count; done++) await act();
};

test('a browser at the root of the API is sent to the console, and a program is told that there is nothing', async () => {
  const { api } = await openRefusals();
  const person = await api.app.request('/', { headers: { accept: 'text/html,application/xhtml+xml' } });
  const program = await api.app.request('/', { headers: { accept: 'application/json' } });

  expect([person.status, person.headers.get('location')]).toEqual([302, '/console']);
  expect(program.status).toBe(404);
});

test('refusals of one caller beyond the first ones of a minute are counted in one record', async () => {
  const random = seededRandom(42);
  const { refused, ask, pass, recordsOf } = await openRefusals();
  const counts = Array.from({ length: 4 }, () => 1 + Math.floor(random.next() * 120));
  for (const count of counts) {
    await times(count, () => refused('DELETE', PROJECT));
    pass(60_000);
  }
  await ask('GET', '/bridge/v1/me');

  const records = recordsOf('a-refused-one');
  const counted = records.filter(({ call }) => call === 'countedRefusals').map(({ resource }) => resource);
  const beyond = counts.map((count) => count - RECORDED_REFUSALS_MAX).filter((count) => count > 0);
  expect(counted).toEqual(beyond.map((count) => ({ count: String(count) })));
  const whole = counts.map((count) => Math.min(count, RECORDED_REFUSALS_MAX)).reduce((a, b) => a + b, 0);
  expect(records.length - counted.length).toBe(whole);
});

test('refusals of what the bridge does alone are counted, too, and what is done is recorded all the same', async () => {
  const { ask, as, pass, recordsOf } = await openRefusals();
  const admin = await as({ client_id: 'an-admin' });
  await times(300, () => admin('DELETE', '/bridge/v1/accounts/nobody'));
  expect(await admin('POST', '/bridge/v1/freeze', {}, { reason: 'a test' })).toMatchObject({ status: 200 });
  await ask('POST', RESTART);
  pass(60_000);
  await ask('GET', '/bridge/v1/me');

  const records = recordsOf('an-admin');
  expect(records.filter(({ call }) => call === 'removeAccount').length).toBe(RECORDED_REFUSALS_MAX);
  expect(records).toContainEqual({
    call: 'countedRefusals',
    resource: { count: String(300 - RECORDED_REFUSALS_MAX) },
    outcome: 'refused',
  });
  expect(records.filter(({ outcome }) => outcome === 'done')).toHaveLength(1);
  expect(recordsOf('an-app').map(({ call }) => call)).toEqual(['restartEndpoint']);
});

test('calls that wait for a person are counted like other refusals, and one question has a record', async () => {
  const limits = { requests_per_minute: 20 };
  const { api, as, know } = await openRefusals(limits);
  know(PROJECT_ID);
  const agent = await as({ client_id: 'an-agent', settles: true, approve: ['DELETE /projects/*'] });
  const statuses = new Set<number>();
  for (let count = 0; count < 300; count++) statuses.add((await agent('DELETE', PROJECT)).status);

  const records = api.memory.sync
    .items()
    .filter(({ kind, client_id }) => kind === 'audit' && client_id === 'an-agent');
  const minutes = new Set(records.map(({ received_at }) => (received_at as string).slice(0, 16)));
  // Each minute has the first of its refusals and one count, and the first one has the question, too.
  expect(records.length).toBeLessThanOrEqual(1 + minutes.size * (RECORDED_REFUSALS_MAX + 1));
  expect(statuses).toEqual(new Set([403, 429]));
});

test.each([
  ['a freeze', async (ops: Ask) => ops('POST', '/bridge/v1/freeze', {}, { reason: 'a test' }), 503],
  ['a key that was used for another request', async () => {}, 422],
])('commands that are not sent because of %s are counted like other refusals', async (_name, act, status) => {
  const { as, ask, recordsOf, upstream } = await openRefusals();
  const app = await as({ client_id: 'a-client', settles: true });
  await app('POST', RESTART, { 'idempotency-key': 'a-key' });
  await act(ask);
  for (let count = 0; count < 30; count++)
    expect((await app('DELETE', PROJECT, { 'idempotency-key': 'a-key' })).status).toBe(status);

  expect(upstream.sent).toHaveLength(1);
  expect(recordsOf('a-client')).toHaveLength(1 + RECORDED_REFUSALS_MAX);
});

test.each([
  ['the line of its project is full', () => Response.json({ operations: [] }), 429],
  ['there is no such project', () => Response.json({ code: '', message: 'not found' }, { status: 404 }), 404],
])(
  'commands that are not put in line because %s are counted like other refusals',
  async (_why, answer, status) => {
    const { api, as } = await openApi(answer);
    const app = await as({ client_id: 'a-client' });
    const statuses = new Map<number, number>();
    for (let count = 0; count < 100; count++) {
      const sent = await app('POST', RESTART, { prefer: 'respond-async' });
      statuses.set(sent.status, (statuses.get(sent.status) ?? 0) + 1);
    }

    const records = api.memory.sync
      .items()
      .filter(({ kind, client_id }) => kind === 'audit' && client_id === 'a-client');
    const minutes = new Set(records.map(({ received_at }) => (received_at as string).slice(0, 16)));
    expect(statuses.get(status)).toBeGreaterThan(RECORDED_REFUSALS_MAX);
    expect(records.length).toBeLessThanOrEqual(
      (statuses.get(202) ?? 0) + minutes.size * (RECORDED_REFUSALS_MAX + 1),
    );
  },
);

test('a refused stranger leaves no record at all', async () => {
  const { api } = await openRefusals();
  for (let count = 0; count < 50; count++) await api.app.request(PROJECT, { method: 'DELETE' });

  expect(api.memory.sync.items().filter(({ kind }) => kind === 'audit')).toEqual([]);
});

test('a command of a project that its caller must not see is not found, and only the log says why', async () => {
  const { api, ask, as, know } = await openRefusals();
  know(PROJECT_ID);
  const { body } = await ask('POST', RESTART, { prefer: 'respond-async' });
  const limited = await as({ project_ids: ['another-project-12345678'] });

  const refused = await limited('DELETE', `/bridge/v1/commands/${body.command.command_id}`);
  const unknown = await limited('DELETE', '/bridge/v1/commands/nobody-knows-it');

  expect([refused.status, unknown.status]).toEqual([404, 404]);
  expect(api.logged.filter(({ event }) => event === 'request.refused')).toMatchObject([
    { call: 'cancelQueuedCommand', reason: 'project-hidden' },
  ]);
});
