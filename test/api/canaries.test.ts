/**
 * Sends secrets with names of their own through everything that can happen. None may turn up where it does not
 * belong.
 */

import { describe, expect, test } from 'vitest';
import { createTokenStore, tokenIdOf } from '../../shared/callers/tokens.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { type ApiUnderTest, createApiUnderTest, PEPPER, QUEUE_KEY } from './api-under-test.ts';
import { initOf, PROJECT_ID, sampleBodies, sampleOf } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const CANARY = 'canary-0123456789abcdef';
const UPSTREAM_KEY = 'upstream-key-canary-77';

interface Kind {
  readonly name: string;
  readonly route: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** The upstream answers this when all is well. Only the caller gets it. */
  readonly answer?: object;
  /** The token of the request is limited to these projects. */
  readonly projects?: readonly string[];
}

const withField = (route: string, fields: object): object => ({ ...sampleBodies[route], ...fields });

const KINDS: readonly Kind[] = [
  {
    name: 'a password of an e-mail server',
    route: 'updateEmailServer',
    body: withField('updateEmailServer', { password: CANARY }),
    answer: { password: CANARY },
  },
  {
    name: 'the user name at an e-mail server',
    route: 'updateEmailServer',
    body: withField('updateEmailServer', { username: CANARY }),
  },
  {
    name: 'a client secret of a new provider',
    route: 'addOauthProvider',
    body: withField('addOauthProvider', { client_secret: CANARY }),
    answer: { client_secret: CANARY },
  },
  {
    name: 'a client secret that replaces another',
    route: 'updateOauthProvider',
    body: { client_secret: CANARY },
  },
  {
    name: 'an SDK key of a new integration',
    route: 'createAuthIntegration',
    answer: { secret_server_key: CANARY },
  },
  { name: 'a new SDK key', route: 'createAuthKeys', answer: { secret_server_key: CANARY } },
  {
    name: 'a URL that gives an auth project away',
    route: 'transferAuthOwnership',
    answer: { url: `https://x.example/${CANARY}` },
  },
  {
    name: 'a password that is read',
    route: 'getEmailServer',
    answer: { type: 'standard', password: CANARY },
  },
  {
    name: 'a client secret that is read',
    route: 'listOauthProviders',
    answer: { providers: [{ client_secret: CANARY }] },
  },
  {
    name: 'an address of a person',
    route: 'createAuthUser',
    body: withField('createAuthUser', { email: `${CANARY}@example.com` }),
  },
  {
    name: 'a connection string that an extra route answers with',
    route: 'startEndpoint',
    answer: { connection_uri: `postgres://role:${CANARY}@host/db` },
  },
  {
    name: 'a password of a role that an extra route answers with',
    route: 'createBranch',
    answer: { roles: [{ name: 'a-role', password: CANARY }] },
  },
  {
    name: 'a secret in a field that nobody knows',
    route: 'createBranch',
    body: { anything: { at: ['all', CANARY] } },
    answer: { anything: CANARY },
  },
  { name: 'an Idempotency-Key', route: 'restartEndpoint', headers: { 'idempotency-key': CANARY } },
  {
    name: 'a cookie and other headers',
    route: 'restartEndpoint',
    headers: { cookie: CANARY, 'x-api-key': CANARY, 'user-agent': CANARY },
  },
];

interface Way {
  readonly name: string;
  readonly answer: (kind: Kind) => Response | Promise<Response>;
  readonly isTableAway?: true;
  readonly isBusAway?: true;
}

const operation = {
  id: 'a07f8772-1877-4da9-a939-3a3ae62d1d8d',
  project_id: 'bold-sound-12345678',
  action: 'start_compute',
  status: 'running',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
};

const success = ({ answer }: Kind) => Response.json({ ...answer, operations: [operation] });
const echo = (status: number) => () => Response.json({ code: '', message: `invalid: ${CANARY}` }, { status });

const WAYS: readonly Way[] = [
  { name: 'a success', answer: success },
  { name: 'a success while the table is away', answer: success, isTableAway: true },
  { name: 'a success while the bus is away', answer: success, isBusAway: true },
  ...[400, 401, 403, 404, 409, 423, 429, 500, 503].map((status) => ({
    name: `a ${status} that echoes it`,
    answer: echo(status),
  })),
  {
    name: 'a page of HTML that echoes it',
    answer: () =>
      new Response(`<h1>${CANARY}</h1>`, { status: 502, headers: { 'content-type': 'text/html' } }),
  },
  { name: 'a lost connection', answer: () => Promise.reject(new TypeError(`fetch failed for ${CANARY}`)) },
];

async function run(kind: Kind, way: Way) {
  const upstream = createUpstreamDouble(() => way.answer(kind));
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: UPSTREAM_KEY,
    fetch: upstream.fetch,
    ...(way.isTableAway && {
      wrapTable: (table) => ({
        ...table,
        update: (update) =>
          update.key.pk.startsWith('TOKEN#')
            ? table.update(update)
            : Promise.reject(new Error(`Away: ${JSON.stringify(update)}`)),
      }),
    }),
    ...(way.isBusAway && {
      wrapBus: () => ({ publish: (events) => Promise.reject(new Error(JSON.stringify(events))) }),
    }),
  });
  const token = await api.issueToken({ ...(kind.projects && { project_ids: kind.projects }) });
  const route = (await api.routes()).find(({ id }) => id === kind.route);
  if (route === undefined) throw new Error(`There is no route ${kind.route}`);
  const sample = sampleOf(route);
  const headers = {
    authorization: `Bearer ${token}`,
    prefer: 'wait=0',
    ...(route.method !== 'GET' && { 'idempotency-key': 'a-key' }),
    ...kind.headers,
  };
  const response = await api.app.request(
    sample.path,
    initOf(kind.body === undefined ? sample : { ...sample, body: kind.body }, headers),
  );
  return { api, token, response, text: await response.text() };
}

/** Returns everything that outlives the request, and what the bridge itself said in answer to it. */
function sinksOf(
  api: ApiUnderTest,
  { response, text }: { response: Response; text: string },
): Readonly<Record<string, string>> {
  const isOwnAnswer = response.headers.get('content-type') === 'application/problem+json';
  return {
    log: JSON.stringify(api.logged),
    events: JSON.stringify(api.published),
    table: JSON.stringify(api.memory.sync.items()),
    headers: JSON.stringify([...response.headers]),
    problem: isOwnAnswer ? text : '',
  };
}

describe.each(KINDS)('$name', (kind) => {
  test.each(WAYS)('through $name', async (way) => {
    const { api, token, response, text } = await run(kind, way);

    for (const [sink, content] of Object.entries(sinksOf(api, { response, text }))) {
      const found = [CANARY, UPSTREAM_KEY, token, PEPPER, QUEUE_KEY].filter((secret) =>
        content.includes(secret),
      );
      expect({ sink, found }).toEqual({ sink, found: [] });
    }
  });
});

describe('what the caller gets', () => {
  test.each(KINDS.filter(({ answer }) => answer !== undefined))(
    '$name reaches the one who asked for it',
    async (kind) => {
      expect((await run(kind, { name: 'a success', answer: success })).text).toContain(CANARY);
    },
  );

  test.each([
    ['a field that does not exist', { password_again: CANARY }],
    ['a value of another type', { port: CANARY }],
    ['a value that is not allowed', { type: CANARY }],
    ['a name that is a secret', { [CANARY.repeat(5)]: 1 }],
  ])('a problem with %s does not repeat it', async (_name, fields) => {
    const body = withField('updateEmailServer', fields);
    // The bridge names unknown fields only to a token that is limited to projects; others may send them.
    const kind: Kind = { name: '', route: 'updateEmailServer', body, projects: [PROJECT_ID] };

    const { response, text } = await run(kind, { name: 'a success', answer: success });

    expect([response.status, text.includes(CANARY)]).toEqual([400, false]);
  });

  test('a path that is a secret is not repeated, and does not enter the audit', async () => {
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: UPSTREAM_KEY,
    });
    const authorization = `Bearer ${await api.issueToken()}`;

    const response = await api.app.request(`/api/v2/projects/${CANARY}%40x/endpoints/ep-a/restart`, {
      method: 'POST',
      headers: { authorization },
    });

    expect(response.status).toBe(400);
    expect(await response.text()).not.toContain(CANARY);
    expect(JSON.stringify(api.memory.sync.items())).not.toContain(CANARY);
  });
});

test('a dump of the table has no token, not even of a revoked one', async () => {
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: UPSTREAM_KEY,
  });
  const token = await api.issueToken();
  await createTokenStore(api.memory, systemClock).revoke(tokenIdOf(token) ?? '');

  const [, , secret = 'no secret'] = token.split('_');
  expect(JSON.stringify(api.memory.sync.items())).not.toContain(secret);
});
