/** Tests what a caller that is limited to projects can neither send nor learn. */

import { describe, expect, test } from 'vitest';
import { createApp } from '../../functions/api/serving/app.ts';
import type { Item } from '../../shared/store/table.ts';
import { createApiUnderTest } from './api-under-test.ts';
import { hastyClock } from './passing-clock.ts';
import { initOf, OTHER_PROJECT_ID, PROJECT_ID, sampleBodies, sampleOf } from './sample-requests.ts';
import { createUpstreamDouble, type Sent } from './upstream-double.ts';

const UPSTREAM = {
  upstreamBaseUrl: 'https://upstream.example/api/v2',
  upstreamKey: 'the-key-of-the-account',
};

const createBranch = {
  id: 'createBranch',
  method: 'POST',
  path: '/projects/{project_id}/branches',
  summary: 'Create a branch',
  scope: 'computes:write',
  stays_within_project: true,
  body: 'json',
  body_fields: ['branch.name', 'branch.parent_id', 'endpoints.type'],
};

const openCall = {
  id: 'listBackups',
  method: 'GET',
  path: '/projects/{project_id}/backups',
  summary: 'List backups',
  scope: 'projects:read',
  query: ['project_id'],
};

async function setUp(answer: (sent: Sent) => Response = () => Response.json({})) {
  const upstream = createUpstreamDouble(answer);
  const api = createApiUnderTest({
    ...UPSTREAM,
    fetch: upstream.fetch,
    clock: hastyClock(1_000),
    extraRoutes: [createBranch, openCall],
  });
  const limited = `Bearer ${await api.issueToken({ project_ids: [PROJECT_ID] })}`;
  const unlimited = `Bearer ${await api.issueToken()}`;
  const ask = async (authorization: string, path: string, init: RequestInit = {}) => {
    const type = { 'content-type': 'application/json' };
    const headers = { ...(init.body && type), ...(init.headers as Record<string, string>), authorization };
    const response = await api.app.request(path, { ...init, headers });
    const text = await response.text();
    return { status: response.status, text, headers: response.headers };
  };
  return { api, upstream, limited, unlimited, ask };
}

/** A filter by a list of known spellings would let some of these names for another caller's project pass. */
const NAMES = [
  'project_id',
  'Project_ID',
  'projectId',
  'PROJECT_ID',
  'project',
  'project-id',
  'projectid',
  'source_project_id',
  'target_project_id',
  'parent_project_id',
  'project_ids',
  'projects',
  'src',
  'from',
  'x',
];

const SHAPES: readonly ((name: string) => object)[] = [
  (name) => ({ [name]: OTHER_PROJECT_ID }),
  (name) => ({ [name]: [OTHER_PROJECT_ID] }),
  (name) => ({ [name]: { id: OTHER_PROJECT_ID } }),
  (name) => ({ branch: { [name]: OTHER_PROJECT_ID } }),
  (name) => ({ endpoints: [{ [name]: OTHER_PROJECT_ID }] }),
  (name) => ({ branch: { name: { [name]: OTHER_PROJECT_ID } } }),
  (name) => ({ branch: [{ [name]: OTHER_PROJECT_ID }] }),
];

describe('a body', () => {
  test.each(NAMES)(
    'with %s, wherever it stands, does not reach the upstream from a limited token',
    async (name) => {
      const { upstream, limited, ask } = await setUp();

      for (const shape of SHAPES) {
        const body = JSON.stringify(shape(name));
        const { status } = await ask(limited, `/api/v2/projects/${PROJECT_ID}/branches`, {
          method: 'POST',
          body,
        });
        expect([body, [400, 404].includes(status), upstream.sent]).toEqual([body, true, []]);
      }
    },
  );

  test.each(['updateEndpoint', 'createEndpoint'])('of %s has no undeclared settings', async (id) => {
    const { api, upstream, limited, ask } = await setUp();
    const route = (await api.routes()).find((each) => each.id === id);
    if (route === undefined) throw new Error(`There is no route ${id}`);
    const sample = sampleOf(route);
    const { endpoint } = sampleBodies[id] as { endpoint: object };

    for (const settings of [
      { source_project: OTHER_PROJECT_ID },
      { pg_settings: { a: { project: OTHER_PROJECT_ID } } },
      { preload_libraries: { project: OTHER_PROJECT_ID } },
      { preload_libraries: { enabled_libraries: [{ project: OTHER_PROJECT_ID }] } },
    ]) {
      const asked = initOf({ ...sample, body: { endpoint: { ...endpoint, settings } } });
      expect((await ask(limited, sample.path, asked)).status).toBe(400);
    }
    expect(upstream.sent).toEqual([]);

    const settings = {
      pg_settings: { work_mem: '64MB' },
      preload_libraries: { use_defaults: true, enabled_libraries: ['pg_cron'] },
    };
    const declared = { endpoint: { ...endpoint, settings } };
    expect((await ask(limited, sample.path, initOf({ ...sample, body: declared }))).status).toBe(200);
  });

  test('with declared fields alone passes, and with any field from a token without limits', async () => {
    const { upstream, limited, unlimited, ask } = await setUp();
    const declared = JSON.stringify({
      branch: { name: 'a', parent_id: 'br-1' },
      endpoints: { type: 'read_only' },
    });
    const anything = JSON.stringify({ something: { new: [1] } });
    const path = `/api/v2/projects/${PROJECT_ID}/branches`;

    expect((await ask(limited, path, { method: 'POST', body: declared })).status).toBe(200);
    expect((await ask(unlimited, path, { method: 'POST', body: anything })).status).toBe(200);
    expect(upstream.sent.map(({ body }) => body)).toEqual([declared, anything]);
  });
});

describe('a call that was not declared to stay within a project', () => {
  test('is closed to a limited token, with words that say so', async () => {
    const { upstream, limited, ask } = await setUp();

    const { status, text } = await ask(
      limited,
      `/api/v2/projects/${PROJECT_ID}/backups?project_id=${OTHER_PROJECT_ID}`,
    );

    expect([status, upstream.sent]).toEqual([403, []]);
    expect(JSON.parse(text)).toMatchObject({ type: 'urn:operations-bridge:problem:account-wide' });
  });

  test('is open to a token without limits', async () => {
    const { unlimited, ask } = await setUp();

    expect((await ask(unlimited, `/api/v2/projects/${PROJECT_ID}/backups`)).status).toBe(200);
  });
});

describe('the list of projects', () => {
  const page = () =>
    Response.json({
      projects: [{ id: OTHER_PROJECT_ID }, { id: PROJECT_ID }, { id: 'quiet-sea-11111111' }],
      unavailable_project_ids: [OTHER_PROJECT_ID],
      applications: { [OTHER_PROJECT_ID]: ['vercel'] },
      pagination: { cursor: 'quiet-sea-11111111' },
    });
  const cursorIn = (text: string) =>
    (JSON.parse(text) as { pagination: { cursor: string } }).pagination.cursor;

  test('names no other project to a limited token, in no field and in no cursor', async () => {
    const { limited, ask } = await setUp(page);

    const { text } = await ask(limited, '/api/v2/projects');

    for (const shown of [text, Buffer.from(cursorIn(text), 'base64url').toString('latin1')])
      expect(shown).not.toMatch(/calm-tree|quiet-sea/);
    expect(text).toContain(PROJECT_ID);
  });

  test('goes on from its sealed cursor where the upstream ended', async () => {
    const { upstream, limited, ask } = await setUp(page);
    const first = await ask(limited, '/api/v2/projects');

    await ask(limited, `/api/v2/projects?cursor=${cursorIn(first.text)}`);

    expect(upstream.sent[1]?.url).toBe('https://upstream.example/api/v2/projects?cursor=quiet-sea-11111111');
  });

  test.each([PROJECT_ID, OTHER_PROJECT_ID, 'x', 'A'.repeat(200)])(
    'is asked for by a limited token with the cursor %s in vain',
    async (cursor) => {
      const { upstream, limited, ask } = await setUp(page);

      expect([(await ask(limited, `/api/v2/projects?cursor=${cursor}`)).status, upstream.sent]).toEqual([
        400,
        [],
      ]);
    },
  );

  test.each(['/api/v2/projects?search=shop', '/api/v2/projects/shared?limit=1&search[]=shop'])(
    'is searched by no limited token, which a cursor would tell that a project of others has such a name: %s',
    async (path) => {
      const { upstream, limited, unlimited, ask } = await setUp(page);

      const { status, text } = await ask(limited, path);

      expect([status, upstream.sent]).toEqual([400, []]);
      expect(text).toContain('search');
      expect((await ask(unlimited, path)).status).toBe(200);
    },
  );

  test('is passed byte by byte, cursor included, to a token without limits', async () => {
    const { upstream, unlimited, ask } = await setUp(page);

    const { text } = await ask(unlimited, '/api/v2/projects?cursor=calm-tree-87654321');

    expect(text).toBe(await page().text());
    expect(upstream.sent[0]?.url).toContain('cursor=calm-tree-87654321');
  });

  test.each(['[]', '"x"', 'not JSON', ''])('that is %j is shown to no limited token', async (body) => {
    const { limited, ask } = await setUp(() => new Response(body));

    expect((await ask(limited, '/api/v2/projects')).status).toBe(502);
  });
});

describe("a cursor of the bridge's own lists", () => {
  const record = (id: string): Item => ({
    pk: `A#main#P#${id}`,
    sk: 'PROJECT',
    kind: 'project',
    account_id: 'main',
    project_id: id,
    is_visible: true,
    list: 'PROJECTS#main',
    list_order: id,
    revision: 0,
    published: 0,
    entries: [],
  });
  const lists = ['/bridge/v1/projects?', '/bridge/v1/events?', '/bridge/v1/events/recent?'];
  const madeUp = [
    { pk: 'A#main', sk: 'ACCOUNT', list: 'PROJECTS#main', list_order: 'x' },
    { list: 'PROJECTS#main', list_order: 'x' },
    { since: '', floor: '', advanced_at_ms: 0, told: [] },
    { start: { account_id: 'main', changed_at: 'x', pk: 'x', sk: 'y' } },
  ].map((cursor) => Buffer.from(JSON.stringify(cursor)).toString('base64url'));

  test.each(lists)('%s made up in any form is a 400 and never a 500', async (path) => {
    const { limited, ask } = await setUp();

    for (const cursor of ['x', '%00', 'eyJ', 'A'.repeat(5_000), ...madeUp])
      expect([cursor, (await ask(limited, `${path}cursor=${cursor}`)).status]).toEqual([cursor, 400]);
  });

  test('shows a limited token no project of others, and does not open for another client', async () => {
    const { api, limited, ask } = await setUp();
    for (const id of [OTHER_PROJECT_ID, PROJECT_ID, 'quiet-sea-11111111']) {
      const { pk, sk, ...set } = record(id);
      await api.memory.update({ key: { pk, sk }, set });
    }

    const { text } = await ask(limited, '/bridge/v1/projects?limit=1');
    const { cursor } = JSON.parse(text) as { cursor: string };
    const other = `Bearer ${await api.issueToken({ client_id: 'another', project_ids: [PROJECT_ID] })}`;

    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toMatch(/calm-tree|PROJECTS/);
    expect((await ask(limited, `/bridge/v1/projects?limit=1&cursor=${cursor}`)).status).toBe(200);
    expect((await ask(other, `/bridge/v1/projects?limit=1&cursor=${cursor}`)).status).toBe(400);
  });
});

describe('a heading of the documentation', () => {
  test('decides neither who may call a route nor what a request of it costs', async () => {
    const upstream = createUpstreamDouble();
    const accountSettings = { caller_requests_per_minute: 2, requests_per_minute: 10 };
    const extraRoutes = [{ ...openCall, path: '/backups', query: [] }];
    const api = createApiUnderTest({ ...UPSTREAM, fetch: upstream.fetch, accountSettings, extraRoutes });
    const routes = (await api.routes()).map((route) => ({ ...route, group: 'Documentation' as const }));
    const app = createApp({ ...api.serving, routes });
    const ask = async (token: string, path: string) => {
      const headers = { authorization: `Bearer ${token}`, prefer: 'wait=0' };
      return (await app.request(`/api/v2${path}`, { headers })).status;
    };
    const [limited, unlimited] = [
      await api.issueToken({ project_ids: [PROJECT_ID] }),
      await api.issueToken({ client_id: 'another' }),
    ];

    const accountWide = routes.find(({ reach, method }) => reach === 'account' && method === 'GET');
    expect(await ask(limited, (accountWide?.path ?? '').replace('/api/v2', ''))).toBe(403);
    const many = Array.from({ length: 60 }, () => ask(unlimited, `/projects/${PROJECT_ID}/operations`));
    expect(await Promise.all(many)).toContain(429);
    expect(upstream.sent.length).toBeLessThan(60);
  });
});
