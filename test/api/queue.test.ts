/** Commands that wait in line, from the request to their end: the API and the worker over one table. */

import { describe, expect, test } from 'vitest';
import { createHeldPlaces } from '../../functions/api/serving/waiting.ts';
import { WAITING_COMMANDS_MAX } from '../../functions/api/upstream/accept-command.ts';
import { LINE_ENTRIES_MAX } from '../../shared/commands/queued-command.ts';
import { operationKey, projectKey, queuedCommandKey, wishKey } from '../../shared/store/keys.ts';
import { aClock, anOperation } from '../builders.ts';
import { ACCOUNT_ID, type ApiOptions, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { OTHER_PROJECT_ID, PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble, type Sent } from './upstream-double.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const ASYNC = { prefer: 'respond-async' };
/** A caller may put a command in line this often. */
const PER_COMMAND_MS = 200;
const STARTED_AT_MS = Date.UTC(2026, 0, 15, 12);

function anAnswer(
  status = 200,
  body: object = { endpoint: { id: 'ep-little-smoke-851426' }, operations: [] },
) {
  return Response.json(body, { status });
}

/** A message as Lambda's event shows it, received for the first time unless the count says otherwise. */
function received(messageId: string, body: object, receiveCount = 1) {
  const attributes = { ApproximateReceiveCount: String(receiveCount) };
  return { messageId, receiptHandle: `handle-${messageId}`, body: JSON.stringify(body), attributes };
}

async function setUp(answer: (sent: Sent) => Response = () => anAnswer(), options: Partial<ApiOptions> = {}) {
  let nowMs = STARTED_AT_MS;
  const upstream = createUpstreamDouble(answer);
  const clock = {
    now: () => nowMs,
    sleep: (durationMs: number) =>
      new Promise<void>((resolve) =>
        setImmediate(() => {
          nowMs += durationMs;
          resolve();
        }),
      ),
  };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.test/api/v2',
    upstreamKey: 'a-key',
    fetch: upstream.fetch,
    clock,
    ...options,
  });
  for (const projectId of [PROJECT_ID, OTHER_PROJECT_ID])
    api.memory.sync.update({ key: projectKey(ACCOUNT_ID, projectId), set: { kind: 'project' } });
  const as = async (token: TokenOptions = {}) => {
    const authorization = `Bearer ${await api.issueToken({ validForMs: 86_400_000, ...token })}`;
    return async (method: string, path: string, headers: Record<string, string> = {}, body?: object) => {
      const typed = body && { 'content-type': 'application/json' };
      const init = { method, headers: { authorization, ...typed, ...headers } };
      const response = await api.app.request(path, { ...init, ...(body && { body: JSON.stringify(body) }) });
      const text = await response.text();
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
      const parsed: any = text === '' ? undefined : JSON.parse(text);
      return { status: response.status, headers: response.headers, body: parsed };
    };
  };
  /** Works on everything that was woken, as the queue would have it done. */
  const workOnWakes = async () => {
    const wakes = api.woken.splice(0);
    return api.invokeWorker({ Records: wakes.map((wake, place) => received(`m${place}`, wake)) });
  };
  const pass = (durationMs: number) => {
    nowMs += durationMs;
  };
  return { api, upstream, as, ask: await as(), workOnWakes, pass };
}

type Setting = Awaited<ReturnType<typeof setUp>>;

const settledIn = ({ api }: Setting) =>
  api.published
    .filter(({ detailType }) => detailType === 'Command Settled')
    .map(({ detail }) => JSON.parse(detail) as Record<string, unknown>);

describe('a command that is asked for with "Prefer: respond-async"', () => {
  test('is answered with 202 and its place, and is sent by the worker', async () => {
    const setting = await setUp();
    const { ask, upstream, workOnWakes } = setting;

    const accepted = await ask('POST', RESTART, ASYNC);

    const { command } = accepted.body;
    expect(accepted.status).toBe(202);
    expect(accepted.headers.get('location')).toBe(`/bridge/v1/commands/${command.command_id}`);
    expect(command).toMatchObject({ state: 'queued', settled: false, commands_before: 0 });
    expect(upstream.sent).toEqual([]);

    await workOnWakes();

    const { body } = await ask('GET', accepted.headers.get('location') ?? '');
    expect(upstream.sent.map(({ method, url }) => [method, new URL(url).pathname])).toEqual([
      ['POST', RESTART],
    ]);
    expect(body.command).toMatchObject({ state: 'succeeded', settled: true, answer: { status: 200 } });
    expect(settledIn(setting)).toMatchObject([
      { outcome: 'succeeded', command: { client_id: 'an-app', request_id: command.command_id } },
    ]);
  });

  test('is sent with the body that the caller gave, which the table shows nowhere', async () => {
    const { ask, upstream, workOnWakes, api } = await setUp();
    const body = { endpoint: { branch_id: 'br-dawn-scene-747675', type: 'read_write' } };

    await ask('POST', `/api/v2/projects/${PROJECT_ID}/endpoints`, ASYNC, body);
    const stored = JSON.stringify(api.memory.sync.items());
    await workOnWakes();

    expect(stored).not.toContain('br-dawn-scene-747675');
    expect(JSON.parse(upstream.sent[0]?.body ?? '')).toEqual(body);
    expect(JSON.stringify(api.memory.sync.items())).not.toContain('"request":');
  });

  test('is sent once, however often its message is handed out', async () => {
    const { ask, upstream, workOnWakes, api } = await setUp();

    await ask('POST', RESTART, ASYNC);
    api.woken.push(...api.woken, ...api.woken);
    await Promise.all([
      workOnWakes(),
      api.invokeWorker({ 'detail-type': 'x', detail: { account_id: ACCOUNT_ID, project_id: PROJECT_ID } }),
    ]);
    await workOnWakes();

    expect(upstream.sent).toHaveLength(1);
  });

  test('is answered as the upstream has answered it when it ends while the caller waits', async () => {
    const { ask, workOnWakes } = await setUp(() => anAnswer(404, { message: 'no such compute' }));

    const done = ask('POST', RESTART, { prefer: 'respond-async, wait=20' });
    await new Promise((resolve) => setImmediate(resolve));
    await workOnWakes();
    const { status, body, headers } = await done;

    expect([status, body]).toEqual([404, { message: 'no such compute' }]);
    expect(headers.get('bridge-command')).toMatch(/^\/bridge\/v1\/commands\//);
  });

  test('keeps its place behind a lock without a request, and goes on when the lock is released', async () => {
    let isLocked = true;
    const operation = anOperation({ project_id: PROJECT_ID, action: 'start_compute', status: 'running' });
    const setting = await setUp(() => (isLocked ? anAnswer(423, { code: 'LOCKED' }) : anAnswer()));
    const { ask, upstream, workOnWakes, api } = setting;
    await recordOperationOf(setting, operation);

    const { body } = await ask('POST', RESTART, ASYNC);
    await workOnWakes();

    const location = `/bridge/v1/commands/${body.command.command_id}`;
    expect(upstream.sent).toEqual([]);
    expect((await ask('GET', location)).body.command).toMatchObject({
      state: 'queued',
      waiting_for: [operation.id],
    });
    expect(await api.memory.get(wishKey(ACCOUNT_ID, PROJECT_ID))).toMatchObject({ work: expect.any(String) });

    isLocked = false;
    await endOperation(setting, operation.id);
    const detail = { account_id: ACCOUNT_ID, project_id: PROJECT_ID };
    await api.invokeWorker({ 'detail-type': 'Operation State Changed', detail });

    expect(upstream.sent).toHaveLength(1);
    expect((await ask('GET', location)).body.command.state).toBe('succeeded');
  });

  test('stays in line after a refusal that passes, and is not sent again before its time', async () => {
    const answers = [new Response('{}', { status: 429, headers: { 'retry-after': '30' } }), anAnswer()];
    const { ask, upstream, workOnWakes, api, pass } = await setUp(() => answers.shift() ?? anAnswer());

    await ask('POST', RESTART, ASYNC);
    await workOnWakes();
    await api.invokeWorker({});
    await workOnWakes();
    expect(upstream.sent).toHaveLength(1);

    pass(60_000);
    await api.invokeWorker({});
    await workOnWakes();

    expect(upstream.sent).toHaveLength(2);
  });

  test('hands its message back for the pause that the upstream asks for, and sends it when that is over', async () => {
    const answers = [new Response('{}', { status: 429, headers: { 'retry-after': '7' } }), anAnswer()];
    const { ask, upstream, workOnWakes, api, pass } = await setUp(() => answers.shift() ?? anAnswer());
    await ask('POST', RESTART, ASYNC);

    const first = await workOnWakes();

    expect(first.batchItemFailures).toEqual([{ itemIdentifier: 'm0' }]);
    expect(api.handedBack).toEqual([{ receiptHandle: 'handle-m0', pauseMs: 7_000 }]);
    expect(await api.memory.get(wishKey(ACCOUNT_ID, PROJECT_ID))).toBeUndefined();

    pass(7_000);
    const message = received('m0', { account_id: ACCOUNT_ID, project_id: PROJECT_ID }, 2);
    expect(await api.invokeWorker({ Records: [message] })).toEqual({ batchItemFailures: [] });
    expect(upstream.sent).toHaveLength(2);
  });

  test('gets a new message instead of a second hand-back, so that pauses fill no dead-letter queue', async () => {
    const { ask, api, workOnWakes } = await setUp(
      () => new Response('{}', { status: 429, headers: { 'retry-after': '7' } }),
    );
    await ask('POST', RESTART, ASYNC);
    await workOnWakes();

    const message = received('m0', { account_id: ACCOUNT_ID, project_id: PROJECT_ID }, 2);
    expect(await api.invokeWorker({ Records: [message] })).toEqual({ batchItemFailures: [] });

    expect(api.woken).toMatchObject([{ account_id: ACCOUNT_ID, project_id: PROJECT_ID }]);
    expect((await workOnWakes()).batchItemFailures).toHaveLength(1);
    expect(api.handedBack).toHaveLength(2);
  });

  test('is left to the sweep when the pause is longer than its interval', async () => {
    const { ask, api, workOnWakes } = await setUp(
      () => new Response('{}', { status: 429, headers: { 'retry-after': '61' } }),
    );
    await ask('POST', RESTART, ASYNC);

    expect(await workOnWakes()).toEqual({ batchItemFailures: [] });
    expect([api.handedBack, api.woken]).toEqual([[], []]);
  });

  test('is tried less and less often behind a lock whose holder is not known', async () => {
    const { ask, api, workOnWakes, pass, upstream } = await setUp(() => anAnswer(423, { code: 'LOCKED' }));
    await ask('POST', RESTART, ASYNC);
    await workOnWakes();
    const target = { account_id: ACCOUNT_ID, project_id: PROJECT_ID };
    for (const pauseMs of [5_000, 20_000]) {
      pass(pauseMs);
      await api.invokeWorker({ Records: [received('m0', target)] });
    }

    expect(api.handedBack.map(({ pauseMs }) => pauseMs)).toEqual([5_000, 20_000, 20_000]);
    expect(upstream.sent).toHaveLength(3);
    expect(await api.memory.get(wishKey(ACCOUNT_ID, PROJECT_ID))).toMatchObject({ work: expect.any(String) });
  });

  test('ends as refused with the answer of the upstream', async () => {
    const setting = await setUp(() => anAnswer(404, { message: 'no such compute' }));
    const { ask, workOnWakes } = setting;

    const { body } = await ask('POST', RESTART, ASYNC);
    await workOnWakes();

    const found = await ask('GET', `/bridge/v1/commands/${body.command.command_id}`);
    expect(found.body.command).toMatchObject({
      state: 'refused',
      answer: { status: 404, body: '{"message":"no such compute"}' },
    });
    expect(settledIn(setting)).toMatchObject([{ outcome: 'refused' }]);
  });

  test('ends as unknown when the answer was lost, and is never sent again', async () => {
    const setting = await setUp(() => {
      throw new TypeError('The connection was lost');
    });
    const { ask, workOnWakes, upstream, api } = setting;

    const { body } = await ask('POST', RESTART, ASYNC);
    await workOnWakes();
    await api.invokeWorker({});
    await workOnWakes();

    const found = await ask('GET', `/bridge/v1/commands/${body.command.command_id}`);
    expect(found.body.command).toMatchObject({ state: 'unknown', reason: expect.any(String) });
    expect(upstream.sent).toHaveLength(1);
    expect(settledIn(setting)).toMatchObject([{ outcome: 'unknown' }]);
  });

  test('expires at its deadline, without a request', async () => {
    const setting = await setUp();
    const { ask, workOnWakes, upstream, api, pass } = setting;

    const { body } = await ask('POST', RESTART, { ...ASYNC, 'bridge-deadline': '60' });
    api.woken.splice(0);
    pass(60_000);
    await api.invokeWorker({});
    await workOnWakes();

    expect(upstream.sent).toEqual([]);
    const found = await ask('GET', `/bridge/v1/commands/${body.command.command_id}`);
    expect(found.body.command.state).toBe('expired');
    expect(settledIn(setting)).toMatchObject([{ outcome: 'expired' }]);
  });

  test.each(['0', 'soon', '86401', '-5', '1.5'])('is refused with the deadline %s', async (deadline) => {
    const { ask } = await setUp();

    const { status, body } = await ask('POST', RESTART, { ...ASYNC, 'bridge-deadline': deadline });

    expect([status, body.detail]).toEqual([400, expect.stringContaining('header.bridge-deadline')]);
  });

  test('waits no longer than the configuration allows, and is refused with the bound when it asks for more', async () => {
    const { ask } = await setUp(undefined, { accountSettings: { command_deadline_seconds_max: 600 } });

    const refused = await ask('POST', RESTART, { ...ASYNC, 'bridge-deadline': '601' });
    const longest = await ask('POST', RESTART, { ...ASYNC, 'bridge-deadline': '600' });
    const unnamed = await ask('POST', RESTART, ASYNC);

    expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining('1 to 600')]);
    for (const { body } of [longest, unnamed]) {
      const { accepted_at, deadline_at } = body.command;
      expect(Date.parse(deadline_at) - Date.parse(accepted_at)).toBe(600_000);
    }
  });

  test('is the same command for the same Idempotency-Key', async () => {
    const { ask, upstream, workOnWakes } = await setUp();
    const headers = { ...ASYNC, 'idempotency-key': 'key-1' };

    const first = await ask('POST', RESTART, headers);
    const second = await ask('POST', RESTART, headers);
    await workOnWakes();
    const third = await ask('POST', RESTART, headers);

    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body.command.command_id).toBe(first.body.command.command_id);
    expect(third.headers.get('bridge-command')).toBe(first.headers.get('location'));
    expect(upstream.sent).toHaveLength(1);
  });

  test('is the same command for the same Idempotency-Key when the repetition does not ask for respond-async', async () => {
    const { ask, upstream } = await setUp();
    const key = { 'idempotency-key': 'key-1' };
    const first = await ask('POST', RESTART, { ...ASYNC, ...key });

    const second = await ask('POST', RESTART, key);

    expect([second.status, second.headers.get('location')]).toEqual([202, first.headers.get('location')]);
    expect(second.body.command).toMatchObject({ state: 'queued' });
    expect(upstream.sent).toEqual([]);
  });

  test('is accepted without a wait when its caller has as many waits as it may have', async () => {
    const { ask, api } = await setUp(undefined, { accountSettings: { caller_waits_max: 1 } });
    const places = createHeldPlaces(
      api.memory.as('api'),
      aClock(() => STARTED_AT_MS),
      1,
    );
    await places.take({ account_id: ACCOUNT_ID, client_id: 'an-app' }, 'waits', 25_000);

    const accepted = await ask('POST', RESTART, { prefer: 'respond-async, wait=20' });

    // A refusal would make the caller send it again, although it is in line.
    expect([accepted.status, accepted.body.command.state]).toEqual([202, 'queued']);
    expect(api.woken).toHaveLength(1);
  });

  test('whose answer would hold a secret that is shown once is refused, with the reason', async () => {
    const { ask, api } = await setUp();
    const body = { project_id: PROJECT_ID, auth_provider: 'stack' };

    const refused = await ask('POST', '/api/v2/projects/auth/keys', ASYNC, body);

    expect([refused.status, refused.body.type]).toEqual([422, expect.stringContaining('not-queueable')]);
    expect(refused.body.detail).toContain('shown once');
    expect(api.woken).toEqual([]);
  });

  test('keeps no connection string and no password of its answer', async () => {
    const uri = 'postgres://owner:npg_secret123@ep-1.example.com/neondb';
    const answer = { branch: { id: 'br-1' }, operations: [], connection_uris: [{ connection_uri: uri }] };
    const { ask, workOnWakes } = await setUp(() => anAnswer(201, answer));

    const { body } = await ask('POST', `/api/v2/projects/${PROJECT_ID}/branches`, ASYNC, {
      branch: { name: 'preview' },
    });
    await workOnWakes();

    const { command } = (await ask('GET', `/bridge/v1/commands/${body.command.command_id}`)).body;
    expect(command.answer.status).toBe(201);
    expect(command.answer.body).toContain('br-1');
    expect(JSON.stringify(command)).not.toContain('npg_secret123');
  });

  test('carries the trace of its caller into its events and log lines', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const setting = await setUp();
    const { ask, workOnWakes, api } = setting;

    await ask('POST', RESTART, { ...ASYNC, traceparent });
    await workOnWakes();

    expect(settledIn(setting)).toMatchObject([{ command: { traceparent } }]);
    expect(api.logged.find(({ event }) => event === 'command.left_line')).toMatchObject({ traceparent });
  });

  test.each(['not a trace', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`])(
    'is accepted without a trace when its caller sends %s',
    async (traceparent) => {
      const setting = await setUp();
      await setting.ask('POST', RESTART, { ...ASYNC, traceparent });
      await setting.workOnWakes();

      expect(settledIn(setting)[0]?.['command']).not.toHaveProperty('traceparent');
    },
  );

  test('is refused as the 101st of its project', async () => {
    const { ask, as, pass } = await setUp();
    const another = await as({ client_id: 'another-app' });
    for (let count = 0; count < LINE_ENTRIES_MAX / 2; count++) {
      pass(PER_COMMAND_MS);
      await ask('POST', RESTART, ASYNC);
      await another('POST', RESTART, ASYNC);
    }

    const refused = await ask('POST', RESTART, ASYNC);
    const elsewhere = await ask('POST', RESTART.replace(PROJECT_ID, OTHER_PROJECT_ID), ASYNC);

    expect([refused.status, refused.body.type]).toEqual([429, expect.stringContaining('queue-full')]);
    expect(refused.body.detail).toContain('100 commands of this project');
    expect(elsewhere.status).toBe(202);
  });

  test('is accepted however many items crashes have left outside of their lines', async () => {
    const { ask, api } = await setUp();
    const { command } = (await ask('POST', RESTART, ASYNC)).body;
    const {
      pk: _pk,
      sk: _sk,
      ...item
    } = api.memory.sync.peek(queuedCommandKey(ACCOUNT_ID, command.command_id)) ?? {};
    for (let count = 0; count < WAITING_COMMANDS_MAX; count++) {
      const command_id = `left-${count}`;
      const key = queuedCommandKey(ACCOUNT_ID, command_id);
      await api.memory.update({ key, set: { ...item, command_id } });
    }

    expect((await ask('POST', RESTART, ASYNC)).status).toBe(202);
    const left = await ask('GET', '/bridge/v1/commands/left-1');
    expect(left.body.command).not.toHaveProperty('commands_before');
  });

  test('is refused as the 1,001st of its account', async () => {
    const { ask, as, pass } = await setUp(undefined, { accountSettings: { requests_per_minute: 700 } });
    const another = await as({ client_id: 'another-app' });
    const path = (project: number) => RESTART.replace(PROJECT_ID, `bold-sound-${10_000_000 + project}`);
    for (let count = 0; count < WAITING_COMMANDS_MAX; count++) {
      pass(PER_COMMAND_MS);
      await (count % 2 === 0 ? ask : another)('POST', path(count % 20), ASYNC);
    }

    const refused = await ask('POST', path(21), ASYNC);

    expect([refused.status, refused.body.type]).toEqual([429, expect.stringContaining('queue-full')]);
    expect(refused.body.detail).toContain('1000 commands of this account');
  }, 60_000);

  test('has a body of 256 kB at most, and is sent with it', async () => {
    const { ask, workOnWakes, upstream } = await setUp();
    const path = `/api/v2/projects/${PROJECT_ID}/branches`;
    const bodyOf = (bytes: number) => ({ padding: 'x'.repeat(bytes - '{"padding":""}'.length) });

    const taken = await ask('POST', path, ASYNC, bodyOf(256_000));
    const refused = await ask('POST', path, ASYNC, bodyOf(256_001));
    await workOnWakes();

    expect([taken.status, refused.status]).toEqual([202, 413]);
    expect(upstream.sent.map(({ body }) => body.length)).toEqual([256_000]);
  });

  test('settles as failed when its request can no longer be opened, and does not hold those behind it', async () => {
    const setting = await setUp();
    const { ask, workOnWakes, api, upstream } = setting;
    const { body } = await ask('POST', RESTART, ASYNC);
    const { command_id } = body.command;
    await api.memory.update({ key: queuedCommandKey(ACCOUNT_ID, command_id), set: { request: 'damaged' } });
    await ask('POST', RESTART, ASYNC);
    await workOnWakes();

    const found = await ask('GET', `/bridge/v1/commands/${command_id}`);
    expect(found.body.command).toMatchObject({ state: 'failed', reason: expect.stringContaining('open') });
    expect(upstream.sent).toHaveLength(1);
    expect(settledIn(setting).map(({ outcome }) => outcome)).toEqual(['failed', 'succeeded']);
  });
});

describe('a queued command', () => {
  test('can be withdrawn by its caller, and is not sent then', async () => {
    const setting = await setUp();
    const { ask, workOnWakes, upstream } = setting;
    const { headers } = await ask('POST', RESTART, ASYNC);

    const cancelled = await ask('DELETE', headers.get('location') ?? '');
    await workOnWakes();

    expect([cancelled.status, cancelled.body.command.state]).toEqual([200, 'cancelled']);
    expect(upstream.sent).toEqual([]);
    expect(settledIn(setting)).toMatchObject([{ outcome: 'cancelled' }]);
  });

  test('cannot be withdrawn once it was sent', async () => {
    const { ask, workOnWakes } = await setUp();
    const { headers } = await ask('POST', RESTART, ASYNC);
    await workOnWakes();

    const refused = await ask('DELETE', headers.get('location') ?? '');

    expect([refused.status, refused.body.type]).toEqual([409, expect.stringContaining('not-in-line')]);
  });

  test('is withdrawn for another caller only with the scope commands:freeze', async () => {
    const { ask, as } = await setUp();
    const { headers } = await ask('POST', RESTART, ASYNC);
    const location = headers.get('location') ?? '';
    const other = await as({ client_id: 'another-app', scopes: ['operations:read'] });
    const operator = await as({ client_id: 'operator', scopes: ['operations:read', 'commands:freeze'] });

    expect((await other('DELETE', location)).status).toBe(403);
    expect((await operator('DELETE', location)).status).toBe(200);
  });

  test('is hidden from a caller who is limited to other projects', async () => {
    const { ask, as } = await setUp();
    const { headers } = await ask('POST', RESTART, ASYNC);
    const stranger = await as({ project_ids: [OTHER_PROJECT_ID] });

    expect((await stranger('GET', headers.get('location') ?? '')).status).toBe(404);
    expect((await stranger('GET', '/bridge/v1/commands')).body.commands).toEqual([]);
  });

  test('shows its answer to the caller who sent it, and to nobody else', async () => {
    const { ask, as, workOnWakes } = await setUp();
    const { headers } = await ask('POST', RESTART, ASYNC);
    await workOnWakes();
    const other = await as({ client_id: 'another-app' });

    const { command } = (await other('GET', headers.get('location') ?? '')).body;

    expect(command.state).toBe('succeeded');
    expect(command).not.toHaveProperty('answer');
  });

  test('shows its answer for a day', async () => {
    const { ask, workOnWakes, pass, as } = await setUp();
    const { headers } = await ask('POST', RESTART, ASYNC);
    await workOnWakes();
    pass(86_400_000);
    const again = await as();

    expect((await again('GET', headers.get('location') ?? '')).body.command).not.toHaveProperty('answer');
  });

  test('stands in a list with filters, newest first', async () => {
    const { ask, workOnWakes, pass } = await setUp();
    const first = await ask('POST', RESTART, ASYNC);
    await workOnWakes();
    pass(1_000);
    const second = await ask('POST', RESTART.replace(PROJECT_ID, OTHER_PROJECT_ID), ASYNC);
    const idsOf = (answer: { body: { commands: { command_id: string }[] } }) =>
      answer.body.commands.map(({ command_id }) => command_id);
    const [a, b] = [first.body.command.command_id, second.body.command.command_id];

    expect(idsOf(await ask('GET', '/bridge/v1/commands'))).toEqual([b, a]);
    expect(idsOf(await ask('GET', '/bridge/v1/commands?state=queued'))).toEqual([b]);
    expect(idsOf(await ask('GET', `/bridge/v1/commands?project_id=${PROJECT_ID}`))).toEqual([a]);
    const page = await ask('GET', '/bridge/v1/commands?limit=1');
    expect(idsOf(await ask('GET', `/bridge/v1/commands?limit=1&cursor=${page.body.cursor}`))).toEqual([a]);
  });
});

describe('a freeze', () => {
  test('holds queued commands, refuses others with its reason, and lets them go on when it is lifted', async () => {
    const { ask, workOnWakes, upstream } = await setUp();
    const frozen = await ask('POST', '/bridge/v1/freeze', {}, { reason: 'The upstream has an incident.' });
    const queued = await ask('POST', RESTART, ASYNC);
    await workOnWakes();
    const refused = await ask('POST', RESTART);

    expect(frozen.body).toMatchObject({ frozen: true, client_id: 'an-app' });
    expect([refused.status, refused.body.type]).toEqual([503, expect.stringContaining('frozen')]);
    expect(refused.body.detail).toContain('The upstream has an incident.');
    expect(upstream.sent).toEqual([]);

    const lifted = await ask('DELETE', '/bridge/v1/freeze');
    await workOnWakes();

    expect(lifted.body).toEqual({ frozen: false });
    expect(upstream.sent).toHaveLength(1);
    expect((await ask('GET', queued.headers.get('location') ?? '')).body.command.state).toBe('succeeded');
  });

  test('does not stop reads', async () => {
    const { ask, upstream } = await setUp();
    await ask('POST', '/bridge/v1/freeze', {}, { reason: 'A change window.' });

    expect((await ask('GET', `/api/v2/projects/${PROJECT_ID}/endpoints`)).status).toBe(200);
    expect(upstream.sent).toHaveLength(1);
  });

  test('is closed to a caller who is limited to projects, and to one without its scope', async () => {
    const { as } = await setUp();
    const limited = await as({ project_ids: [PROJECT_ID] });
    const reader = await as({ scopes: ['operations:read'] });
    const body = { reason: 'A change window.' };

    expect((await limited('POST', '/bridge/v1/freeze', {}, body)).status).toBe(403);
    expect((await reader('POST', '/bridge/v1/freeze', {}, body)).status).toBe(403);
    expect((await reader('GET', '/bridge/v1/freeze')).body).toEqual({ frozen: false });
  });
});

/** Stores the operation as the poller records it. */
async function recordOperationOf({ api }: Setting, operation: ReturnType<typeof anOperation>): Promise<void> {
  const { id, project_id, ...rest } = operation;
  await api.memory.update({
    key: operationKey(ACCOUNT_ID, project_id, id),
    set: {
      kind: 'operation',
      ...rest,
      account_id: ACCOUNT_ID,
      project_id,
      operation_id: id,
      sequence: 0,
      revision: 0,
      published: 0,
      entries: [],
      status_observed_at: rest.updated_at,
      work: ACCOUNT_ID,
    },
  });
}

async function endOperation({ api }: Setting, operationId: string): Promise<void> {
  const key = operationKey(ACCOUNT_ID, PROJECT_ID, operationId);
  await api.memory.update({ key, set: { status: 'finished' }, remove: ['work'] });
}
