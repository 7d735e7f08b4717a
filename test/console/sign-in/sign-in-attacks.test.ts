/** Tests attacks on a sign-in at the provider, each of which must end without a session. */

import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { startBridgeWithProvider } from './bridge-with-provider.ts';
import type { Claims, TokenFault } from './openid-provider.ts';
import { createPersonWithBrowser } from './person-with-browser.ts';

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const nowSeconds = () => Math.floor(Date.now() / 1_000);
const changed =
  (change: Claims): TokenFault =>
  ({ claims, sign }) =>
    sign({ ...claims, ...change });

async function withStrangersKey({ claims }: { readonly claims: Claims }): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const header = { alg: 'RS256', kid: 'key-of-the-provider', jwk: await exportJWK(publicKey) };
  return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
}

const FAULTS: readonly (readonly [string, TokenFault])[] = [
  ['no signature, alg none', ({ claims }) => `${encode({ alg: 'none' })}.${encode(claims)}.`],
  [
    'HS256 with the public client id as its key',
    ({ claims }) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode('the-bridge')),
  ],
  ["a stranger's key, which the header brings along", withStrangersKey],
  [
    'a changed payload under the true signature',
    async ({ claims, sign }) => {
      const [header, , signature] = (await sign(claims)).split('.');
      return [header, encode({ ...claims, groups: ['bridge-admins'], sub: 'root' }), signature].join('.');
    },
  ],
  ['an unknown key', ({ claims, sign }) => sign(claims, { kid: 'another' })],
  ['another issuer', changed({ iss: 'https://evil.example' })],
  ['no issuer', changed({ iss: undefined })],
  ['another audience', changed({ aud: 'another-application' })],
  ['several audiences and another authorized party', changed({ aud: ['the-bridge', 'other'], azp: 'other' })],
  ['another nonce', changed({ nonce: 'made-up' })],
  ['no nonce', changed({ nonce: undefined })],
  ['an end five minutes ago', ({ claims, sign }) => sign({ ...claims, exp: nowSeconds() - 300 })],
  ['no end', changed({ exp: undefined })],
  ['a beginning in an hour', ({ claims, sign }) => sign({ ...claims, nbf: nowSeconds() + 3_600 })],
  ['no time of issue', changed({ iat: undefined })],
  ['no subject', changed({ sub: undefined })],
  ['a subject with a line break', changed({ sub: 'ada\nroot' })],
  ['no token in it', () => 'no-token'],
];

describe('an ID token with', () => {
  test.each(FAULTS)('%s signs nobody in', async (_name, fault) => {
    const { api, provider, origin, signIn } = await startBridgeWithProvider();
    provider.setFault(fault);

    const { browser, page } = await signIn();

    expect(page.status).toBe(403);
    expect((await browser.open(`${origin}/console`)).status).toBe(401);
    expect(api.logged.at(-1)).toMatchObject({ event: 'request.refused', reason: 'sign-in-refused' });
  });

  test('the true claims, signed again, signs the person in: the faults above are what is refused', async () => {
    const { provider, origin, signIn } = await startBridgeWithProvider();
    provider.setFault(changed({}));

    const { browser } = await signIn();

    expect((await browser.open(`${origin}/console`)).status).toBe(200);
  });
});

describe('the return from the provider', () => {
  async function withCallback() {
    const stage = await startBridgeWithProvider();
    const browser = createPersonWithBrowser();
    const callback = await browser.reachCallback(stage.start, 'ada');
    const isSignedIn = async (who = browser) => (await who.open(stage.console)).status === 200;
    return { ...stage, browser, callback, isSignedIn };
  }

  test('is accepted once: the same address signs nobody in again, with the same cookies', async () => {
    const { browser, callback, start, origin, provider } = await withCallback();
    const cookies = new Map(browser.jar);
    await browser.send(callback);
    const before = provider.requests.get('/token');
    browser.jar.clear();
    for (const [name, cookie] of cookies) browser.jar.set(name, cookie);

    const again = await browser.send(callback);

    expect([again.status, again.text]).toEqual([400, expect.stringContaining('This sign-in is over')]);
    expect(provider.requests.get('/token')).toBe(before);
    expect((await browser.open(`${origin}/console`)).status).toBe(401);
    expect(start).toContain(origin);
  });

  test('is accepted once, when it arrives twice at the same moment', async () => {
    const { browser, callback, provider } = await withCallback();

    const answers = await Promise.all([browser.send(callback), browser.send(callback)]);

    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    expect(provider.requests.get('/token')).toBe(1);
  });

  test('signs nobody in with another browser, to which an attacker leads a person', async () => {
    const { callback, isSignedIn } = await withCallback();
    const victim = createPersonWithBrowser();

    const answer = await victim.send(callback);

    expect(answer.status).toBe(400);
    expect(await isSignedIn(victim)).toBe(false);
  });

  test("with an attacker's code does not end the sign-in that the person has begun", async () => {
    const { browser, callback, isSignedIn, start } = await withCallback();
    const attackers = await createPersonWithBrowser().reachCallback(start, 'mallory');

    expect((await browser.send(attackers)).status).toBe(400);
    expect(await isSignedIn()).toBe(false);
    await browser.send(callback);
    expect(await isSignedIn()).toBe(true);
  });

  test("signs nobody in with the person's state and an attacker's code", async () => {
    const { browser, callback, isSignedIn, start } = await withCallback();
    const attackers = new URL(await createPersonWithBrowser().reachCallback(start, 'mallory'));
    const mixed = new URL(callback);
    mixed.searchParams.set('code', attackers.searchParams.get('code') ?? '');

    const answer = await browser.send(mixed.href);

    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining('invalid_grant')]);
    expect(await isSignedIn()).toBe(false);
  });

  test.each([
    ['another issuer in the answer', { iss: 'https://evil.example' }],
    ['no issuer in the answer', { iss: undefined }],
    ['no code', { code: undefined }],
  ])('signs nobody in with %s', async (_name, changes) => {
    const { browser, callback, isSignedIn } = await withCallback();
    const url = new URL(callback);
    for (const [name, value] of Object.entries(changes))
      if (value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);

    expect((await browser.send(url.href)).status).toBe(403);
    expect(await isSignedIn()).toBe(false);
  });

  test('after ten minutes signs nobody in', async () => {
    const { browser, callback, isSignedIn, pass } = await withCallback();
    pass(600_001);

    expect((await browser.send(callback)).status).toBe(400);
    expect(await isSignedIn()).toBe(false);
  });

  test('shows that the provider reports a cancelled sign-in', async () => {
    const { browser, callback, provider, isSignedIn } = await withCallback();
    const state = new URL(callback).searchParams.get('state') ?? '';
    const url = new URL(callback);
    url.search = String(new URLSearchParams({ error: 'access_denied', state, iss: provider.issuer }));

    const answer = await browser.send(url.href);

    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('was cancelled')]);
    expect(await isSignedIn()).toBe(false);
  });

  test('gives the session a new id, whatever session the browser had before', async () => {
    const { browser, callback, origin } = await withCallback();
    const attackers = 'an-attackers-session';
    browser.jar.set(`${origin} bridge_session`, { value: attackers, path: '/console' });

    await browser.send(callback);

    expect(browser.jar.get(`${origin} bridge_session`)?.value).not.toBe(attackers);
    expect((await browser.open(`${origin}/console`)).status).toBe(200);
  });

  test('puts no code, token, verifier or secret into a log line or the table', async () => {
    const { api, browser, callback } = await withCallback();
    const code = new URL(callback).searchParams.get('code') ?? '';
    await browser.send(callback);
    await browser.send(callback);

    const traces = JSON.stringify([api.logged, api.memory.sync.items()]);

    for (const secret of [code, 'eyJ', 'a-secret-of-the-bridge']) expect(traces).not.toContain(secret);
  });
});

describe('the page to which a sign-in leads', () => {
  test.each([
    'https://evil.example/',
    '//evil.example',
    '/console//evil.example',
    '/api/v2/projects',
    'javascript:alert(1)',
    '/console\\evil',
    '/console/"><script>',
  ])('is never %s', async (next) => {
    const { signIn } = await startBridgeWithProvider();

    const { page } = await signIn('ada', next);

    expect(page.text).toContain('content="0;url=/console"');
    expect(page.text).toContain('<a class="button" href="/console">Continue</a>');
  });
});

describe('the cookies of a sign-in', () => {
  test('are for their paths alone, out of reach of scripts, and over https only for https', async () => {
    const plain = await startBridgeWithProvider();
    const { api } = await startBridgeWithProvider({ settings: { base_url: 'https://bridge.example' } });

    const { headers } = await createPersonWithBrowser().send(plain.start);
    const secure = await api.app.request('https://bridge.example/console/sign-in/start');

    expect(headers.get('set-cookie')).toMatch(
      /^bridge_sign_in=[\w-]+; Path=\/console\/sign-in; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
    expect(secure.headers.get('set-cookie')).toMatch(/^__Host-bridge_sign_in=[\w-]+; Path=\/;.*; Secure$/);
    expect(new URL(secure.headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(
      'https://bridge.example/console/sign-in/callback',
    );
  });

  test('with the session and the ID token are not sent with links of other sites', async () => {
    const { signIn } = await startBridgeWithProvider();

    const cookies = (await signIn()).page.headers.getSetCookie();

    expect(cookies).toEqual([
      expect.stringMatching(/^bridge_sign_in=; Path=\/console\/sign-in; Max-Age=0;/),
      expect.stringMatching(/^bridge_session=.*; Path=\/console; Max-Age=3600; HttpOnly; SameSite=Strict$/),
      expect.stringMatching(
        /^bridge_id_token=.*; Path=\/console\/sign-out; Max-Age=3600; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    expect(cookies.join()).not.toContain('eyJhbG');
  });
});

describe('a provider', () => {
  test('that is down gives a page that says so, and is not asked by every person', async () => {
    const { api, provider, start, pass } = await startBridgeWithProvider();
    provider.replaceBy((_request, response) => response.writeHead(500).end());
    const browser = createPersonWithBrowser();

    const answers = [await browser.send(start), await browser.send(start), await browser.send(start)];

    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(answers[0]?.text).toContain('gave no usable answer. Try again in a minute.');
    expect([...provider.requests.values()]).toEqual([1]);
    expect(api.logged.at(-1)).toMatchObject({ detail: 'OAUTH_RESPONSE_IS_NOT_CONFORM' });
    provider.replaceBy(undefined);
    pass(10_001);
    expect((await browser.send(start)).status).toBe(303);
  });

  test('that is not there gives the same page', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const issuer = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    await new Promise((resolve) => server.close(resolve));
    const { api, start } = await startBridgeWithProvider({ settings: { issuer } });

    const { status } = await createPersonWithBrowser().send(start);

    expect([status, api.logged.at(-1)]).toEqual([503, expect.objectContaining({ detail: 'no_connection' })]);
  });

  test('that goes away between the start and the return signs nobody in', async () => {
    const {
      browser,
      provider,
      console: overview,
      callback,
    } = await (async () => {
      const stage = await startBridgeWithProvider();
      const person = createPersonWithBrowser();
      return { ...stage, browser: person, callback: await person.reachCallback(stage.start, 'ada') };
    })();
    provider.replaceBy((_request, response) => response.destroy());

    expect((await browser.send(callback)).status).toBe(503);
    expect((await browser.open(overview)).status).toBe(401);
  });

  test('that answers without an end is not read to its end', async () => {
    const { api, provider, start } = await startBridgeWithProvider();
    provider.replaceBy((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () =>
        void (response.write('x'.repeat(100_000)) ? setImmediate(more) : response.once('drain', more));
      more();
    });

    const { status } = await createPersonWithBrowser().send(start);

    expect([status, api.logged.at(-1)]).toEqual([
      503,
      expect.objectContaining({ detail: 'answer_too_large' }),
    ]);
  });

  test('that states another issuer than the settings is not trusted', async () => {
    const { api, provider, start } = await startBridgeWithProvider();
    provider.replaceBy((_request, response) =>
      response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          issuer: 'https://login.example/{tenantid}',
          authorization_endpoint: 'https://x.example',
        }),
      ),
    );

    const { status } = await createPersonWithBrowser().send(start);

    expect([status, api.logged.at(-1)]).toEqual([
      503,
      expect.objectContaining({ detail: 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' }),
    ]);
  });
});
