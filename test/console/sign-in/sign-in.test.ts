/** Tests signing in and out at a real OpenID provider, over HTTP on both sides. */

import { describe, expect, test } from 'vitest';
import { createApiUnderTest } from '../../api/api-under-test.ts';
import { startBridgeWithProvider } from './bridge-with-provider.ts';
import { createPersonWithBrowser } from './person-with-browser.ts';

const formKeyIn = (text: string) => /name="form_key" value="([0-9a-f]+)"/.exec(text)?.[1] ?? '';

describe('a person', () => {
  test('who opens a link signs in at the provider and comes to the page of the link', async () => {
    const { console: overview, signIn, origin } = await startBridgeWithProvider();
    const asked = await createPersonWithBrowser().open(`${overview}/events?status=failed`);

    const { browser, page } = await signIn('ada', '/console/events?status=failed');

    expect(asked.text).toContain('href="/console/sign-in/start?next=%2Fconsole%2Fevents%3Fstatus%3Dfailed"');
    expect([page.status, page.text]).toEqual([
      200,
      expect.stringContaining('content="0;url=/console/events?status=failed"'),
    ]);
    const events = await browser.open(`${origin}/console/events?status=failed`);
    expect([events.status, events.text]).toEqual([200, expect.stringContaining('ada@example.com')]);
  });

  test('who opens a link that is too long for the cookie of a sign-in is signed in, and comes to the overview', async () => {
    const { signIn } = await startBridgeWithProvider();

    const { page } = await signIn('ada', `/console/events?project_id=${'icy-hat-70322459,'.repeat(140)}`);

    expect([page.status, page.text]).toEqual([200, expect.stringContaining('content="0;url=/console"')]);
  });

  test('who begins at another address than that of the settings goes there first, and only once', async () => {
    const settings = { base_url: 'https://bridge.example' };
    const { api } = await startBridgeWithProvider({ settings });
    const locationOf = async (url: string) => (await api.app.request(url)).headers.get('location') ?? '';

    const moved = await locationOf('https://gateway.example/console/sign-in/start?next=/console/events');
    // A proxy may show the bridge another host than that of the browser.
    const { pathname, search } = new URL(moved);
    const behindProxy = await api.app.request(`https://gateway.example${pathname}${search}`);

    expect(moved).toBe('https://bridge.example/console/sign-in/start?next=%2Fconsole%2Fevents&moved=1');
    for (const to of [await locationOf(moved), behindProxy.headers.get('location') ?? ''])
      expect(new URL(to).searchParams.get('redirect_uri')).toBe(
        'https://bridge.example/console/sign-in/callback',
      );
    expect(behindProxy.headers.get('set-cookie')).toContain('bridge_sign_in=');
  });

  test('behind a proxy sends forms from the address of the settings, and from no other site', async () => {
    const settings = { base_url: 'https://bridge.example' };
    const { api } = await startBridgeWithProvider({ settings });
    const token = await api.issueToken();
    const send = (path: string, origin: string, fields: Readonly<Record<string, string>>, cookie = '') =>
      api.app.request(`https://gateway.example${path}`, {
        method: 'POST',
        headers: { origin, cookie },
        body: new URLSearchParams(fields),
      });

    const foreign = await send('/console/sign-in', 'https://evil.example', { token, next: '/console' });
    const signedIn = await send('/console/sign-in', settings.base_url, { token, next: '/console' });
    const [cookie = ''] = signedIn.headers.get('set-cookie')?.split(';') ?? [];
    const page = await api.app.request('https://gateway.example/console/mutes', { headers: { cookie } });
    const [, form_key = ''] = /name="form_key" value="([^"]+)"/.exec(await page.text()) ?? [];
    const mute = { form_key, duration_seconds: '3600', reason: 'a move' };
    const answers = [
      await send('/console/mutes', 'https://evil.example', mute, cookie),
      await send('/console/mutes', 'null', mute, cookie),
      await send('/console/mutes', settings.base_url, mute, cookie),
      await send('/console/sign-out', 'https://evil.example', { form_key }, cookie),
      await send('/console/sign-out', settings.base_url, { form_key }, cookie),
    ];

    expect([foreign.status, signedIn.status]).toEqual([401, 303]);
    expect(await foreign.text()).toContain('The form came from another address than that of this console');
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 303, 403, 303]);
  });

  test('may do what the first of their roles allows, and nothing of another role', async () => {
    const { provider, origin, signIn } = await startBridgeWithProvider();
    provider.setClaims({ groups: ['no-reading', 'team-blue'] });

    const { browser } = await signIn('grace');

    const statusOf = async (path: string) => (await browser.open(`${origin}/console${path}`)).status;
    expect(await statusOf('')).toBe(200);
    expect(await statusOf('/accounts/main/projects/blue-project-1')).toBe(200);
    expect(await statusOf('/accounts/main/projects/red-project-1')).toBe(404);
    expect(await statusOf('/audit')).toBe(403);
  });

  test('can have a role by a claim that is one text, under the name that the settings give it', async () => {
    const settings = { roles_claim: 'https://example.com/role' };
    const { provider, origin, signIn } = await startBridgeWithProvider({ settings });
    provider.setClaims({ 'https://example.com/role': 'bridge-admins' });

    const { browser } = await signIn();

    expect((await browser.open(`${origin}/console/audit`)).status).toBe(200);
  });

  test('is named in the audit by the subject and the address', async () => {
    const { api, provider, signIn } = await startBridgeWithProvider();

    await signIn('ada');

    const host = new URL(provider.issuer).host;
    expect(api.memory.sync.items().filter(({ kind }) => kind === 'audit')).toEqual([
      expect.objectContaining({
        client_id: `oidc:${host}:ada`,
        email: 'ada@example.com',
        call: 'consoleSignIn',
        outcome: 'done',
      }),
    ]);
  });

  test('whose address the provider has not verified is known by the subject alone', async () => {
    const { provider, origin, signIn } = await startBridgeWithProvider();
    provider.setClaims({ email: 'ceo@example.com', email_verified: false, groups: ['bridge-admins'] });

    const { browser } = await signIn('mallory');

    const { text } = await browser.open(`${origin}/console`);
    expect(text).not.toContain('ceo@example.com');
    expect(text).toContain(':mallory');
  });

  test('without a role sees which claim was looked at, and gets no session', async () => {
    const { provider, origin, signIn } = await startBridgeWithProvider();
    provider.setClaims({ email: 'eve@example.com', groups: ['everybody'] });

    const { browser, page } = await signIn('eve');

    expect(page.status).toBe(403);
    expect(page.text).toContain('as eve@example.com');
    expect(page.text).toMatch(/the claim <code>groups<\/code> has no value that stands for a role/);
    expect((await browser.open(`${origin}/console`)).status).toBe(401);
  });

  test('without the claim of the roles sees that the provider must add it', async () => {
    const { provider, signIn } = await startBridgeWithProvider();
    provider.setClaims({});

    const { page } = await signIn();

    expect([page.status, page.text]).toEqual([
      403,
      expect.stringMatching(/no claim <code>groups<\/code>[\s\S]*Ask the people who run 127\.0\.0\.1/),
    ]);
  });

  test('can use a token of the bridge instead', async () => {
    const { api, origin } = await startBridgeWithProvider();
    const browser = createPersonWithBrowser();
    const token = await api.issueToken();

    await browser.send(`${origin}/console/sign-in`, { token, next: '/console' });

    expect((await browser.open(`${origin}/console`)).status).toBe(200);
  });

  test('is signed out after an hour', async () => {
    const { origin, signIn, pass } = await startBridgeWithProvider();
    const { browser } = await signIn();
    const statusOf = async () => (await browser.open(`${origin}/console`)).status;

    pass(3_599_000);
    expect(await statusOf()).toBe(200);
    pass(2_000);
    expect(await statusOf()).toBe(401);
  });
});

describe('the bridge proves who it is', () => {
  test.each([
    ['with its secret in the header', { authentication: 'client_secret_basic' as const }],
    ['with its secret in the form', { authentication: 'client_secret_post' as const }],
    ['by PKCE alone, as a public client', { secret: 'none' as const }],
  ])('%s', async (_name, options) => {
    const { origin, signIn } = await startBridgeWithProvider(options);

    const { browser } = await signIn();

    expect((await browser.open(`${origin}/console`)).status).toBe(200);
  });

  test('and a person sees when the provider does not know its secret', async () => {
    const { api, signIn } = await startBridgeWithProvider({ secret: 'wrong' });

    const { page } = await signIn();

    expect([page.status, page.text]).toEqual([502, expect.stringContaining('<code>invalid_client</code>')]);
    expect(JSON.stringify(api.logged)).not.toContain('another');
  });
});

describe('signing out', () => {
  async function signedIn() {
    const stage = await startBridgeWithProvider();
    const { browser } = await stage.signIn();
    const form_key = formKeyIn((await browser.open(stage.console)).text);
    const signOut = () => browser.send(`${stage.origin}/console/sign-out`, { form_key });
    return { ...stage, browser, signOut };
  }

  test('ends the session of the bridge, and says that the one of the provider goes on', async () => {
    const { browser, signOut, origin, provider } = await signedIn();
    const copy = new Map(browser.jar);

    const answer = await signOut();
    const page = await browser.open(`${origin}/console/signed-out`);

    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console/signed-out']);
    expect(page.text).toContain(`Sign out at ${new URL(provider.issuer).host}`);
    for (const [name, cookie] of copy) browser.jar.set(name, cookie);
    expect((await browser.open(`${origin}/console`)).status).toBe(401);
  });

  test('at the provider asks it to end the session of this person, and returns to the console', async () => {
    const { browser, signOut, origin, provider } = await signedIn();
    await signOut();

    const { status, headers } = await browser.send(`${origin}/console/sign-out/provider`);
    const target = new URL(headers.get('location') ?? '');
    const asked = await browser.send(target.href);

    expect([status, target.origin, target.pathname]).toEqual([303, provider.issuer, '/session/end']);
    expect(target.searchParams.get('post_logout_redirect_uri')).toBe(`${origin}/console`);
    expect(target.searchParams.get('id_token_hint')).toMatch(/^eyJ/);
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('sign-out')]);
  });

  test('is offered at the provider only to people who signed in there', async () => {
    const { api, origin } = await startBridgeWithProvider();
    const browser = createPersonWithBrowser();
    await browser.send(`${origin}/console/sign-in`, { token: await api.issueToken(), next: '/console' });
    const form_key = formKeyIn((await browser.open(`${origin}/console`)).text);

    const answer = await browser.send(`${origin}/console/sign-out`, { form_key });

    expect(answer.headers.get('location')).toBe('/console');
  });
});

test('a bridge without a provider offers none and has none of its pages', async () => {
  const api = createApiUnderTest({ upstreamBaseUrl: 'https://upstream.example/api/v2', upstreamKey: 'k' });

  for (const path of ['/sign-in/start', '/sign-in/callback?code=x&state=y', '/sign-out/provider']) {
    const response = await api.app.request(`/console${path}`);
    expect([path, response.status, response.headers.get('location')]).toEqual([path, 401, null]);
    expect(await response.text()).not.toContain('href="/console/sign-in/start');
  }
});
