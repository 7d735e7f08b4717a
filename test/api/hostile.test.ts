/**
 * Tests what must never reach the upstream from any caller. Every item is tried on every route that could take it.
 */

import { describe, expect, test } from 'vitest';
import { SCOPES } from '../../shared/callers/scopes.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';
import { createApiUnderTest } from './api-under-test.ts';
import { hastyClock } from './passing-clock.ts';
import { initOf, PROJECT_ID, sampleBodies, sampleOf } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const UPSTREAM = { upstreamBaseUrl: 'https://upstream.example/api/v2', upstreamKey: 'the-key' };

const routes = await createApiUnderTest(UPSTREAM).routes();
const all = routes.filter(({ group }) => group === 'Upstream API');
const withIds = all.filter(({ path }) => path.includes('{'));
const withBody = all.filter(({ body }) => body !== undefined);
/**
 * These calls of the specification have schemas that check what they declare. The upstream judges the bodies of the
 * others.
 */
const specified = all.filter(({ id }) => id in calls);
const withSchema = withBody.filter(({ id }) => id in calls);
const withoutBody = all.filter(({ body }) => body === undefined);

async function setUp() {
  const upstream = createUpstreamDouble();
  const api = createApiUnderTest({ ...UPSTREAM, fetch: upstream.fetch, clock: hastyClock(1_000) });
  const authorization = `Bearer ${await api.issueToken({ scopes: SCOPES, validForMs: 1e9 })}`;
  const limited = `Bearer ${await api.issueToken({ project_ids: [PROJECT_ID], validForMs: 1e9 })}`;
  const askAs = (credentials: string) => (path: string, init: RequestInit) =>
    api.app.request(path, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), authorization: credentials },
    });
  return { upstream, ask: askAs(authorization), askLimited: askAs(limited) };
}

const IDS = [
  '..',
  '.',
  '...',
  '%2e%2e',
  '%2e',
  '..%2f',
  '%2e%2e%2f',
  '..%5c',
  '%5c',
  '%2f',
  '%252e%252e',
  '%252f',
  '%00',
  'a%00b',
  'a%0d%0ab',
  'a%0ab',
  'a%20b',
  'a b',
  '%09',
  'a%3fb',
  'a%23b',
  'a;b',
  'a%3bb',
  'a@b',
  'a:b',
  '*',
  '**',
  '~',
  '$x',
  '{x}',
  '%7bx%7d',
  "'",
  '"',
  '%22',
  '<a>',
  '%3ca%3e',
  '|',
  '`id`',
  '$(id)',
  '%c0%ae%c0%ae',
  '%ff',
  '%e0%80%af',
  '%u002e',
  '％２ｅ',
  'é',
  '%E2%80%AE',
  '😀',
  '-',
  '_',
  '-a',
  'A'.repeat(300),
  'a'.repeat(5_000),
  'a.b',

  'a/',
  '//',
  '%2F%2Fevil.example',
  'http:%2F%2Fevil.example',
  'undefined',
  'null',
  'true',
  '[object Object]',
] as const;

/** These words are well-formed ids and go upstream, where nothing has such a name. */
const WELL_FORMED = /^(undefined|null|true|A{300})$/;

/**
 * People choose these names freely. They may have almost any character, which goes up encoded, in the same place of
 * the path.
 */
const FREE_NAMES: ReadonlySet<string> = new Set([
  'database_name',
  'role_name',
  'bucket_name',
  'object_key',
  'domain',
  'field_name',
]);

/**
 * Returns whether the upstream got the same path with the name as one segment, which no decoding turns into two or
 * into a step upwards.
 */
function isOneSegment(sentUrl: string | undefined, template: string): boolean {
  const [before = '', after = ''] = template.split('@@');
  const { pathname } = new URL(sentUrl ?? 'https://none.example');
  const segment = pathname.slice(before.length, pathname.length - after.length);
  const isInPlace = pathname.startsWith(before) && pathname.endsWith(after) && !segment.includes('/');
  return isInPlace && !/^\.{1,2}$|[\\%?#]|\p{Cc}|(^|\/)\.{0,2}(\/|$)/u.test(decodeURIComponent(segment));
}

function segmentsOf(path: string): number {
  return new URL(path, 'https://bridge.example').pathname.split('/').length;
}

describe('ids', () => {
  test.each(withIds.map((route) => ({ id: route.id, route })))(
    '$id: none of them becomes another path',
    async ({ route }) => {
      const { upstream, ask } = await setUp();
      const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');

      for (const name of names) {
        for (const hostile of IDS.filter((id) => !WELL_FORMED.test(id))) {
          const sample = sampleOf({ ...route, path: route.path.replace(`{${name}}`, '@@') });
          const path = sample.path.replace('@@', hostile);
          // A client resolves `.` and `..` by itself, so it sends a request for another path and is judged by that.
          if (segmentsOf(path) !== segmentsOf(sample.path)) continue;
          const response = await ask(path, initOf(sample));
          if (FREE_NAMES.has(name) && response.status === 200) {
            expect([hostile, isOneSegment(upstream.sent[0]?.url, sample.path)]).toEqual([hostile, true]);
            upstream.sent.length = 0;
          } else
            expect([hostile, [400, 404].includes(response.status), upstream.sent]).toEqual([
              hostile,
              true,
              [],
            ]);
        }
      }
    },
  );
});

describe('queries', () => {
  const QUERIES = [
    'a=b',
    'cursor=a&cursor=b',
    'limit=1&limit=2',
    'limit=1%26limit=2',
    'limit=-1',
    'limit=1e3',
    'limit=0x10',
    'limit=',
    'limit[]=1',
    'limit=1;cursor=x',
    '__proto__=1',
    'constructor=1',
    'project_id=other',
    'key=x',
    'access_token=x',
    'cursor=',
  ] as const;

  test.each(specified.map((route) => ({ id: route.id, route })))(
    '$id: none of them passes from a limited token',
    async ({ route }) => {
      const { upstream, askLimited } = await setUp();
      const sample = sampleOf(route);

      for (const query of QUERIES) {
        // A number in another notation is a number, and is sent in ours.
        if (route.query !== undefined && /^limit=(1e3|0x10)$/.test(query)) continue;
        // An empty cursor is none.
        if (route.query?.shape['cursor'] !== undefined && query === 'cursor=') continue;
        const response = await askLimited(`${sample.path}?${query}`, initOf(sample));
        expect([query, response.status, upstream.sent]).toEqual([query, 400, []]);
        expect(response.headers.get('content-type')).toBe('application/problem+json');
      }
    },
  );

  const NEVER_PASS = [
    '__proto__=1',
    'constructor=1',
    'prototype=1',
    '%00=1',
    'a%0d%0ab=1',
    `${'x'.repeat(200)}=1`,
  ];

  test.each(all.map((route) => ({ id: route.id, route })))(
    '$id: no token passes a name that no parameter has',
    async ({ route }) => {
      const { upstream, ask } = await setUp();
      const sample = sampleOf(route);

      for (const query of NEVER_PASS) {
        const response = await ask(
          `${sample.path}${sample.path.includes('?') ? '&' : '?'}${query}`,
          initOf(sample),
        );
        expect([query, response.status, upstream.sent]).toEqual([query, 400, []]);
      }
    },
  );

  test('a parameter that the bridge does not know goes up from a token without limits', async () => {
    const { upstream, ask } = await setUp();

    expect((await ask('/api/v2/projects?recoverable=true&newest=1', {})).status).toBe(200);
    expect(upstream.sent[0]?.url).toMatch(
      /\/projects\?(recoverable=true&newest=1|newest=1&recoverable=true)$/,
    );
  });

  test.each(['1e3', '0x10'])(
    'a limit of %s goes up as it was written, for the upstream to judge',
    async (limit) => {
      const { upstream, ask } = await setUp();

      await ask(`/api/v2/projects/${PROJECT_ID}/operations?limit=${limit}`, {});

      expect(upstream.sent[0]?.url).toContain(`?limit=${limit}`);
    },
  );
});

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

/** These bodies are wrong for every call. */
const BODIES: readonly (readonly [string, string])[] = [
  ['nothing at all where something is needed', ''],
  ['half an object', '{"project_id":'],
  ['a list', '[]'],
  ['a string', '"text"'],
  ['a number', '12'],
  ['null', 'null'],
  ['NaN', 'NaN'],
  ['two values', '{}{}'],
  ['single quotes', "{'a':1}"],
  ['a comment', '/* */{}'],
  ['HTML', '<html></html>'],
  ['XML', '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
  ['a prototype', '{"__proto__":{"isAdmin":true}}'],
  ['a constructor', '{"constructor":{"prototype":{"isAdmin":true}}}'],
  ['a nested prototype', '{"endpoint":{"settings":{"__proto__":{"a":1}}}}'],
  ['forty levels', nested(40)],
  ['ten thousand levels', nested(10_000)],
];

describe('bodies', () => {
  test.each(withBody.map((route) => ({ id: route.id, route })))(
    '$id: none of them passes',
    async ({ route }) => {
      const { upstream, ask } = await setUp();
      const { path, method } = sampleOf(route);

      for (const [name, body] of BODIES) {
        // A change may change nothing, and the upstream decides about that.
        const needsNothing = route.isBodyOptional || route.id === 'updateOauthProvider';
        if (name.startsWith('nothing') && needsNothing) continue;
        const response = await ask(path, { method, body, headers: { 'content-type': 'application/json' } });
        expect([name, response.status, upstream.sent]).toEqual([name, 400, []]);
      }
    },
  );

  const withinProjects = withBody.filter(({ reach }) => reach !== 'account');

  test.each(withinProjects.map((route) => ({ id: route.id, route })))(
    '$id: no field that it does not have passes from a limited token',
    async ({ route }) => {
      const { upstream, askLimited: ask } = await setUp();
      const { path, method } = sampleOf(route);

      for (const field of ['owned_by', 'org_id', 'isAdmin', 'x-key', 'toString', 'hasOwnProperty']) {
        const body = JSON.stringify({ ...sampleBodies[route.id], [field]: 'planted' });
        const response = await ask(path, { method, body, headers: { 'content-type': 'application/json' } });
        const problem = (await response.json()) as { errors?: { field: string }[] };
        expect([field, response.status, upstream.sent]).toEqual([field, 400, []]);
        expect(problem.errors?.map((each) => each.field)).toContain(`body.${field}`);
      }
    },
  );

  test('a field that the bridge does not know goes up from a token without limits', async () => {
    const { upstream, ask } = await setUp();
    const body = JSON.stringify({ delete_data: true, tomorrow: { a: [1] } });
    const headers = { 'content-type': 'application/json' };

    const path = `/api/v2/projects/${PROJECT_ID}/auth/integration/stack`;
    expect((await ask(path, { method: 'DELETE', body, headers })).status).toBe(200);

    expect(upstream.sent.map((sent) => sent.body)).toEqual([body]);
  });

  test('a form has only fields that the bridge knows, because it gives no types', async () => {
    const { upstream, ask } = await setUp();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const path = `/api/v2/projects/${PROJECT_ID}/auth/oauth_providers`;

    expect((await ask(path, { method: 'POST', body: 'id=google&tomorrow=1', headers })).status).toBe(400);
    expect((await ask(path, { method: 'POST', body: 'id=google&id=github', headers })).status).toBe(400);
    expect(upstream.sent).toEqual([]);
  });

  test.each(withSchema.map((route) => ({ id: route.id, route })))(
    '$id: no field passes with a value of another type',
    async ({ route }) => {
      const { upstream, askLimited: ask } = await setUp();
      const { path, method } = sampleOf(route);
      const sample = (sampleBodies[route.id] ?? {}) as Record<string, unknown>;

      for (const field of Object.keys(sample)) {
        for (const value of [null, 17.5, -1, true, [], {}, ['x'], { a: 1 }, '']) {
          const body = JSON.stringify({ ...sample, [field]: value });
          const response = await ask(path, { method, body, headers: { 'content-type': 'application/json' } });
          // The upstream decides about an empty change of a compute.
          const isChange = route.id === 'updateEndpoint' && JSON.stringify(value) === '{}';
          if (!isChange) expect([field, value, response.status]).toEqual([field, value, 400]);
          if (isChange) upstream.sent.length = 0;
        }
      }
      expect(upstream.sent).toEqual([]);
    },
  );

  test.each(withBody.map((route) => ({ id: route.id, route })))(
    '$id: no body larger than the bound of its route passes, whatever its header says',
    async ({ route }) => {
      const { upstream, ask } = await setUp();
      const { path, method } = sampleOf(route);
      const bytesMax = path.startsWith('/api/v2/') ? 256_000 : 64_000;
      const body = JSON.stringify({ ...sampleBodies[route.id], padding: 'x'.repeat(bytesMax) });

      for (const length of [undefined, '10', '0', 'x']) {
        const headers = {
          'content-type': 'application/json',
          ...(length !== undefined && { 'content-length': length }),
        };
        const response = await ask(path, { method, body, headers });
        expect([length, response.status, upstream.sent]).toEqual([length, 413, []]);
      }
    },
  );

  test.each([
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/json+x',
    'text/html',
    'application/octet-stream',
  ])('a body of type %s is not read', async (type) => {
    const { upstream, ask } = await setUp();

    for (const route of withBody) {
      const { path, method } = sampleOf(route);
      const body = JSON.stringify(sampleBodies[route.id] ?? {});
      const response = await ask(path, { method, body, headers: { 'content-type': type } });
      expect([route.id, response.status, upstream.sent]).toEqual([route.id, 415, []]);
    }
  });

  test('a call that takes no body is not given one', async () => {
    const { upstream, ask } = await setUp();

    for (const route of withoutBody.filter(({ method }) => method !== 'GET')) {
      const { path, method } = sampleOf(route);
      const response = await ask(path, {
        method,
        body: '{"a":1}',
        headers: { 'content-type': 'application/json' },
      });
      expect([route.id, response.status, upstream.sent]).toEqual([route.id, 400, []]);
    }
  });

  test('bytes that are no UTF-8 do not pass', async () => {
    const { upstream, ask } = await setUp();
    const { path, method } = sampleOf(withBody[0] ?? never());

    const response = await ask(path, {
      method,
      body: new Uint8Array([0x7b, 0xff, 0x7d]),
      headers: { 'content-type': 'application/json' },
    });

    expect([response.status, upstream.sent]).toEqual([400, []]);
  });

  test.each([
    `{"project_id":"another-project-1","auth_provider":"stack","project_id":"${PROJECT_ID}"}`,
    `{"project_id":"${PROJECT_ID}","auth_provider":"stack","more":[{"a":1,"\\u0061":2}]}`,
  ])('with a field twice are refused, because one of the two was not checked: %s', async (body) => {
    const { upstream, ask } = await setUp();
    const headers = { 'content-type': 'application/json' };
    const response = await ask('/api/v2/projects/auth/keys', { method: 'POST', body, headers });

    expect([response.status, upstream.sent]).toEqual([400, []]);
    expect(await response.text()).toContain('has a field twice in one object');
  });
});

describe('every value that a caller can put anywhere', () => {
  const VALUES = [
    ...IDS.filter((id) => id.length < 400).map((id) => {
      try {
        return decodeURIComponent(id);
      } catch {
        return id;
      }
    }),
    '-1',
    '1e309',
    'NaN',
    '9'.repeat(400),
    '0x',
    'true',
    '[]',
    '{}',
    'null',
    'e30',
    'eyJzdGFydCI6e319',
    'A'.repeat(900),
    '2026-01-15T12:00:00Z',
  ];
  const readable = routes.filter(({ method }) => method === 'GET');
  const inputs = readable.flatMap((route) => {
    const names = ['project_id', 'unknown', ...Object.keys(route.query?.shape ?? {})];
    return names.flatMap((name) => VALUES.map((value) => ({ route, name, value })));
  });

  test('is at least three hundred requests', () => {
    expect(inputs.length).toBeGreaterThan(300);
    expect(IDS.length * withIds.length).toBeGreaterThan(300);
  });

  test.each(readable.map((route) => ({ id: route.id, route })))(
    '$id: none of them is a failure of the bridge, in a query or in a header',
    async ({ route }) => {
      const { ask } = await setUp();
      const sample = sampleOf(route);

      for (const { name, value } of inputs.filter((input) => input.route === route)) {
        const query = new URLSearchParams({
          [name]: value,
          ...(name !== 'wait' && 'wait' in (route.query?.shape ?? {}) && { wait: '0' }),
        });
        const { status } = await ask(`${sample.path}?${query.toString()}`, initOf(sample));
        const isOwnHealth = route.id === 'getHealth' && status === 503;
        expect([name, value, status < 500 || isOwnHealth]).toEqual([name, value, true]);
      }
      for (const value of VALUES.filter((each) => /^[\x20-\x7e]*$/.test(each))) {
        const { status } = await ask(
          sample.path,
          initOf(sample, { prefer: value, 'idempotency-key': value }),
        );
        const isOwnHealth = route.id === 'getHealth' && status === 503;
        expect([value, status < 500 || isOwnHealth]).toEqual([value, true]);
      }
    },
  );
});

describe('headers', () => {
  const AUTHORIZATIONS = [
    '',
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    'Token x',
    'Bearer a b',
    'Bearer a, Bearer b',
    'Bearer\u00a0x',
    `Bearer ${'x'.repeat(9_000)}`,
    'Bearer opb_',
    'Bearer opb_00_00_00',
    'Bearer null',
    'Bearer undefined',
    'bearer: x',
  ];

  test.each(AUTHORIZATIONS)('"%s" identifies no caller', async (authorization) => {
    const upstream = createUpstreamDouble();
    const { app } = createApiUnderTest({ ...UPSTREAM, fetch: upstream.fetch });

    const response = await app.request('/api/v2/projects', { headers: { authorization } });

    expect([response.status, upstream.sent]).toEqual([401, []]);
  });

  test.each(['wait', 'wait=', 'wait=x', 'wait=-1', 'wait=1.5', 'wait=99999999', 'wait="'])(
    'a preference of "%s" is refused by name',
    async (prefer) => {
      const { upstream, ask } = await setUp();

      const response = await ask('/api/v2/projects', { headers: { prefer } });

      expect([response.status, upstream.sent]).toEqual([400, []]);
    },
  );

  test.each(['', 'a b', 'é', 'x'.repeat(256)])(
    'an Idempotency-Key of "%s" is refused by name',
    async (key) => {
      const { upstream, ask } = await setUp();
      const sample = sampleOf(withBody[0] ?? never());

      const response = await ask(sample.path, initOf(sample, { 'idempotency-key': key }));

      expect([response.status, upstream.sent]).toEqual([400, []]);
    },
  );
});

function never(): never {
  throw new Error('There is no such route');
}
