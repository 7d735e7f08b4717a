/** Tests who may call what: every route, every kind of caller, and every place where a project can be named. */

import { beforeAll, describe, expect, test } from 'vitest';
import { BRIDGE_ROUTE_IDS } from '../../functions/api/bridge/bridge-route-ids.ts';
import { createApp } from '../../functions/api/serving/app.ts';
import type { Route } from '../../functions/api/serving/route.ts';
import { SCOPES, type Scope } from '../../shared/callers/scopes.ts';
import { createTokenStore, tokenIdOf } from '../../shared/callers/tokens.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { type ApiUnderTest, createApiUnderTest } from './api-under-test.ts';
import {
  initOf,
  namesProject,
  OTHER_PROJECT_ID,
  PROJECT_ID,
  sampleBodies,
  sampleOf,
} from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const UPSTREAM = { upstreamBaseUrl: 'https://upstream.example/api/v2', upstreamKey: 'the-key' };

const routes = await createApiUnderTest(UPSTREAM).routes();
const guarded = routes.filter(({ access }) => access !== 'public');
const table = guarded.map((route) => ({ id: route.id, route }));

const scopeOf = ({ access }: Route): readonly Scope[] => SCOPES.filter((scope) => scope === access);

/** A kind of caller gets this for a request that is about one of its projects. */
type Kind = {
  readonly name: string;
  readonly status: number;
  readonly token: (api: ApiUnderTest, route: Route) => Promise<string | undefined>;
};

const withScope = (api: ApiUnderTest, route: Route) => api.issueToken({ scopes: scopeOf(route) });
const altered = (token: string) => token.replace(/.$/, (last) => (last === '0' ? '1' : '0'));

const strangers: readonly Kind[] = [
  { name: 'nobody', status: 401, token: async () => undefined },
  {
    name: 'a mistyped token',
    status: 401,
    token: async (api, route) => altered(await withScope(api, route)),
  },
  {
    name: 'a well-formed token that was never issued',
    status: 401,
    token: async () => createApiUnderTest(UPSTREAM).issueToken(),
  },
  {
    name: 'an expired token',
    status: 401,
    token: (api, route) => api.issueToken({ scopes: scopeOf(route), validForMs: -1 }),
  },
  {
    name: 'a revoked token',
    status: 401,
    async token(api, route) {
      const token = await withScope(api, route);
      await createTokenStore(api.memory, systemClock).revoke(tokenIdOf(token) ?? '');
      return token;
    },
  },
  { name: "the upstream's own key", status: 401, token: async () => UPSTREAM.upstreamKey },
];

async function ask(route: Route, token: string | undefined, api: ApiUnderTest, projectId = PROJECT_ID) {
  const sample = sampleOf(route, projectId);
  const response = await api.app.request(
    sample.path,
    initOf(sample, token === undefined ? {} : { authorization: `Bearer ${token}` }),
  );
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json().catch(() => ({}))) as Record<string, unknown>,
  };
}

function setUp() {
  const upstream = createUpstreamDouble();
  return { upstream, api: createApiUnderTest({ ...UPSTREAM, fetch: upstream.fetch }) };
}

const passesOn = ({ group }: Route) => group === 'Upstream API';

describe.each(table)('$id', ({ route }) => {
  test.each(strangers)('$name gets $status and nothing reaches the upstream', async ({ status, token }) => {
    const { upstream, api } = setUp();

    const answer = await ask(route, await token(api, route), api);

    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(upstream.sent).toEqual([]);
  });

  test('every scope but its own is not enough', async () => {
    const { upstream, api } = setUp();
    const needed = scopeOf(route);
    const token = await api.issueToken({ scopes: SCOPES.filter((scope) => !needed.includes(scope)) });

    const answer = await ask(route, token, api);

    if (needed.length === 0) expect(answer.status).not.toBe(403);
    else {
      expect(answer.status).toBe(403);
      expect(answer.body['detail']).toContain(needed[0]);
      expect(upstream.sent).toEqual([]);
    }
  });

  test.runIf(namesProject(route) && route.reach !== 'account')(
    'a project of another caller looks like one that does not exist',
    async () => {
      const { upstream, api } = setUp();
      const token = await api.issueToken({ scopes: scopeOf(route), project_ids: [PROJECT_ID] });

      const foreign = await ask(route, token, api, OTHER_PROJECT_ID);
      const unknown = await ask(route, token, api, 'no-such-project-00000001');

      expect(foreign.status).toBe(404);
      const withoutId = (body: Record<string, unknown>) => ({ ...body, request_id: '' });
      expect(withoutId(foreign.body)).toEqual(withoutId(unknown.body));
      expect(upstream.sent).toEqual([]);
    },
  );

  test.runIf(passesOn(route))('its own scope on its own project is enough', async () => {
    const { upstream, api } = setUp();
    const limits = route.reach === 'account' ? {} : { project_ids: [PROJECT_ID] };
    const token = await api.issueToken({ scopes: scopeOf(route), ...limits });

    const answer = await ask(route, token, api);

    expect(answer.status).toBe(200);
    expect(upstream.sent).toHaveLength(1);
  });

  test.runIf(passesOn(route))(
    'the upstream sees headers and a path that the bridge made, whatever the caller sent',
    async () => {
      const { upstream, api } = setUp();
      const sample = sampleOf(route);
      const planted = {
        cookie: 'a=b',
        host: 'evil.example',
        'x-forwarded-for': '10.0.0.1',
        'x-forwarded-host': 'evil.example',
        'x-http-method-override': 'DELETE',
        'x-api-key': 'planted',
        te: 'trailers',
        via: 'planted',
        'user-agent': 'planted',
        accept: 'text/html',
        range: 'bytes=0-1',
      };
      const authorization = `Bearer ${await api.issueToken()}`;

      await api.app.request(sample.path, initOf(sample, { ...planted, authorization }));

      const [sent] = upstream.sent;
      const names = [
        'accept',
        'authorization',
        ...(sample.body || (route.body && !route.isBodyOptional) ? ['content-type'] : []),
        'user-agent',
      ];
      expect([...(sent?.headers.keys() ?? [])].toSorted()).toEqual(names);
      expect(sent?.headers.get('authorization')).toBe(`Bearer ${UPSTREAM.upstreamKey}`);
      expect(sent?.headers.get('user-agent')).toBe('operations-bridge planted');
      expect(sent?.url).toBe(`https://upstream.example${sample.path}`);
      expect(sent?.method).toBe(route.method);
    },
  );
});

describe('the table of routes', () => {
  let api: ApiUnderTest;
  beforeAll(() => {
    api = createApiUnderTest(UPSTREAM);
  });

  test('has the 180 calls of the public API, each with a scope', () => {
    const passed = routes.filter(passesOn);
    expect(passed).toHaveLength(180);
    expect(passed.filter(({ access }) => access === 'public' || access === 'signed_in')).toEqual([]);
  });

  test('has a sample body for every route that takes one', () => {
    const needsBody = routes.filter(({ body, isBodyOptional }) => body !== undefined && !isBodyOptional);
    expect(needsBody.filter(({ id }) => sampleBodies[id] === undefined)).toEqual([]);
  });

  test('an API does not start with a route that does not say who may call it', () => {
    const [route] = routes;
    const open = { ...route, access: '' } as unknown as Route;

    expect(() => createApp({ ...api.serving, routes: [open] })).toThrow(/does not say who may call it/);
  });

  test('nor with a configured call whose id is that of a route of the bridge', () => {
    const taken = {
      id: 'freezeAccount',
      method: 'GET',
      path: '/x',
      summary: 'Any call',
      scope: 'projects:read',
    };

    expect(() => createApiUnderTest({ ...UPSTREAM, extraRoutes: [taken] })).toThrow(
      'Two routes have the id freezeAccount',
    );
  });

  test('knows the ids of the routes that it loads on demand', () => {
    const own = routes.filter((route) => !passesOn(route)).map(({ id }) => id);

    expect(own.toSorted()).toEqual(BRIDGE_ROUTE_IDS.toSorted());
  });

  test('nor with two routes of one path', () => {
    const [route] = routes;
    if (route === undefined) throw new Error('no route');

    expect(() => createApp({ ...api.serving, routes: [route, { ...route, id: 'another' }] })).toThrow(
      /Two routes/,
    );
  });

  test.each([
    ['GET', '/'],
    ['GET', '/api/v2'],
    ['GET', '/api/v2/'],
    ['GET', '/api/v2/users/you'],
    ['GET', '/api/v1/projects'],
    ['PUT', '/api/v2/projects'],
    ['POST', `/api/v2/projects/${PROJECT_ID}`],
    ['DELETE', '/api/v2/projects'],
    ['OPTIONS', '/api/v2/projects'],
    ['GET', '/api/v2/projects/'],
    ['GET', '/API/V2/projects'],
  ])('%s %s is not there', async (method, path) => {
    const { upstream, api: fresh } = setUp();
    const authorization = `Bearer ${await fresh.issueToken()}`;

    const response = await fresh.app.request(path, { method, headers: { authorization } });

    expect(response.status).toBe(404);
    expect(upstream.sent).toEqual([]);
  });
});
