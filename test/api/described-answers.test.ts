/**
 * Tests whether the OpenAPI document describes what is really answered. Thousands of requests, at random from a seed,
 * go to every route with the simulated service behind the API, and each answer is held against the document.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import type { OpenApiDocument } from '../../functions/api/documentation/openapi.ts';
import type { Route } from '../../functions/api/serving/route.ts';
import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import { type Random, seededRandom } from '../../shared/runtime/random.ts';
import { createApiUnderTest } from './api-under-test.ts';
import { createAnswerCheck } from './described-answers/check-answer.ts';
import { type KnownIds, oneOf, randomRequest } from './described-answers/random-requests.ts';
import { hastyClock } from './passing-clock.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const SEED = 20;
const REQUESTS_PER_ROUTE = 32;

async function setUp() {
  const upstream = await startUpstream({
    seed: SEED,
    projectCount: 4,
    trouble: 0.05,
    apiKeys: ['key'],
    clock: hastyClock(500),
    dials: { rateLimited: 0.02, unavailable: 0.02, internalError: 0.02, droppedConnection: 0.01 },
  });
  const api = createApiUnderTest({
    upstreamBaseUrl: upstream.baseUrl,
    upstreamKey: 'key',
    clock: hastyClock(500),
    accountSettings: { caller_requests_per_minute: 600 },
    openCalls: ['createApiKey'],
  });
  const document = (await (await api.app.request('/bridge/v1/openapi.json')).json()) as OpenApiDocument;
  return { upstream, api, document, known: await idsOf(upstream.baseUrl) };
}

/** Reads the ids of the simulated world by project, through its own API. */
async function idsOf(baseUrl: string): Promise<readonly KnownIds[]> {
  const read = async (path: string, list: string) => {
    const response = await fetch(`${baseUrl}${path}`, { headers: { authorization: 'Bearer key' } });
    const rows = ((await response.json()) as Record<string, { id: string }[] | undefined>)[list] ?? [];
    return rows.map(({ id }) => id);
  };
  let projects: readonly string[] = [];
  for (let attempt = 0; projects.length === 0 && attempt < 20; attempt++)
    projects = await read('/projects', 'projects').catch(() => []);
  const idsIn = async (id: string): Promise<KnownIds> => ({
    project_id: [id],
    branch_id: await read(`/projects/${id}/branches`, 'branches').catch(() => []),
    endpoint_id: await read(`/projects/${id}/endpoints`, 'endpoints').catch(() => []),
    operation_id: (await read(`/projects/${id}/operations`, 'operations').catch(() => [])).slice(0, 20),
    auth_provider: ['stack'],
    oauth_provider_id: ['google', 'github'],
    database_name: ['neondb', 'neondb'],
    role_name: ['app_owner', 'neondb_owner'],
  });
  return Promise.all(projects.map(idsIn));
}

type SetUp = Awaited<ReturnType<typeof setUp>>;

/**
 * Makes callers: most may do everything, some are limited to projects or lack scopes, and some have no valid token.
 */
async function callers({ api, known }: SetUp): Promise<readonly (string | undefined)[]> {
  const all = await api.issueToken({ validForMs: 5e9, client_id: 'all' });
  const own = known.slice(0, 2).flatMap((ids) => ids['project_id'] ?? []);
  const limits = { project_ids: own, validForMs: 5e9, client_id: 'limited' };
  const limited = await api.issueToken(limits);
  const narrow = await api.issueToken({ scopes: ['projects:read'], validForMs: 5e9, client_id: 'narrow' });
  const many = Array.from({ length: 14 }, () => all);
  return [...many, limited, limited, limited, narrow, undefined, 'opb_x'];
}

async function ask(made: SetUp, route: Route, token: string | undefined, random: Random) {
  const { url, method, headers, body } = randomRequest(route, oneOf(made.known, random), random);
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const init = { method, headers: { ...headers, ...authorization }, ...(body !== undefined && { body }) };
  const response = await made.api.app.request(url, init);
  const contentType = response.headers.get('content-type') ?? undefined;
  return { url, status: response.status, contentType, text: await response.text() };
}

/** Lets the commands of the account go on. */
async function liftFreeze({ api }: SetUp, token: string | undefined): Promise<void> {
  await api.app.request('/bridge/v1/freeze', {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}` },
  });
}

/**
 * Returns whether the request is one to this route. A path with junk in it can be the path of another route, or of
 * none.
 */
function isTo(route: Route, url: string, routes: readonly Route[]): boolean {
  const segments = new URL(url, 'https://bridge.example').pathname.split('/');
  const fits = ({ method, path }: Route) => {
    const parts = path.split('/');
    const isSame = (part: string, place: number) =>
      part === segments[place] || (part.startsWith('{') && segments[place] !== '');
    return method === route.method && parts.length === segments.length && parts.every(isSame);
  };
  const literalCount = ({ path }: Route) => path.split('/').filter((part) => !part.startsWith('{')).length;
  const best = routes.filter(fits).toSorted((a, b) => literalCount(b) - literalCount(a))[0];
  return best === route;
}

/** With these problems of 500 and more the bridge says that the upstream has failed, or what somebody has switched off. */
const EXPECTED_PROBLEMS = /"urn:operations-bridge:problem:(upstream-unavailable|upstream-timeout|frozen)"/;

/** Returns the failure of the bridge itself, and undefined when it has not failed. */
function ownFailureIn({ status, contentType, text }: Awaited<ReturnType<typeof ask>>): string | undefined {
  const isOwn = status >= 500 && contentType === 'application/problem+json';
  return isOwn && !EXPECTED_PROBLEMS.test(text) ? text : undefined;
}

describe('the answers to random requests', () => {
  let made: SetUp;
  beforeAll(async () => {
    made = await setUp();
    return () => made.upstream.close();
  });

  test('are described, every one of at least 5,000', { timeout: 900_000 }, async () => {
    const check = createAnswerCheck(made.document);
    const random = seededRandom(SEED);
    const tokens = await callers(made);
    const outside: string[] = [];
    const statuses = new Map<string, number>();
    let count = 0;
    const routes = await made.api.routes();
    for (let round = 0; round < REQUESTS_PER_ROUTE; round++) {
      for (const route of routes) {
        const answer = await ask(made, route, oneOf(tokens, random), random);
        // Half of the freezes are lifted at once, because a frozen account answers no other command.
        if (route.id === 'freezeAccount' && random.next() < 0.5) await liftFreeze(made, tokens[0]);
        if (!isTo(route, answer.url, routes)) continue;
        count += 1;
        const kind = `${answer.status} ${answer.contentType?.split(';')[0] ?? 'empty'}`;
        statuses.set(kind, (statuses.get(kind) ?? 0) + 1);
        const fault = check(route.method, route.path, answer);
        if (fault !== undefined) outside.push(`${route.id} ${answer.url.slice(0, 120)}: ${fault}`);
        const failure = ownFailureIn(answer);
        if (failure !== undefined) outside.push(`${route.id} ${answer.url.slice(0, 120)}: ${failure}`);
      }
    }

    if (process.env['SHOW_ANSWERS']) console.log(count, statuses);
    expect(outside).toEqual([]);
    expect(count).toBeGreaterThanOrEqual(5_000);
    // The requests must reach every kind of answer, because otherwise the test shows less than it says.
    for (const kind of ['200 application/json', '400 application/problem+json', '404 application/json'])
      expect(statuses.get(kind), kind).toBeGreaterThan(100);
    for (const kind of ['201 application/json', '204 empty', '423 application/json', '503 application/json'])
      expect(statuses.get(kind), kind).toBeGreaterThan(0);
    expect([...statuses.keys()].filter((kind) => kind.endsWith('problem+json')).length).toBeGreaterThan(7);
  });
});

describe('an answer that is not described', () => {
  const anOperation = (responses: object) => ({ paths: { '/a': { get: { responses } } }, components: {} });
  const content = { 'application/json': { schema: { type: 'object', required: ['id'] } } };
  const check = createAnswerCheck(
    anOperation({ 200: { content }, default: {} }) as unknown as OpenApiDocument,
  );
  const json = { contentType: 'application/json' };

  test.each([
    ['another status', { ...json, status: 404, text: '{"id":1}' }],
    ['another media type', { status: 200, contentType: 'text/plain', text: '{"id":1}' }],
    ['another form', { ...json, status: 200, text: '{}' }],
    ['no body', { ...json, status: 200, text: '' }],
    ['no JSON', { ...json, status: 200, text: '<html>' }],
  ])('is found by %s', (_what, answer) => {
    expect(check('GET', '/a', answer)).toBeTypeOf('string');
    expect(check('GET', '/a', { ...json, status: 200, text: '{"id":1}' })).toBeUndefined();
  });
});

test('a document that lacks what a route answers is found out', async () => {
  const upstream = createUpstreamDouble(() => Response.json({ message: 'locked' }, { status: 423 }));
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: upstream.fetch,
  });
  const document = (await (await api.app.request('/bridge/v1/openapi.json')).json()) as OpenApiDocument;
  const path = '/api/v2/projects/{project_id}/endpoints/{endpoint_id}/restart';
  const answer = { status: 423, contentType: 'application/json', text: '{"message":"locked"}' };

  expect(createAnswerCheck(document)('POST', path, answer)).toBeUndefined();
  const responses: Record<string, unknown> = document.paths[path]?.['post']?.responses ?? {};
  delete responses['423'];
  expect(createAnswerCheck(document)('POST', path, answer)).toBe('the status 423 is not described');
});
