/**
 * Tests the calls of the public API through the bridge: what passes as it is, what stays closed, and what a limited
 * token reaches.
 */

import { describe, expect, test } from 'vitest';
import type { Scope } from '../../shared/callers/scopes.ts';
import { tokenIdOf } from '../../shared/callers/tokens.ts';
import { projectKey, tokenKey } from '../../shared/store/keys.ts';
import { ACCOUNT_ID, type ApiOptions, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { hastyClock } from './passing-clock.ts';
import { OTHER_PROJECT_ID, PROJECT_ID, sampleOf } from './sample-requests.ts';
import { createUpstreamDouble, type Sent } from './upstream-double.ts';

const UPSTREAM = {
  upstreamBaseUrl: 'https://upstream.example/api/v2',
  upstreamKey: 'the-key-of-the-account',
};

interface Asked {
  readonly token?: TokenOptions;
  readonly method?: string;
  readonly body?: object;
}

function setUp(
  answer: (sent: Sent) => Response = () => Response.json({}),
  options: Partial<ApiOptions> = {},
) {
  const upstream = createUpstreamDouble(answer);
  const api = createApiUnderTest({ ...UPSTREAM, fetch: upstream.fetch, ...options });
  const ask = async (path: string, { token = {}, method = 'GET', body }: Asked = {}) => {
    const authorization = `Bearer ${await api.issueToken(token)}`;
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await api.app.request(`/api/v2${path}`, init);
    const text = await response.text();
    return { status: response.status, text, problem: typeIn(text), headers: response.headers };
  };
  return { upstream, api, ask };
}

function typeIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { type?: string }).type?.replace('urn:operations-bridge:problem:', '');
  } catch {
    return undefined;
  }
}

const limited = { project_ids: [PROJECT_ID] };
const branch = `/projects/${PROJECT_ID}/branches/br-dawn-scene-747675`;

describe('a call of the public API', () => {
  test('passes path, query and body as they are, and the answer byte by byte', async () => {
    const text = '{ "branch": {"id":"br-1",  "future": [1.50]} }';
    const { upstream, ask } = setUp(() => new Response(text, { status: 201 }));
    const body = { branch: { name: 'a' }, tomorrow: { more: [1] } };

    const answer = await ask(`/projects/${PROJECT_ID}/branches?shape=flat`, { method: 'POST', body });

    expect([answer.status, answer.text]).toEqual([201, text]);
    expect(upstream.sent.map((sent) => [sent.method, sent.url, sent.body])).toEqual([
      [
        'POST',
        `${UPSTREAM.upstreamBaseUrl}/projects/${PROJECT_ID}/branches?shape=flat`,
        JSON.stringify(body),
      ],
    ]);
  });

  test('keeps the words of its caller: spaces, escapes, and numbers that JavaScript does not keep', async () => {
    const { upstream, api } = setUp();
    const token = await api.issueToken();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const json = '{ "branch" : {"name":"\\u0061"}, "most":12345678901234567890, "more":1e400 }';
    const send = (more: object, body = json) =>
      api.app.request(`/api/v2/projects/${PROJECT_ID}/branches?limit=1e3`, {
        method: 'POST',
        headers: { ...headers, ...more },
        body,
      });

    expect((await send({})).status).toBe(200);
    api.memory.sync.update({ key: projectKey(ACCOUNT_ID, PROJECT_ID), set: { kind: 'project' } });
    expect((await send({ prefer: 'respond-async' })).status).toBe(202);
    const body = JSON.stringify(api.woken[0]);
    const attributes = { ApproximateReceiveCount: '1' };
    await api.invokeWorker({ Records: [{ messageId: 'm', receiptHandle: 'm', body, attributes }] });

    expect(upstream.sent.map((sent) => [new URL(sent.url).search, sent.body])).toEqual([
      ['?limit=1e3', json],
      ['?limit=1e3', json],
    ]);
  });

  test('is sent without a body when the caller sends none', async () => {
    const { upstream, ask } = setUp();

    await ask(`${branch}/set_as_default`, { method: 'POST' });

    expect(upstream.sent[0]).toMatchObject({ method: 'POST', body: '' });
    expect(upstream.sent[0]?.headers.has('content-type')).toBe(false);
  });

  test('passes a refusal of the upstream unchanged', async () => {
    const refusal = { code: 'BRANCH_HAS_CHILDREN', message: 'delete the children first', request_id: 'r' };
    const { ask } = setUp(() => Response.json(refusal, { status: 422 }));

    const answer = await ask(branch, { method: 'DELETE' });

    expect([answer.status, JSON.parse(answer.text)]).toEqual([422, refusal]);
    expect(answer.headers.get('content-type')).toBe('application/json');
  });

  test('takes names with dots: a domain, and a field of the logs', async () => {
    const { upstream, ask } = setUp();
    const paths = [`${branch}/custom-domains/docs.example.com`, `${branch}/logs/fields/http.status/values`];

    expect((await ask(paths[0] ?? '', { method: 'DELETE' })).status).toBe(200);
    expect((await ask(paths[1] ?? '')).status).toBe(200);
    expect(upstream.sent.map(({ url }) => url.split('/api/v2')[1])).toEqual(paths);
    expect((await ask(`${branch}/custom-domains/docs..example.com`, { method: 'DELETE' })).status).toBe(400);
  });

  test('finds the literal path before the path with an id, and takes PUT', async () => {
    const { upstream, ask } = setUp();

    await ask('/projects/shared');
    await ask(`/projects/${PROJECT_ID}/branches/count`);
    await ask(`${branch}/backup_schedule`, { method: 'PUT', body: { schedule: [] } });

    expect(upstream.sent.map(({ method, url }) => `${method} ${url.split('/api/v2')[1]}`)).toEqual([
      'GET /projects/shared',
      `GET /projects/${PROJECT_ID}/branches/count`,
      `PUT ${branch}/backup_schedule`,
    ]);
  });

  test('encodes a name that people choose, so that it stays one segment of the path', async () => {
    const { upstream, ask } = setUp();

    const { status } = await ask(`${branch}/roles/ada%40example.com%20x`);

    expect(status).toBe(200);
    expect(upstream.sent[0]?.url).toContain('/roles/ada%40example.com%20x');
    expect((await ask(`${branch}/roles/%2e%2e%2fdatabases`)).status).toBe(400);
  });
});

describe('a call that the bridge does not pass on', () => {
  test('is refused with words that say so, and with what to do', async () => {
    const { upstream, ask } = setUp();

    const { status, problem, text } = await ask('/projects/a-project-1/moons', { method: 'PUT' });

    expect([status, problem, upstream.sent]).toEqual([404, 'call-unknown', []]);
    expect(text).toMatch(/extra_routes/);
  });

  test('can be opened by an extra route, with PUT, too', async () => {
    const moons = {
      id: 'putMoons',
      method: 'PUT',
      path: '/projects/{project_id}/moons',
      scope: 'projects:write',
    };
    const { ask } = setUp(undefined, { extraRoutes: [{ ...moons, summary: 'Put moons', body: 'json' }] });

    expect((await ask('/projects/a-project-1/moons', { method: 'PUT', body: { a: 1 } })).status).toBe(200);
  });

  const keyCalls = [
    ['POST', '/api_keys', 'createApiKey'],
    ['DELETE', '/api_keys/12', 'revokeApiKey'],
    ['POST', '/organizations/org-a-1/api_keys', 'createOrganizationApiKey'],
    ['DELETE', '/organizations/org-a-1/api_keys/12', 'revokeOrganizationApiKey'],
  ] as const;

  test.each(keyCalls)('is %s %s until the configuration opens it by its name', async (method, path, id) => {
    const closed = setUp(undefined, { openCalls: [] });
    const open = setUp(undefined, { openCalls: [id] });

    const refused = await closed.ask(path, { method });

    expect([refused.status, refused.problem, closed.upstream.sent]).toEqual([403, 'call-closed', []]);
    expect(refused.text).toContain(`open_calls: ['${id}']`);
    expect((await open.ask(path, { method })).status).toBe(200);
  });
});

describe('a configuration of the first edition', () => {
  test('keeps its scope for a call that the table has now', async () => {
    const path = '/projects/{project_id}/branches';
    const old = { id: 'listBranches', method: 'GET', path, summary: 'List branches', scope: 'computes:read' };
    const { ask } = setUp(undefined, { extraRoutes: [old] });

    const status = async (scope: Scope) =>
      (await ask(`/projects/${PROJECT_ID}/branches`, { token: { scopes: [scope] } })).status;

    expect([await status('computes:read'), await status('branches:read')]).toEqual([200, 403]);
  });
});

describe('a token of the first edition', () => {
  async function firstEditionToken({ api }: ReturnType<typeof setUp>): Promise<string> {
    const token = await api.issueToken();
    await api.memory.update({ key: tokenKey(tokenIdOf(token) ?? ''), set: {}, remove: ['scopes_edition'] });
    return token;
  }

  test('still does what its scopes did, and gains no call that came later', async () => {
    const made = setUp();
    const headers = { authorization: `Bearer ${await firstEditionToken(made)}` };
    const statusOf = async (method: string, path: string) =>
      (await made.api.app.request(path, { method, headers })).status;

    expect(await statusOf('GET', '/api/v2/projects')).toBe(200);
    expect(await statusOf('POST', `/api/v2/projects/${PROJECT_ID}/endpoints/ep-a-1/restart`)).toBe(200);
    expect(await statusOf('GET', '/bridge/v1/projects')).toBe(200);
    const later = (await made.api.routes()).filter(({ isOfSecondEdition }) => isOfSecondEdition);
    expect(later.length).toBe(156);
    for (const [method, path] of [
      ['GET', `/api/v2/projects/${PROJECT_ID}`],
      ['DELETE', `/api/v2/projects/${PROJECT_ID}`],
      ['POST', `/api/v2/projects/${PROJECT_ID}/endpoints/ep-a-1/suspend`],
      ['POST', `/api/v2${branch}/auth/users`],
    ] as const)
      expect([path, await statusOf(method, path)]).toEqual([path, 403]);
  });

  test('keeps what an extra route gave it', async () => {
    const start = '/projects/{project_id}/endpoints/{endpoint_id}/start';
    const extra = {
      id: 'startEndpoint',
      method: 'POST',
      path: start,
      summary: 'Start a compute',
      scope: 'computes:restart',
    };
    const made = setUp(undefined, { extraRoutes: [extra] });
    const headers = { authorization: `Bearer ${await firstEditionToken(made)}` };

    const path = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-a-1/start`;
    expect((await made.api.app.request(path, { method: 'POST', headers })).status).toBe(200);
  });
});

describe('connection strings and passwords', () => {
  const uri = 'postgresql://ada:s3cr3t-pass@ep-a-1.example.com/neondb';
  const role = () => Response.json({ role: { name: 'ada', password: 's3cr3t-pass' }, uri }, { status: 201 });
  const create = { method: 'POST', body: { role: { name: 'ada' } } };

  test('are in the answer to a command only for a token with connection:read', async () => {
    const { ask } = setUp(role);

    const without = await ask(`${branch}/roles`, { ...create, token: { scopes: ['roles:write'] } });
    const withIt = await ask(`${branch}/roles`, {
      ...create,
      token: { scopes: ['roles:write', 'connection:read'] },
    });

    expect(without.status).toBe(201);
    expect(without.text).not.toContain('s3cr3t');
    expect(without.text).toContain('"ada"');
    expect(withIt.text).toContain('s3cr3t-pass');
  });

  test('are shown by the calls that exist for them, and each such read is audited', async () => {
    const { ask, api } = setUp(() => Response.json({ uri }));
    const token = { scopes: ['connection:read'] as const, client_id: 'reader' };

    const { text } = await ask(`/projects/${PROJECT_ID}/connection_uri?database_name=neondb&role_name=ada`, {
      token,
    });

    expect(text).toContain('s3cr3t-pass');
    const noted = api.logged.filter(({ event }) => event === 'access.noted');
    expect(noted).toMatchObject([{ call: 'getConnectionUri', client_id: 'reader' }]);
  });

  test('are not kept for a repetition under the same Idempotency-Key', async () => {
    const { api } = setUp(role);
    const authorization = `Bearer ${await api.issueToken()}`;
    const headers = { authorization, 'idempotency-key': 'k', 'content-type': 'application/json' };
    const send = () =>
      api.app.request(`/api/v2${branch}/roles`, { method: 'POST', headers, body: '{"role":{"name":"ada"}}' });

    const first = await (await send()).text();
    const repeated = await send();
    const text = await repeated.text();

    expect(first).toContain('s3cr3t-pass');
    expect(repeated.status).toBe(201);
    expect(repeated.headers.get('bridge-secrets-withheld')).not.toBeNull();
    expect(text).not.toContain('s3cr3t-pass');
  });
});

describe('a file', () => {
  const download = `${branch}/buckets/a-bucket/objects/a-key/download`;
  const token = { scopes: ['storage:read'] as const };

  test.each([
    [
      'bytes that are no text, and look like a password among them',
      [0x89, 0xff, ...Buffer.from('https://a:b@c ')],
    ],
    ['a list of values in quotes', [...Buffer.from('"id","name"\n"1","ada"\n')]],
    ['settings that begin like a list', [...Buffer.from('[core]\nname = a\n')]],
  ])('comes back byte by byte to a token without secrets:read: %s', async (_what, bytes) => {
    const { api } = setUp(() => new Response(new Uint8Array(bytes)));
    const headers = { authorization: `Bearer ${await api.issueToken(token)}` };

    const response = await api.app.request(`/api/v2${download}`, { headers });

    expect([response.status, [...new Uint8Array(await response.arrayBuffer())]]).toEqual([200, bytes]);
  });

  test('that the upstream refuses is answered without secrets', async () => {
    const { ask } = setUp(() => Response.json({ password: 's3cr3t-pass' }, { status: 404 }));

    const { status, text } = await ask(download, { token });

    expect([status, text]).toEqual([404, '{"password":""}']);
  });
});

describe('a token that is limited to projects', () => {
  test.each([
    ['GET', '/organizations/org-a-1'],
    ['GET', '/users/me'],
    ['GET', '/regions'],
    ['POST', '/projects'],
    ['POST', '/users/me/projects/transfer'],
    ['POST', `/projects/${PROJECT_ID}/transfer_requests`],
    ['GET', '/api_keys'],
  ])('does not reach %s %s', async (method, path) => {
    const { upstream, ask } = setUp();

    const { status, problem } = await ask(path, { method, token: limited });

    expect([status, problem, upstream.sent]).toEqual([403, 'account-wide', []]);
  });

  test('turns the pages of every list within its projects', async () => {
    const { ask, api } = setUp(undefined, { clock: hastyClock(1_000) });
    const lists = (await api.routes()).filter(
      ({ method, reach, query }) => method === 'GET' && reach === 'path_project' && query !== undefined,
    );

    expect(lists.length).toBeGreaterThan(40);
    for (const route of lists) {
      const { status, text } = await ask(
        `${sampleOf(route).path.replace('/api/v2', '')}?limit=10&cursor=abc`,
        { token: { ...limited, validForMs: 1e9 } },
      );
      expect([route.id, status, text]).toEqual([route.id, 200, '{}']);
    }
  });

  test('sees of shared projects only its own', async () => {
    const page = {
      projects: [{ id: OTHER_PROJECT_ID }, { id: PROJECT_ID }],
      pagination: { cursor: OTHER_PROJECT_ID },
    };
    const { ask } = setUp(() => Response.json(page));

    const { text } = await ask('/projects/shared', { token: limited });

    expect(JSON.parse(text)).toMatchObject({ projects: [{ id: PROJECT_ID }] });
    expect(text).not.toContain(OTHER_PROJECT_ID);
  });

  const consumption = '/consumption_history/v2/projects?from=a&to=b';

  test.each([
    ['', 403],
    [`&project_ids=${OTHER_PROJECT_ID}`, 404],
    [`&project_ids=${PROJECT_ID},${OTHER_PROJECT_ID}`, 404],
    [`&project_ids=${PROJECT_ID}&project_ids=${OTHER_PROJECT_ID}`, 404],
    [`&project_ids=${PROJECT_ID}&project_ids[]=${OTHER_PROJECT_ID}`, 404],
    [`&project_ids[]=${OTHER_PROJECT_ID}`, 404],
    [`&project_ids=${PROJECT_ID}&projectIds=${OTHER_PROJECT_ID}`, 400],
  ])('asks for the consumption of no other project: "%s" is a %i', async (rest, expected) => {
    const { upstream, ask } = setUp();

    const { status } = await ask(`${consumption}${rest}`, { token: limited });

    expect([status, upstream.sent]).toEqual([expected, []]);
  });

  test('gets the consumption of its own projects, and no row of another, even if the upstream sends one', async () => {
    const rows = [{ project_id: PROJECT_ID }, { project_id: OTHER_PROJECT_ID }];
    const { upstream, ask } = setUp(() => Response.json({ projects: rows }));

    const { text } = await ask(`${consumption}&project_ids=${PROJECT_ID}`, { token: limited });

    expect(JSON.parse(text)).toEqual({ projects: [{ project_id: PROJECT_ID }] });
    expect(new URL(upstream.sent[0]?.url ?? '').searchParams.getAll('project_ids')).toEqual([PROJECT_ID]);
  });

  test('gets the consumption of the branches of its own projects alone', async () => {
    const own = { project_id: PROJECT_ID, branch_id: 'br-1', periods: [] };
    const pages = [{ branches: [own, { ...own, project_id: OTHER_PROJECT_ID }, { id: PROJECT_ID }] }, {}];
    const { ask } = setUp(() => Response.json(pages.shift()));
    const path = `${consumption.replace('projects', 'branches')}&project_ids=${PROJECT_ID}`;

    expect((await ask(path, { token: limited })).text).toBe(JSON.stringify({ branches: [own] }));
    expect((await ask(path, { token: limited })).text).toBe('{"projects":[]}');
  });

  test('gets the rows of several projects from a parameter that stands there several times', async () => {
    const { upstream, ask } = setUp(() => Response.json({ projects: [] }));

    await ask(`${consumption}&project_ids=a-1&project_ids=b-2`);

    expect(new URL(upstream.sent[0]?.url ?? '').searchParams.getAll('project_ids')).toEqual(['a-1', 'b-2']);
  });
});
