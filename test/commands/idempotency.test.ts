/** A command with an Idempotency-Key is carried out once, and a repetition gets the first outcome. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createApiUnderTest } from '../api/api-under-test.ts';
import { initOf, PROJECT_ID, sampleOf } from '../api/sample-requests.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { mutants } from './idempotency-mutants.ts';
import { simulateIdempotency } from './idempotency-simulation.ts';

const UPSTREAM = { upstreamBaseUrl: 'https://upstream.example/api/v2', upstreamKey: 'the-key' };

type Answers = (place: number) => Response | Promise<Response>;

function setUp(answers: Answers = (place) => Response.json({ place })) {
  let nowMs = Date.UTC(2026, 0, 15, 12);
  const pass = (durationMs: number) => {
    nowMs += durationMs;
  };
  const clock: Clock = { now: () => nowMs, sleep: async (durationMs) => pass(durationMs) };
  const upstream = createUpstreamDouble(() => answers(upstream.sent.length));
  const api = createApiUnderTest({ ...UPSTREAM, fetch: upstream.fetch, clock });
  const routeOf = async (id: string) => {
    const route = (await api.routes()).find((each) => each.id === id);
    if (route === undefined) throw new Error(`There is no route ${id}`);
    return route;
  };
  const ask = async (id: string, key: string, { token, body }: { token: string; body?: object }) => {
    const sample = sampleOf(await routeOf(id));
    const init = initOf(body === undefined ? sample : { ...sample, body }, {
      authorization: `Bearer ${token}`,
      'idempotency-key': key,
      prefer: 'wait=0',
    });
    const response = await api.app.request(sample.path, init);
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    return { status: response.status, headers: response.headers, body: (await response.json()) as any };
  };
  return { upstream, api, ask, pass };
}

const outcomesOf = ({ memory }: ReturnType<typeof createApiUnderTest>) =>
  memory.sync
    .items()
    .filter(({ kind }) => kind === 'audit')
    .map((item) => item['outcome']);

const typeOf = (body: { type?: string }) => body.type?.split(':').at(-1);

describe('the same request under the same key', () => {
  test('is answered as the first one was, and not sent again', async () => {
    const { upstream, api, ask } = setUp();
    const token = await api.issueToken();
    const first = await ask('restartEndpoint', 'a-key', { token });

    const second = await ask('restartEndpoint', 'a-key', { token });

    expect([second.status, second.body]).toEqual([200, { place: 1 }]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.headers.get('bridge-first-request-id')).toBe(first.headers.get('bridge-request-id'));
    expect(upstream.sent).toHaveLength(1);
  });

  test('is the same whatever the order of its fields', async () => {
    const { upstream, api, ask } = setUp();
    const token = await api.issueToken();
    const fields = { branch_id: 'br-dawn-scene-747675', type: 'read_only' };
    await ask('createEndpoint', 'a-key', { token, body: { endpoint: fields } });

    const turned = Object.fromEntries(Object.entries(fields).toReversed());
    const second = await ask('createEndpoint', 'a-key', { token, body: { endpoint: turned } });

    expect([second.status, upstream.sent.length]).toEqual([200, 1]);
  });

  test('does not wait: while the first one runs, it is answered with 409', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const { upstream, api, ask } = setUp(() => promise);
    const token = await api.issueToken();
    const first = ask('restartEndpoint', 'a-key', { token });
    await expect.poll(() => upstream.sent.length).toBe(1);

    const second = await ask('restartEndpoint', 'a-key', { token });
    resolve(Response.json({ place: 1 }));

    expect([second.status, typeOf(second.body), second.headers.get('retry-after')]).toEqual([
      409,
      'in-progress',
      '2',
    ]);
    expect((await first).status).toBe(200);
    expect(upstream.sent).toHaveLength(1);
  });

  test.each([400, 404, 409, 418, 422, 423, 429, 503])(
    'is sent again after a %i, for then nothing was done',
    async (status) => {
      const { upstream, api, ask, pass } = setUp((place) =>
        Response.json({ place }, { status: place === 1 ? status : 200 }),
      );
      const token = await api.issueToken();
      await ask('restartEndpoint', 'a-key', { token });
      pass(60_000);

      const second = await ask('restartEndpoint', 'a-key', { token });

      expect([second.status, second.body, upstream.sent.length]).toEqual([200, { place: 2 }, 2]);
    },
  );

  test.each([302, 408, 425, 499, 500, 502, 504, 524])(
    'is never sent again after a %i, for then the outcome is unknown',
    async (status) => {
      const { upstream, api, ask } = setUp(() => Response.json({}, { status }));
      const token = await api.issueToken();
      const first = await ask('restartEndpoint', 'a-key', { token });

      const second = await ask('restartEndpoint', 'a-key', { token });

      expect([first.status, second.status, typeOf(second.body)]).toEqual([status, 409, 'outcome-unknown']);
      expect(outcomesOf(api)[0]).toBe('unknown');
      expect(upstream.sent).toHaveLength(1);
    },
  );

  test("is sent again after the upstream refused the bridge's own key, for then nothing was done", async () => {
    const { upstream, api, ask } = setUp((place) =>
      Response.json({ place }, { status: place === 1 ? 401 : 200 }),
    );
    const token = await api.issueToken();
    const first = await ask('restartEndpoint', 'a-key', { token });

    const second = await ask('restartEndpoint', 'a-key', { token });

    expect([first.status, typeOf(first.body)]).toEqual([502, 'upstream-unavailable']);
    expect([second.status, second.body, upstream.sent.length]).toEqual([200, { place: 2 }, 2]);
    expect(outcomesOf(api)).toEqual(['refused', 'done']);
  });

  test('is never sent again after a lost connection', async () => {
    const { upstream, api, ask } = setUp(() => Promise.reject(new TypeError('fetch failed')));
    const token = await api.issueToken();
    await ask('restartEndpoint', 'a-key', { token });

    const second = await ask('restartEndpoint', 'a-key', { token });

    expect([second.status, typeOf(second.body), upstream.sent.length]).toEqual([409, 'outcome-unknown', 1]);
  });

  test('is another command a day later', async () => {
    const { upstream, api, ask, pass } = setUp();
    const token = await api.issueToken({ validForMs: 1e9 });
    await ask('restartEndpoint', 'a-key', { token });
    pass(24 * 3_600_000 + 1);

    const second = await ask('restartEndpoint', 'a-key', { token });

    expect([second.body, upstream.sent.length]).toEqual([{ place: 2 }, 2]);
  });

  test('of another caller is another command', async () => {
    const { upstream, api, ask } = setUp();
    await ask('restartEndpoint', 'a-key', { token: await api.issueToken({ client_id: 'one' }) });

    const second = await ask('restartEndpoint', 'a-key', {
      token: await api.issueToken({ client_id: 'two' }),
    });

    expect([second.body, upstream.sent.length]).toEqual([{ place: 2 }, 2]);
  });
});

describe('another request under the key', () => {
  test('is refused, whether its path or its body differs', async () => {
    const { upstream, api, ask } = setUp();
    const token = await api.issueToken();
    await ask('createEndpoint', 'a-key', { token });

    const body = { endpoint: { branch_id: 'br-another-1', type: 'read_write' } };
    const answers = [
      await ask('createEndpoint', 'a-key', { token, body }),
      await ask('restartEndpoint', 'a-key', { token }),
    ];

    expect(answers.map((answer) => [answer.status, typeOf(answer.body)])).toEqual([
      [422, 'key-reused'],
      [422, 'key-reused'],
    ]);
    expect(upstream.sent).toHaveLength(1);
  });
});

describe('a request that was refused without work', () => {
  test.each([400, 404, 422, 423, 429, 503])('after a %i is corrected under the same key', async (status) => {
    const { upstream, api, ask, pass } = setUp((place) =>
      Response.json({ place }, { status: place === 1 ? status : 200 }),
    );
    const token = await api.issueToken();
    await ask('createEndpoint', 'a-key', { token });
    pass(60_000);

    const body = { endpoint: { branch_id: 'br-another-1', type: 'read_write' } };
    const corrected = await ask('createEndpoint', 'a-key', { token, body });
    const repeated = await ask('createEndpoint', 'a-key', { token, body });
    const before = await ask('createEndpoint', 'a-key', { token });

    expect([corrected.status, repeated.body, before.status]).toEqual([200, { place: 2 }, 422]);
    expect(upstream.sent).toHaveLength(2);
  });
});

describe('an answer that is not declared to be secret', () => {
  test('is kept for a repetition, and a reader of the table cannot read it', async () => {
    const uri = 'postgres://role:a-role-password@host/db';
    const { api, ask } = setUp(() => Response.json({ connection_uri: uri, password: 'a-role-password' }));
    const token = await api.issueToken();
    await ask('startEndpoint', 'a-key', { token });

    const repeated = await ask('startEndpoint', 'a-key', { token });

    expect(repeated.body).toEqual({ connection_uri: uri, password: 'a-role-password' });
    const kept = api.memory.sync.items().map((item) => JSON.stringify(item));
    const opened = kept.map((item) => Buffer.from(item, 'base64url').toString('latin1'));
    for (const text of [...kept, ...opened])
      expect(text).not.toMatch(/postgres|a-role-password|connection_uri/);
  });

  test('is not shown when its item was changed', async () => {
    const { api, ask } = setUp();
    const token = await api.issueToken();
    await ask('startEndpoint', 'a-key', { token });
    const item = api.memory.sync.items().find(({ kind }) => kind === 'idempotency');
    if (item === undefined) throw new Error('Nothing is kept');
    await api.memory.update({ key: { pk: item.pk, sk: item.sk }, set: { body: 'AAAA'.repeat(20) } });

    const repeated = await ask('startEndpoint', 'a-key', { token });

    expect([repeated.status, typeOf(repeated.body)]).toEqual([409, 'secret-already-issued']);
  });
});

describe('an answer with a secret', () => {
  test.each(['createAuthIntegration', 'createAuthKeys', 'transferAuthOwnership'])(
    'of %s is given once and kept nowhere',
    async (id) => {
      const { upstream, api, ask } = setUp(() =>
        Response.json({ secret_server_key: 'ssk_canary', url: 'https://canary' }),
      );
      const token = await api.issueToken();
      const first = await ask(id, 'a-key', { token });

      const second = await ask(id, 'a-key', { token });

      expect(first.body.secret_server_key).toBe('ssk_canary');
      expect([second.status, typeOf(second.body), upstream.sent.length]).toEqual([
        409,
        'secret-already-issued',
        1,
      ]);
      expect(JSON.stringify(api.memory.sync.items())).not.toContain('canary');
    },
  );

  test('neither the key nor the request can be read in the table', async () => {
    const { api, ask } = setUp();

    await ask('updateEmailServer', 'a-telling-key', { token: await api.issueToken() });

    const table = JSON.stringify(api.memory.sync.items());
    expect(table).not.toContain('a-telling-key');
    expect(table).not.toContain('a-password');
    expect(table).toContain(PROJECT_ID);
  });
});

describe('under simulation', () => {
  test('no command is carried out twice, and none is left without an answer, in 1,000 hostile runs', {
    timeout: 120_000,
  }, async () => {
    for (let seed = 0; seed < 1_000; seed++) {
      const violations = await simulateIdempotency(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  });

  test.concurrent.for(mutants)(
    'the checker notices when $mistake ($name)',
    { timeout: 60_000 },
    async ({ name }, { expect: expectHere }) => {
      const env = { ...process.env, MUTANT: name, MUTANTS: 'test/commands/idempotency-mutants.ts' };
      const args = [
        '--import',
        './test/simulation/apply-mutant.ts',
        'test/commands/run-idempotency.ts',
        '0',
        '500',
      ];

      const { stdout } = await promisify(execFile)(process.execPath, args, { env });

      expectHere(JSON.parse(stdout)).not.toBeNull();
    },
  );
});
