/** Tests what a command brings about, with the simulated service behind the API. */

import { describe, expect, test, vi } from 'vitest';
import { SCOPES } from '../../shared/callers/scopes.ts';
import type { BusEvent } from '../../shared/events/render-event.ts';
import { requestCountIn } from '../../shared/rates/ledger.ts';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { ledgerKey, operationKey, parkedKey } from '../../shared/store/keys.ts';
import { createLedgerStore } from '../../shared/store/ledger-store.ts';
import { KEY, type Service, startService } from '../conformance/service-under-test.ts';
import { ACCOUNT_ID, type ApiOptions, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { createUpstreamDouble } from './upstream-double.ts';

async function setUp(options: Partial<ApiOptions> = {}) {
  const service = await startService();
  const api = createApiUnderTest({ upstreamBaseUrl: service.upstream.baseUrl, upstreamKey: KEY, ...options });
  const as = async (token: TokenOptions = {}) => {
    const authorization = `Bearer ${await api.issueToken(token)}`;
    return async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const response = await api.app.request(`/api/v2${path}`, {
        method,
        headers: { authorization, ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
      const parsed: any = text === '' ? undefined : JSON.parse(text);
      return { status: response.status, headers: response.headers, body: parsed };
    };
  };
  return { service, api, as, ask: await as() };
}

const endpointPath = ({ projectId, endpointId }: Service, action = '') =>
  `/projects/${projectId}/endpoints/${endpointId}${action}`;

const detailOf = ({ detail }: BusEvent) => JSON.parse(detail) as Record<string, unknown>;

const auditOf = ({ api }: Awaited<ReturnType<typeof setUp>>) =>
  api.memory.sync.items().filter((item) => item['kind'] === 'audit');

describe('a command that starts operations', () => {
  test('is an event of each before its caller has the answer', async () => {
    const { service, api, ask } = await setUp();

    const { status, headers, body } = await ask('POST', endpointPath(service, '/start'));

    expect(status).toBe(200);
    expect(api.published.map(({ detailType }) => detailType)).toEqual(['Operation State Changed']);
    expect(api.published.map(detailOf)).toMatchObject([
      {
        operation_id: body.operations[0].id,
        project_id: service.projectId,
        previous_status: null,
        sequence: 1,
        observed_by: 'command',
        command: { client_id: 'an-app', request_id: headers.get('bridge-request-id') },
      },
    ]);
  });

  test('is found by the poller as work of its project', async () => {
    const { service, api, ask } = await setUp();

    const { body } = await ask('POST', endpointPath(service, '/start'));

    const key = operationKey(ACCOUNT_ID, service.projectId, body.operations[0].id as string);
    expect(await api.memory.get(key)).toMatchObject({ work: ACCOUNT_ID, revision: 1, published: 1 });
  });

  test('answers its caller all the same when nothing can be recorded', async () => {
    const broken = vi.fn(() => Promise.reject(new Error('The table is away')));
    const { service, api, ask } = await setUp({
      wrapTable: (table) => ({
        ...table,
        update: (update) => (/OP#|CMD#/.test(update.key.sk) ? broken() : table.update(update)),
      }),
    });

    const { status, body } = await ask('POST', endpointPath(service, '/start'));

    expect([status, body.operations.length]).toEqual([200, 1]);
    expect(broken).toHaveBeenCalled();
    expect(api.published).toEqual([]);
    expect(api.logged).toMatchObject([{ level: 'error', event: 'command.not_recorded' }]);
  });

  test('is answered after five seconds when the table does not take its record, and the log says so', async () => {
    const clock: Clock = {
      ...systemClock,
      sleep: (durationMs, signal) =>
        durationMs === 5_000 ? Promise.resolve() : systemClock.sleep(durationMs, signal),
    };
    const { service, api, ask } = await setUp({
      clock,
      wrapTable: (table) => ({
        ...table,
        update: (update) => (/OP#|CMD#/.test(update.key.sk) ? new Promise(() => {}) : table.update(update)),
      }),
    });

    expect((await ask('POST', endpointPath(service, '/start'))).status).toBe(200);
    expect(api.logged).toMatchObject([
      { level: 'error', event: 'command.not_recorded', reason: 'took_too_long' },
    ]);
  });

  test('is recorded while its audit is written, and is answered when both are done', async () => {
    const waits = { audit: Promise.withResolvers<void>(), record: Promise.withResolvers<void>() };
    const begun: string[] = [];
    const { service, ask } = await setUp({
      wrapTable: (table) => ({
        ...table,
        async update(update) {
          const name =
            update.set['outcome'] === 'done' ? 'audit' : update.key.sk.startsWith('OP#') && 'record';
          if (name === false) return table.update(update);
          begun.push(name);
          await waits[name].promise;
          return table.update(update);
        },
      }),
    });
    let isAnswered = false;

    const answer = ask('POST', endpointPath(service, '/start')).finally(() => {
      isAnswered = true;
    });

    await vi.waitFor(() => expect(begun.toSorted()).toEqual(['audit', 'record']));
    waits.audit.resolve();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isAnswered).toBe(false);
    waits.record.resolve();
    expect((await answer).status).toBe(200);
  });

  test('leaves its events to the poller when the bus is away', async () => {
    const { service, api, ask } = await setUp({
      wrapBus: () => ({
        publish: async (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' })),
      }),
    });

    const { status, body } = await ask('POST', endpointPath(service, '/start'));

    const key = operationKey(ACCOUNT_ID, service.projectId, body.operations[0].id as string);
    expect(status).toBe(200);
    expect(await api.memory.get(key)).toMatchObject({ work: ACCOUNT_ID, revision: 1, published: 0 });
  });

  test('keeps an event that the bus refuses for good, for a person to look at', async () => {
    const { service, api, ask } = await setUp({
      wrapBus: () => ({
        publish: async (events) => events.map(() => ({ kind: 'refused', code: 'InvalidArgument' })),
      }),
    });

    const { body } = await ask('POST', endpointPath(service, '/start'));

    const key = operationKey(ACCOUNT_ID, service.projectId, body.operations[0].id as string);
    expect(await api.memory.get(parkedKey(key, 1))).toMatchObject({
      kind: 'parked',
      code: 'InvalidArgument',
    });
    expect(await api.memory.get(key)).toMatchObject({ revision: 1, published: 1 });
  });
});

describe('a request to the upstream', () => {
  test('is in the ledger before its caller has the answer', async () => {
    const { service, api, ask } = await setUp();

    await ask('GET', `/projects/${service.projectId}/operations`);

    const { ledger } = await createLedgerStore(api.memory, ACCOUNT_ID).read();
    expect(requestCountIn(ledger, Date.now())).toBe(1);
  });

  test('is answered all the same when it cannot be noted', async () => {
    const { service, api, ask } = await setUp({
      wrapTable: (table) => ({
        ...table,
        async update(update) {
          if (update.key.pk === ledgerKey(ACCOUNT_ID).pk) throw new Error('The table is away');
          return table.update(update);
        },
      }),
    });

    const { status } = await ask('GET', `/projects/${service.projectId}/operations`);

    expect(status).toBe(200);
    expect(api.logged).toMatchObject([{ level: 'warn', event: 'usage.not_noted' }]);
  });
});

describe('a lock', () => {
  test('is waited for as long as the caller has patience', async () => {
    const { service, ask } = await setUp();
    await ask('POST', endpointPath(service, '/start'));
    setTimeout(() => void service.pass(60_000), 300);

    const { status } = await ask('POST', endpointPath(service, '/restart'));

    expect(status).toBe(200);
  });

  test('that stays is answered with the operations that hold it', async () => {
    const { service, ask } = await setUp();
    const { body } = await ask('POST', endpointPath(service, '/start'));

    const refused = await ask('POST', endpointPath(service, '/restart'), undefined, { prefer: 'wait=0' });

    expect(refused.status).toBe(423);
    expect(refused.headers.get('bridge-locked-by')).toBe(body.operations[0].id);
  });
});

describe('what a caller gets to see', () => {
  test('the list of projects has only those of the caller', async () => {
    const { service, as } = await setUp();
    const ask = await as({ project_ids: [service.projectId] });

    const { body } = await ask('GET', '/projects');

    expect(body.projects.map(({ id }: { id: string }) => id)).toEqual([service.projectId]);
  });

  test('a read shows a secret only with the scope for it', async () => {
    const { service, as, ask } = await setUp();
    await service.withAuth();
    const server = {
      type: 'standard',
      host: 'smtp.example.com',
      port: 587,
      username: 'mailer',
      password: 'a-password',
      sender_email: 'a@example.com',
      sender_name: 'A',
    };
    await ask('PATCH', `/projects/${service.projectId}/auth/email_server`, server);
    const path = `/projects/${service.projectId}/auth/email_server`;

    const shown = await ask('GET', path);
    const hidden = await (await as({ scopes: SCOPES.filter((scope) => scope !== 'secrets:read') }))(
      'GET',
      path,
    );

    expect([shown.body.password, hidden.body.password]).toEqual(['a-password', '']);
    expect({ ...hidden.body, password: 'a-password' }).toEqual(shown.body);
  });

  test('no answer may be cached on its way', async () => {
    const { ask } = await setUp();

    const { headers } = await ask('GET', '/projects');

    expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
      'no-store',
      'nosniff',
    ]);
  });
});

describe('the audit', () => {
  test('has who did what to which, and what came of it, and no value', async () => {
    const stage = await setUp();
    const { service, ask } = stage;

    const { headers, body } = await ask('POST', endpointPath(service, '/start'));

    expect(auditOf(stage)).toMatchObject([
      {
        client_id: 'an-app',
        call: 'startEndpoint',
        project_id: service.projectId,
        resource: { endpoint_id: service.endpointId },
        outcome: 'done',
        status: 200,
        request_id: headers.get('bridge-request-id'),
        operation_ids: [body.operations[0].id],
        duration_ms: expect.any(Number),
      },
    ]);
  });

  test('has what was refused, by the bridge and by the upstream', async () => {
    const stage = await setUp();
    const { service, as, ask } = stage;
    await ask('POST', `/projects/${service.projectId}/endpoints`, { endpoint: {} });
    await (await as({ scopes: ['projects:read'] }))('POST', endpointPath(service, '/start'));
    await ask('POST', endpointPath(service, '/restart'));

    expect(auditOf(stage).map(({ outcome, status, problem }) => [outcome, status, problem])).toEqual([
      ['refused', 400, 'invalid-request'],
      ['refused', 403, 'scope-missing'],
      ['refused', 400, undefined],
    ]);
  });

  test('has no reads', async () => {
    const stage = await setUp();

    await stage.ask('GET', '/projects');

    expect(auditOf(stage)).toEqual([]);
  });

  test('that cannot be written delays no answer and leaves a line in the log', async () => {
    const { service, api, ask } = await setUp({
      wrapTable: (table) => ({
        ...table,
        update: (update) =>
          update.key.pk.startsWith('AUDIT#')
            ? Promise.reject(new Error('The table is away'))
            : table.update(update),
      }),
    });

    const { status } = await ask('POST', endpointPath(service, '/start'));

    expect(status).toBe(200);
    expect(api.logged.map(({ event }) => event)).toEqual(['audit.failed', 'audit.failed']);
  });
});

describe('an upstream that fails', () => {
  const through = async (answer: () => Response | Promise<Response>, method: 'GET' | 'POST' = 'POST') => {
    const upstream = createUpstreamDouble(answer);
    const stage = await setUp({ fetch: upstream.fetch });
    const path = method === 'GET' ? '/projects' : endpointPath(stage.service, '/restart');
    return {
      ...(await stage.ask(method, path, undefined, { prefer: 'wait=0' })),
      calls: upstream.sent.length,
      stage,
    };
  };

  test.each([400, 403, 404, 409, 422, 423, 429, 500, 502, 503, 504, 524])(
    'its %i comes through as it is, and a mutation is sent once',
    async (status) => {
      const answer = await through(() => Response.json({ code: 'X', message: 'its own words' }, { status }));

      expect([answer.status, answer.body, answer.calls]).toEqual([
        status,
        { code: 'X', message: 'its own words' },
        1,
      ]);
    },
  );

  test('a page of HTML comes through as a page of HTML', async () => {
    const upstream = createUpstreamDouble(
      () =>
        new Response('<h1>Bad gateway</h1>', {
          status: 502,
          headers: { 'content-type': 'text/html', 'set-cookie': 'a=b', server: 'x' },
        }),
    );
    const { service, api } = await setUp({ fetch: upstream.fetch });

    const response = await api.app.request(`/api/v2/projects/${service.projectId}/endpoints`, {
      headers: { authorization: `Bearer ${await api.issueToken()}` },
    });

    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      502,
      'text/html',
      '<h1>Bad gateway</h1>',
    ]);
    expect([response.headers.get('set-cookie'), response.headers.get('server')]).toEqual([null, null]);
  });

  test("a 401 is about the bridge's key, and never the caller's fault", async () => {
    const answer = await through(() => Response.json({ message: 'no' }, { status: 401 }));

    expect([answer.status, answer.body.type]).toEqual([
      502,
      'urn:operations-bridge:problem:upstream-unavailable',
    ]);
    expect(answer.body.detail).toMatch(/own key.*Nothing was done/);
  });

  test('a lost connection says that the command may have been carried out', async () => {
    const answer = await through(() => Promise.reject(new TypeError('fetch failed')));

    expect([answer.status, answer.calls]).toEqual([502, 1]);
    expect(answer.body.detail).toMatch(/may have been carried out/);
    expect(auditOf(answer.stage)).toMatchObject([{ outcome: 'unknown', status: 502 }]);
  });

  test('a lost connection of a read only asks to ask again', async () => {
    const answer = await through(() => Promise.reject(new TypeError('fetch failed')), 'GET');

    expect(answer.body.detail).toMatch(/Asking again may help/);
  });

  test('an answer without an end is given up, not kept in memory', async () => {
    const endless = () =>
      new Response(
        new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(100_000)) }),
        { status: 200 },
      );

    expect((await through(endless, 'GET')).status).toBe(502);
  });
});

describe('fairness', () => {
  test('a caller beyond its part learns when to come back, and others are not delayed by it', async () => {
    const { as } = await setUp({
      accountSettings: { requests_per_minute: 250, caller_requests_per_minute: 8 },
    });
    const [greedy, modest] = [await as({ client_id: 'greedy' }), await as({ client_id: 'modest' })];
    const statuses: number[] = [];
    for (let count = 0; count < 10; count++) statuses.push((await greedy('GET', '/projects')).status);

    const refused = await greedy('GET', '/projects');

    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await modest('GET', '/projects')).status).toBe(200);
  });

  test('after a refusal by the upstream no request is sent before the time that it named', async () => {
    const upstream = createUpstreamDouble(
      () => new Response('', { status: 429, headers: { 'retry-after': '30' } }),
    );
    const { ask } = await setUp({ fetch: upstream.fetch });
    await ask('GET', '/projects');

    const second = await ask('GET', '/projects');

    expect([second.status, upstream.sent.length]).toEqual([429, 1]);
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(25);
  });
});
