/**
 * Tests access tokens of an OIDC issuer, against a real one on the loopback interface: which are accepted, and forty
 * that are not.
 */

import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { exportJWK, exportSPKI, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCOUNT_ID, createApiUnderTest } from './api-under-test.ts';
import { OTHER_PROJECT_ID, PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const AUDIENCE = 'operations-bridge';
const KID = 'key-1';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' });

let issuer = '';
let jwksUrl = '';
let jwksReads = 0;

const server = createServer((_request, response) => void answerKeys(response));

async function answerKeys(response: ServerResponse): Promise<void> {
  jwksReads += 1;
  const keys = [
    { ...(await exportJWK(rsa.publicKey)), kid: KID, alg: 'RS256', use: 'sig' },
    { ...(await exportJWK(curve.publicKey)), kid: 'curve', alg: 'ES256', use: 'sig' },
  ];
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
}

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  issuer = `http://127.0.0.1:${port}`;
  jwksUrl = `${issuer}/.well-known/jwks.json`;
});
afterAll(() => server.close());

const claims = (): JWTPayload => ({
  sub: 'service-7',
  client_id: 'a-service',
  scope: 'openid computes:read operations:read',
  projects: [PROJECT_ID],
});

interface Changes {
  readonly header?: object;
  readonly payload?: { readonly [name: string]: unknown };
  readonly key?: KeyObject;
  readonly lifetime?: string | number | null;
}

function sign({
  header = {},
  payload = {},
  key = rsa.privateKey,
  lifetime = '5m',
}: Changes = {}): Promise<string> {
  const token = new SignJWT({ iss: issuer, aud: AUDIENCE, ...claims(), ...payload })
    .setProtectedHeader({ alg: 'RS256', kid: KID, typ: 'at+jwt', ...header })
    .setIssuedAt(typeof payload['iat'] === 'number' ? payload['iat'] : undefined);
  return (lifetime === null ? token : token.setExpirationTime(lifetime)).sign(key);
}

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const unsigned = (header: object, payload: object = {}) => {
  const expires = Math.floor(Date.now() / 1_000) + 300;
  return `${encode(header)}.${encode({ iss: issuer, aud: AUDIENCE, exp: expires, ...claims(), ...payload })}`;
};

async function ask(
  token: string,
  path = `/api/v2/projects/${PROJECT_ID}/endpoints`,
  header = `Bearer ${token}`,
) {
  const upstream = createUpstreamDouble();
  const oidc = {
    issuer,
    audience: AUDIENCE,
    accessTokenAudience: 'access-only',
    jwksUrl,
    account_id: ACCOUNT_ID,
  };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: upstream.fetch,
    oidc,
  });
  const response = await api.app.request(path, { headers: { authorization: header } });
  return { status: response.status, calls: upstream.sent.length };
}

describe('a person of the issuer', () => {
  async function setUpFor(...subjects: readonly string[]) {
    const upstream = createUpstreamDouble(() => Response.json({ place: upstream.sent.length }));
    const oidc = { issuer, audience: AUDIENCE, jwksUrl, account_id: ACCOUNT_ID };
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: 'k',
      fetch: upstream.fetch,
      oidc,
    });
    const payload = (sub: string) => ({ sub, projects: ['*'], scope: 'computes:restart operations:read' });
    const tokens = await Promise.all(subjects.map((sub) => sign({ payload: payload(sub) })));
    const send = async (token: string | undefined, method: string, path: string, headers = {}) => {
      const all = { authorization: `Bearer ${token}`, ...headers };
      const response = await api.app.request(path, { method, headers: all });
      return { status: response.status, headers: response.headers, body: (await response.json()) as object };
    };
    return { api, upstream, tokens, send };
  }
  const restart = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-a/restart`;

  test('has an identity of their own, though all come through one client of the issuer', async () => {
    const { api, tokens, send } = await setUpFor('ada', 'grace');
    const host = new URL(issuer).host;

    for (const token of tokens) await send(token, 'POST', restart);

    const audited = api.memory.sync.items().filter(({ kind }) => kind === 'audit');
    expect(audited.map((item) => item['client_id'])).toEqual([`oidc:${host}:ada`, `oidc:${host}:grace`]);
  });

  test('is never given the kept answer of another', async () => {
    const { upstream, tokens, send } = await setUpFor('ada', 'grace', 'ada');

    const answers = [];
    for (const token of tokens)
      answers.push(await send(token, 'POST', restart, { 'idempotency-key': 'a-key' }));

    expect(answers.map(({ body }) => body)).toEqual([{ place: 1 }, { place: 2 }, { place: 1 }]);
    expect(upstream.sent).toHaveLength(2);
  });

  test('is no client of the bridge, whatever their name', async () => {
    const { api, tokens, send } = await setUpFor('an-app');

    expect((await send(tokens[0], 'GET', '/bridge/v1/me')).body).not.toMatchObject({ client_id: 'an-app' });
    await expect(api.issueToken({ client_id: `oidc:${new URL(issuer).host}:ada` })).rejects.toThrow(
      /no token may/,
    );
  });

  test('is signed out of the console when their token ends', async () => {
    const { api } = await setUpFor();
    const endsAt = Math.floor(Date.now() / 1_000) + 120;
    const body = new URLSearchParams({
      token: await sign({ lifetime: endsAt }),
      next: '/console',
    }).toString();

    const response = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    });

    const cookie = response.headers.get('set-cookie') ?? '';
    const [payload = ''] = (cookie.split(/[=;]/)[1] ?? '').split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
      ends_at_ms: endsAt * 1_000,
    });
    expect(Number(/Max-Age=(\d+)/.exec(cookie)?.[1])).toBeLessThanOrEqual(120);
  });
});

describe('a token of the issuer', () => {
  test.each([
    ['the type of an access token', { header: { typ: 'at+jwt' } }],
    ['that type in full', { header: { typ: 'application/at+JWT' } }],
    ['a use that says access', { header: { typ: 'JWT' }, payload: { token_use: 'access' } }],
    ['an audience of access tokens', { header: { typ: 'JWT' }, payload: { aud: 'access-only' } }],
    ['a lifetime of a day', { lifetime: '24h' }],
  ])('counts with %s', async (_name, changes) => {
    expect((await ask(await sign(changes))).status).toBe(200);
  });

  test('lets its client do what its scopes say, in its projects', async () => {
    expect(await ask(await sign())).toEqual({ status: 200, calls: 1 });
  });

  test('signed on the other curve of the issuer counts as well', async () => {
    const token = await sign({ header: { alg: 'ES256', kid: 'curve' }, key: curve.privateKey });

    expect((await ask(token)).status).toBe(200);
  });

  test.each([
    ['a scope it does not have', {}, `/api/v2/projects/${PROJECT_ID}/auth/domains`, 403],
    ['a project it does not name', {}, `/api/v2/projects/${OTHER_PROJECT_ID}/endpoints`, 404],
    ['no project at all', { projects: [] }, `/api/v2/projects/${PROJECT_ID}/endpoints`, 404],
    [
      'a project, when it names none',
      { projects: undefined },
      `/api/v2/projects/${PROJECT_ID}/endpoints`,
      404,
    ],
    [
      'any project, when it names all',
      { projects: ['*'] },
      `/api/v2/projects/${OTHER_PROJECT_ID}/endpoints`,
      200,
    ],
    [
      'a scope that only looks like one',
      { scope: 'computes:reading' },
      `/api/v2/projects/${PROJECT_ID}/endpoints`,
      403,
    ],
  ])('is asked for %s', async (_name, payload, path, status) => {
    expect((await ask(await sign({ payload }), path)).status).toBe(status);
  });

  test('is exchanged for a session of the console, with the same projects and scopes', async () => {
    const oidc = { issuer, audience: AUDIENCE, jwksUrl, account_id: ACCOUNT_ID };
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: 'k',
      fetch: createUpstreamDouble(() => Response.json({ endpoints: [] })).fetch,
      oidc,
    });
    const body = new URLSearchParams({ token: await sign(), next: '/console' }).toString();
    const signedIn = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';

    const statusOf = async (path: string) => (await api.app.request(path, { headers: { cookie } })).status;

    expect(await statusOf('/console')).toBe(200);
    expect(await statusOf(`/console/accounts/main/projects/${PROJECT_ID}`)).toBe(200);
    expect(await statusOf(`/console/accounts/main/projects/${OTHER_PROJECT_ID}`)).toBe(404);
  });

  test('with more projects than a cookie can hold begins no session, and the form says so', async () => {
    const oidc = { issuer, audience: AUDIENCE, jwksUrl, account_id: ACCOUNT_ID };
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: 'k',
      oidc,
    });
    const projects = Array.from({ length: 150 }, (_, place) => `a-project-of-the-team-${place}`);
    const token = await sign({ payload: { projects } });

    const answer = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, next: '/console' }).toString(),
    });

    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
    expect(await answer.text()).toContain('names more projects than a session can hold');
    expect(api.memory.sync.items()).toEqual([]);
  });

  test('still counts within a minute of its end, for clocks differ', async () => {
    expect((await ask(await sign({ lifetime: Math.floor(Date.now() / 1_000) - 20 }))).status).toBe(200);
  });
});

const FORGED: readonly (readonly [string, () => Promise<string>])[] = [
  ['no signature, alg none', async () => `${unsigned({ alg: 'none', typ: 'JWT' })}.`],
  ['no signature, alg None', async () => `${unsigned({ alg: 'None', kid: KID })}.`],
  ['no signature, alg NONE', async () => `${unsigned({ alg: 'NONE', kid: KID })}.`],
  ['no signature, alg nOnE with one', async () => `${unsigned({ alg: 'nOnE', kid: KID })}.AAAA`],
  ['no alg at all', async () => `${unsigned({ kid: KID })}.AAAA`],
  ['an empty signature', async () => `${unsigned({ alg: 'RS256', kid: KID })}.`],
  ['a signature of zeros', async () => `${unsigned({ alg: 'RS256', kid: KID })}.${'A'.repeat(342)}`],
  ['HS256 with the public key as the secret', async () => hmacWith(await exportSPKI(rsa.publicKey))],
  ['HS256 with the JWK as the secret', async () => hmacWith(JSON.stringify(await exportJWK(rsa.publicKey)))],
  ['HS256 with an empty secret', async () => hmacWith('')],
  ['HS384', async () => hmacWith('x', 'HS384')],
  ["a stranger's key", () => sign({ key: stranger.privateKey })],
  [
    "a stranger's key under an unknown kid",
    () => sign({ key: stranger.privateKey, header: { kid: 'key-2' } }),
  ],
  [
    'a key of its own in the header',
    async () => sign({ key: stranger.privateKey, header: { jwk: await exportJWK(stranger.publicKey) } }),
  ],
  [
    'a key of its own by URL',
    () => sign({ key: stranger.privateKey, header: { jku: `${issuer}/mine`, kid: 'mine' } }),
  ],
  [
    'a certificate by URL',
    () => sign({ key: stranger.privateKey, header: { x5u: 'https://evil.example/cert', kid: 'x' } }),
  ],
  ['a kid that is a path', () => sign({ key: stranger.privateKey, header: { kid: '../../../../dev/null' } })],
  ['a kid that is a query', () => sign({ key: stranger.privateKey, header: { kid: "' OR 1=1 --" } })],
  ['no kid', () => sign({ header: { kid: undefined } })],
  ['the kid of another algorithm', () => sign({ header: { kid: 'curve' } })],
  ['an unknown critical header', () => sign({ header: { crit: ['x'], x: 1 } }).catch(() => 'x.y.z')],
  ['another issuer', () => sign({ payload: { iss: 'https://evil.example' } })],
  ['the issuer with a slash', () => sign({ payload: { iss: `${issuer}/` } })],
  ['no issuer', () => sign({ payload: { iss: undefined } })],
  ['another audience', () => sign({ payload: { aud: 'another-api' } })],
  ['no audience', () => sign({ payload: { aud: undefined } })],
  ['an audience that only begins like ours', () => sign({ payload: { aud: `${AUDIENCE}-2` } })],
  ['several audiences, none of them ours', () => sign({ payload: { aud: ['a', 'b'] } })],
  ['an end two minutes ago', () => sign({ lifetime: Math.floor(Date.now() / 1_000) - 120 })],
  ['an end in 1970', () => sign({ lifetime: 1 })],
  ['no time of issue', async () => withoutIssuedAt()],
  ['a beginning in an hour', () => sign({ payload: { nbf: Math.floor(Date.now() / 1_000) + 3_600 } })],
  ['no end at all', () => sign({ lifetime: null })],
  ['an end that is text', () => sign({ payload: { exp: 'never' }, lifetime: null })],
  ['no type', () => sign({ header: { typ: undefined } })],
  ['the type of an ID token', () => sign({ header: { typ: 'JWT' } })],
  ['a use that says id', () => sign({ payload: { token_use: 'id' } })],
  [
    'a use that says id, for an audience of access tokens',
    () => sign({ payload: { token_use: 'id', aud: 'access-only' } }),
  ],
  ['a lifetime of more than a day', () => sign({ lifetime: '25h' })],
  ['a lifetime of ten years', () => sign({ lifetime: '10y' })],
  [
    'a beginning in the future that hides its lifetime',
    () =>
      sign({
        payload: { iat: Math.floor(Date.now() / 1_000) + 9e6 },
        lifetime: Math.floor(Date.now() / 1_000) + 9e6 + 60,
      }),
  ],
  ['a subject with a control character', () => sign({ payload: { sub: 'a\nb' } })],
  ['a subject of a thousand characters', () => sign({ payload: { sub: 'x'.repeat(1_000) } })],
  ['no subject', () => sign({ payload: { sub: undefined } })],
  ['an empty subject', () => sign({ payload: { sub: '' } })],
  ['scopes as a list', () => sign({ payload: { scope: ['computes:read'] } })],
  ['projects as text', () => sign({ payload: { projects: PROJECT_ID } })],
  ['projects as an object', () => sign({ payload: { projects: { '*': true } } })],
  ['a changed payload', async () => changedPayload(await sign())],
  ['a payload that is no JSON', async () => `${encode({ alg: 'RS256', kid: KID })}.AAAA.AAAA`],
  ['two parts', async () => 'a.b'],
  ['five parts, encrypted', async () => `${encode({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`],
  ['more characters than credentials may have', () => sign({ payload: { padding: 'x'.repeat(8_000) } })],
  ['a header of a megabyte', async () => `${'A'.repeat(1_000_000)}.b.c`],
];

async function hmacWith(secret: string, alg = 'HS256'): Promise<string> {
  const body = unsigned({ alg, kid: KID });
  const hash = alg === 'HS256' ? 'sha256' : 'sha384';
  return `${body}.${createHmac(hash, secret).update(body).digest('base64url')}`;
}

function withoutIssuedAt(): Promise<string> {
  const expires = Math.floor(Date.now() / 1_000) + 300;
  return new SignJWT({ iss: issuer, aud: AUDIENCE, ...claims(), exp: expires })
    .setProtectedHeader({ alg: 'RS256', kid: KID, typ: 'at+jwt' })
    .sign(rsa.privateKey);
}

function changedPayload(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const changed = {
    ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object),
    projects: ['*'],
  };
  return [header, encode(changed), signature].join('.');
}

describe('a forged token', () => {
  test.each(FORGED)('with %s identifies no caller', async (_name, forge) => {
    expect(await ask(await forge())).toEqual({ status: 401, calls: 0 });
  });

  test('does not make the bridge ask the issuer for its keys again and again', async () => {
    const upstream = createUpstreamDouble();
    const oidc = { issuer, audience: AUDIENCE, jwksUrl, account_id: ACCOUNT_ID };
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: 'k',
      fetch: upstream.fetch,
      oidc,
    });
    const before = jwksReads;

    for (let count = 0; count < 30; count++) {
      const token = await sign({ key: stranger.privateKey, header: { kid: `key-${count}` } });
      await api.app.request('/api/v2/projects', { headers: { authorization: `Bearer ${token}` } });
    }

    expect(jwksReads - before).toBeLessThanOrEqual(3);
  });

  test('of another scheme, or two at once, identifies no caller', async () => {
    const token = await sign();

    expect((await ask(token, undefined, `Token ${token}`)).status).toBe(401);
    expect((await ask(token, undefined, `Bearer ${token}, Bearer ${token}`)).status).toBe(401);
    expect((await ask(token, undefined, token)).status).toBe(401);
  });
});
