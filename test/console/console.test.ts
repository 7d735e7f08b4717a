/**
 * Tests the console as a browser uses it: sessions, forms, what each caller may see, and that text is never run as
 * markup.
 */

import { createContext, runInContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { SCRIPT_PATH } from '../../functions/api/console/html/layout.ts';
import { open, seal } from '../../functions/api/console/sign-in/session.ts';
import { createAlertStore } from '../../functions/notifier/alert-store.ts';
import { noticeOf } from '../../functions/notifier/deciding/notice-of-event.ts';
import { createTokenStore, tokenIdOf } from '../../shared/callers/tokens.ts';
import { renderEvent } from '../../shared/events/render-event.ts';
import { decideNextRecord, type Operation } from '../../shared/records/operation-record.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { projectKey } from '../../shared/store/keys.ts';
import { ACCOUNT_ID, createApiUnderTest, PEPPER, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble, type Sent } from '../api/upstream-double.ts';
import { aContext, anOperation } from '../builders.ts';
import { createMemoryIndexes } from '../store/memory-indexes.ts';

const OPERATION = anOperation();
const PROJECT = `/console/accounts/main/projects/${OPERATION.project_id}`;
const PAGE = `${PROJECT}/operations/${OPERATION.id}`;
const ENDPOINT = 'ep-quiet-pond-a1234567';

const endpoints = {
  endpoints: [{ id: ENDPOINT, type: 'read_write', current_state: 'active', branch_id: 'br-a' }],
};
const usual = ({ url, method }: Sent) =>
  Response.json(
    method === 'GET' && url.endsWith('/endpoints') ? endpoints : { operation: OPERATION, operations: [] },
  );

/** The project has one compute, of which these fields differ from the usual ones. */
const answering = (endpoint: object) => (sent: Sent) =>
  sent.url.endsWith('/endpoints')
    ? Response.json({ endpoints: [{ ...endpoints.endpoints[0], ...endpoint }] })
    : usual(sent);

/** Returns the hidden fields of the form that confirms a command. */
function hiddenFields(page: string): Readonly<Record<string, string>> {
  const [, form = ''] = /<div class="sign">([\s\S]*?)<\/form>/.exec(page) ?? [];
  return Object.fromEntries(
    [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

function setUp(answer: (sent: Sent) => Response = usual) {
  let nowMs = Date.UTC(2026, 0, 15, 12, 0, 5);
  const clock = { now: () => nowMs, sleep: async () => {} };
  const upstream = createUpstreamDouble(answer);
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: upstream.fetch,
    clock,
  });
  const store = createBridgeStore(api.memory, ACCOUNT_ID, clock);
  const record = async (...readings: readonly Partial<Operation>[]) => {
    for (const reading of readings) {
      const operation = anOperation(reading);
      const recorded = await store.readOperation(operation.project_id, operation.id);
      const next = decideNextRecord(recorded, operation, { ...aContext(), nowMs });
      if (next !== undefined) await store.record(next, recorded?.revision);
    }
  };
  const submit = (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ) =>
    api.app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const signIn = async (options: TokenOptions = {}) => {
    const token = await api.issueToken(options);
    const response = await submit('/console/sign-in', { token, next: PAGE });
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    const get = async (path: string) => {
      const answered = await api.app.request(path, { headers: { cookie } });
      return { status: answered.status, headers: answered.headers, text: await answered.text() };
    };
    return { token, response, cookie, get };
  };
  return {
    api,
    upstream,
    record,
    submit,
    signIn,
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    now: () => nowMs,
  };
}

test.each(['<html>Maintenance</html>', '{"endpoints":[null],"operation":null}', 'null'])(
  'the pages of a project show what the bridge knows when the upstream answers %s',
  async (body) => {
    const { record, signIn } = setUp(() => new Response(body));
    await record({ status: 'failed', failures_count: 1, error: 'no capacity' });
    const { get } = await signIn();

    for (const path of [PROJECT, PAGE]) {
      const { status, text } = await get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).toContain('no capacity');
    }
  },
);

test('the page of an operation shows which channels have notified people, as the notifier has stored it', async () => {
  const { api, record, signIn, now } = setUp();
  await record({ status: 'failed', failures_count: 1 });
  const store = createBridgeStore(api.memory, ACCOUNT_ID, { now, sleep: async () => {} });
  const recorded = await store.readOperation(OPERATION.project_id, OPERATION.id);
  const [entry] = recorded?.entries ?? [];
  if (recorded === undefined || entry === undefined) throw new Error('The operation was not recorded');
  const { detailType, detail } = renderEvent(recorded, entry);
  const notice = noticeOf(detailType, JSON.parse(detail));
  if (notice === undefined) throw new Error('The event makes no notice');
  const clock = { now, sleep: async () => {} };
  const alerts = createAlertStore(api.memory.as('notifier'), createMemoryIndexes(api.memory), {
    clock,
    telemetry: silentTelemetry,
  });
  const pending = await alerts.inbox.add('email', notice);
  if (pending === undefined) throw new Error('The new notice was not added');
  await alerts.ends.settle('email', [pending.sk], { outcome: 'reported' });
  await alerts.inbox.add('slack', notice);

  const { text } = await (await signIn()).get(PAGE);

  expect(text).toContain(
    '<dt>Alerts</dt><dd>slack, 1 waiting for a digest or for the channel; email, 1 sent</dd>',
  );
});

describe('signing in', () => {
  test('asks for a token first and then returns to the page of the link', async () => {
    const { api, record, signIn } = setUp();
    await record({ status: 'failed', failures_count: 1 });

    const asked = await api.app.request(PAGE);
    const { response } = await signIn();

    expect(asked.status).toBe(401);
    expect(await asked.text()).toContain(`name="next" value="${PAGE}"`);
    expect([response.status, response.headers.get('location')]).toEqual([303, PAGE]);
  });

  test('sets a cookie for the console only, which scripts and other sites cannot read', async () => {
    const { signIn } = setUp();

    const cookie = (await signIn()).response.headers.get('set-cookie') ?? '';

    expect(cookie).toMatch(/; Path=\/console; Max-Age=3600; HttpOnly; SameSite=Strict/);
    expect(cookie).not.toContain('opb_');
  });

  test('gives no access to the API, which ignores the cookie', async () => {
    const { api, signIn } = setUp();
    const { cookie } = await signIn();

    for (const path of ['/api/v2/projects', '/bridge/v1/me'])
      expect((await api.app.request(path, { headers: { cookie } })).status).toBe(401);
  });

  test('lasts until an hour has passed, the token is revoked or the person signs out', async () => {
    const { api, signIn, pass, submit } = setUp();
    const first = await signIn({ validForMs: 1e9 });
    expect((await first.get('/console')).status).toBe(200);
    pass(3_600_001);
    expect((await first.get('/console')).status).toBe(401);

    const second = await signIn({ validForMs: 1e9 });
    await createTokenStore(api.memory, { now: () => 0, sleep: async () => {} }).revoke(
      tokenIdOf(second.token) ?? '',
    );
    pass(11_000);
    expect((await second.get('/console')).status).toBe(401);

    expect((await submit('/console/sign-out', {})).headers.get('set-cookie')).toMatch(/Max-Age=0/);
  });

  test.each(['', 'x', 'opb_00_00_00', 'a.b', '"><script>'])(
    'refuses "%s" as a token, and the form says so',
    async (token) => {
      const { submit } = setUp();

      const response = await submit('/console/sign-in', { token, next: '/console' });

      expect([response.status, response.headers.get('set-cookie')]).toEqual([401, null]);
      expect(await response.text()).toContain('This token is not valid here');
    },
  );

  test.each([
    '/console?from=2026-01-15T10%3A00',
    '/console/events?from=2026-01-15T12:00:00Z&text=a*b(c)',
    '/console/search?q=it%27s+https%3A%2F%2Fneon.example',
  ])('asks first and then leads to %s', async (path) => {
    const { api, submit } = setUp();
    const form = await (await api.app.request(path)).text();
    const [, next = ''] = /name="next" value="([^"]*)"/.exec(form) ?? [];

    const fields = { token: await api.issueToken(), next: next.replaceAll('&amp;', '&') };

    expect((await submit('/console/sign-in', fields)).headers.get('location')).toBe(path);
  });

  test.each([
    'https://evil.example/',
    '//evil.example',
    '/console//evil.example',
    '/api/v2/projects',
    'javascript:alert(1)',
    '/console\\evil',
    '/console/../api',
    '/console/%2e%2e/api',
    '/consoles',
    '/console/events\n',
  ])('does not redirect to %s', async (next) => {
    const { api, submit } = setUp();

    const response = await submit('/console/sign-in', { token: await api.issueToken(), next });

    expect(response.headers.get('location')).toBe('/console');
  });

  test('refuses a session that was changed, forged or has ended', () => {
    const pepper = createSecret(PEPPER);
    const sealed = seal({ id: 'x', token_id: 'a', ends_at_ms: 1_000 }, pepper);

    expect(open(sealed, pepper, 999)).toEqual({ id: 'x', token_id: 'a', ends_at_ms: 1_000 });
    expect(open(sealed, pepper, 1_000)).toBeUndefined();
    expect(open(sealed, createSecret('another'), 0)).toBeUndefined();
    for (const forged of [
      '',
      '.',
      'a.b',
      `${Buffer.from('{"id":"x","token_id":"b","ends_at_ms":9e15}').toString('base64url')}.${sealed.split('.')[1]}`,
      sealed.slice(0, -1),
    ])
      expect(open(forged, pepper, 0)).toBeUndefined();
  });
});

describe('signing out', () => {
  const formKeyIn = (text: string) => /name="form_key" value="([0-9a-f]+)"/.exec(text)?.[1] ?? '';

  async function signedIn() {
    const stage = setUp();
    const { get, cookie } = await stage.signIn();
    const formKey = formKeyIn((await get('/console')).text);
    const signOut = (form: Record<string, string>, headers: Record<string, string> = {}) =>
      stage.api.app.request('/console/sign-out', {
        method: 'POST',
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(form).toString(),
      });
    return { get, formKey, signOut };
  }

  test('ends the session on the server, so that a copy of its cookie is refused', async () => {
    const { get, formKey, signOut } = await signedIn();

    const response = await signOut({ form_key: formKey });

    expect([response.status, response.headers.get('set-cookie')]).toEqual([
      303,
      expect.stringMatching(/Max-Age=0/),
    ]);
    expect((await get('/console')).status).toBe(401);
    expect((await get('/console/live')).status).toBe(401);
  });

  test.each([
    ['without the key of the form', {}, {}],
    ['with another key', { form_key: '00' }, {}],
    ['from a page of another site', undefined, { origin: 'https://evil.example' }],
  ])('%s is refused and leaves the session open', async (_name, form, headers) => {
    const { get, formKey, signOut } = await signedIn();

    const response = await signOut(form ?? { form_key: formKey }, headers);

    expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null]);
    expect((await get('/console')).status).toBe(200);
  });
});

describe('requests of a browser', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  test('over https get a cookie with the __Host- prefix and an order to use https from then on', async () => {
    const { api } = setUp();
    const body = new URLSearchParams({ token: await api.issueToken(), next: '/console' }).toString();

    const response = await api.app.request('https://bridge.example/console/sign-in', {
      method: 'POST',
      headers: form,
      body,
    });
    const setCookie = response.headers.get('set-cookie') ?? '';
    const [pair = ''] = setCookie.split(';');
    const page = (cookie: string) =>
      api.app.request('https://bridge.example/console', { headers: { cookie } });

    expect(setCookie).toMatch(/^__Host-bridge_session=.*; Secure$/);
    expect((await page(pair)).status).toBe(200);
    expect((await page(pair.replace('__Host-', ''))).status).toBe(401);
    for (const path of ['/console', '/bridge/v1/me', '/api/v2/projects', '/nothing'])
      expect(
        (await api.app.request(`https://bridge.example${path}`)).headers.get('strict-transport-security'),
      ).toBe('max-age=31536000; includeSubDomains');
  });

  test.each([
    ['larger than any token', form, `token=${'x'.repeat(20_000)}`],
    ['larger than any token, in pieces', form, new Blob(['token=', 'x'.repeat(6_000_000)])],
    ['not a form', { 'content-type': 'multipart/form-data; boundary=x' }, '--x--'],
  ])('to sign in are refused when the body is %s', async (_name, headers, body) => {
    const { api } = setUp();

    const response = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers,
      body: body instanceof Blob ? body.stream() : body,
      duplex: 'half',
    });

    expect(response.status).toBe(401);
  });

  test('for changes are refused without the scope to read operations', async () => {
    const { signIn } = setUp();
    const { get } = await signIn({ scopes: ['projects:read'] });

    expect((await get('/console/live')).status).toBe(403);
  });

  test.each(['/console/events?cursor=x', `${PROJECT}?cursor=x`, '/console/live?cursor=x'])(
    'with an invalid cursor answer 400: %s',
    async (path) => {
      const { get } = await setUp().signIn();

      expect((await get(path)).status).toBe(400);
    },
  );
});

describe('pages', () => {
  test('of an operation show what failed, since when, which client started it, and what else is open', async () => {
    const { record, signIn } = setUp();
    await record(
      { status: 'running' },
      { status: 'failed', failures_count: 2, error: 'storage unavailable' },
    );
    await record({ id: '22222222-2222-4222-8222-222222222222', action: 'create_branch' });

    const { status, text } = await (await signIn()).get(PAGE);

    expect(status).toBe(200);
    for (const words of [
      'storage unavailable',
      'It has failed and not ended',
      'It was not started through this bridge.',
      'create_branch',
      'Alerts',
      'attempts 1 to 2 failed',
      'All fields of the upstream',
    ])
      expect(text).toContain(words);
  });

  test('of an operation that fails for hours show the latest states and attempts, and how many are older', async () => {
    const { record, signIn } = setUp();
    await record({ status: 'running' });
    for (let count = 1; count <= 60; count++)
      await record({ status: 'failed', failures_count: count, error: `error ${count}` });

    const { text } = await (await signIn()).get(PAGE);

    expect(text).toContain('The latest 50 of 61 events are shown. The text for support has every state.');
    expect(text).toContain('Attempts before number 11 are not shown.');
    expect(text).toMatch(/<td data-label="Attempt">11<\/td>[\s\S]*error 60/);
    expect(text).not.toContain('<td data-label="Attempt">10</td>');
  });

  test('show only the projects that the token allows', async () => {
    const { record, signIn } = setUp();
    await record({ status: 'failed', failures_count: 1 });
    const { get } = await signIn({ project_ids: ['another-project-1'] });

    expect((await get(PAGE)).status).toBe(404);
    expect((await get(PROJECT)).status).toBe(404);
    expect((await get('/console')).text).not.toContain(OPERATION.project_id);
    expect((await get('/console/events')).text).not.toContain(OPERATION.project_id);
  });

  test('name the scope that is missing', async () => {
    const { signIn } = setUp();

    expect((await (await signIn({ scopes: ['projects:read'] })).get('/console')).text).toContain(
      'needs the scope operations:read',
    );
  });

  test('load nothing from other sites and contain no inline script or style', async () => {
    const { record, signIn } = setUp();
    await record({ status: 'failed', failures_count: 1 });
    const { get } = await signIn();

    for (const path of ['/console', PROJECT, PAGE, '/console/events', '/console/subscribe']) {
      const { headers, text } = await get(path);
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self'/,
      );
      expect(text).not.toMatch(/(src|href)="(https?:)?\/\/|<style|style="| on\w+="/);
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  test('are smaller than 60 kB together with their files', async () => {
    const { record, signIn } = setUp();
    await record({ status: 'failed', failures_count: 1 });
    const { get } = await signIn();
    const first = (await get(PAGE)).text;
    const files = [...first.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(
      ([, path]) => path ?? '',
    );

    const loaded = await Promise.all(files.map(get));

    expect(files).toHaveLength(3);
    expect(loaded.map(({ status, headers }) => [status, headers.get('cache-control')])).toEqual(
      files.map(() => [200, 'public, max-age=31536000, immutable']),
    );
    expect([first, ...loaded.map(({ text }) => text)].join('').length).toBeLessThan(60_000);
  });

  test('are kept up to date by a route that reports changes of their subject', async () => {
    const { record, signIn, pass } = setUp();
    await record({ status: 'running' });
    const { get } = await signIn();
    const [, cursor = ''] = /data-live="([^"]+)"/.exec((await get(PAGE)).text) ?? [];
    const ask = async (about: string) =>
      JSON.parse((await get(`/console/live?cursor=${cursor}&about=${about}`)).text) as { changed: boolean };
    expect((await ask(OPERATION.id)).changed).toBe(false);
    pass(1_000);
    await record({ status: 'finished' });

    expect((await ask(OPERATION.id)).changed).toBe(true);
    expect((await ask('another')).changed).toBe(false);
  });
});

describe('an open page', () => {
  const LIVE = '● Live. Pause';

  /** Runs the script of the pages, as it is served, in a browser that shows one page and whose timers the test rings. */
  async function openPage(path: string) {
    const world = setUp();
    const { get, cookie } = await world.signIn({ validForMs: 1e9 });
    const [, cursor, about] = /data-live="([^"]+)" data-about="([^"]+)"/.exec((await get(path)).text) ?? [];
    const asked: string[] = [];
    const state = { isDown: false, reloads: 0 };
    const timers: (() => Promise<void>)[] = [];
    const heard = new Map<string, () => unknown>();
    const mark = { hidden: true, textContent: LIVE, addEventListener() {}, setAttribute() {} };
    const main = { dataset: { live: cursor, about }, childNodes: [], firstChild: null };
    const parts: Readonly<Record<string, unknown>> = { '[data-live]': main, '[data-pause]': mark };
    const find = (selector: string) => parts[selector] ?? null;
    const document = {
      hidden: false,
      querySelector: find,
      querySelectorAll: () => [],
      getElementById: () => null,
      addEventListener: (kind: string, hear: () => unknown) => heard.set(kind, hear),
      adoptNode: (node: unknown) => node,
    };
    const fetch = async (address: string) => {
      asked.push(address.replace(/\?.*/, ''));
      if (state.isDown) throw new TypeError('offline');
      return world.api.app.request(address, { headers: { cookie } });
    };
    const browser = createContext({
      document,
      fetch,
      location: { href: path, reload: () => state.reloads++ },
      performance: { getEntriesByName: () => [], clearResourceTimings() {} },
      DOMParser: class {
        parseFromString = () => document;
      },
      Date: { now: world.now },
      URLSearchParams,
      setTimeout: (ring: () => Promise<void>) => timers.push(ring),
      clearTimeout: () => timers.shift(),
    });
    runInContext((await get(SCRIPT_PATH)).text, browser);
    /** Resolves to the addresses that the page has asked for meanwhile. */
    const look = async () => {
      asked.length = 0;
      await timers.shift()?.();
      return [...asked];
    };
    const turn = async (isHidden: boolean) => {
      document.hidden = isHidden;
      asked.length = 0;
      await heard.get('visibilitychange')?.();
      return [...asked];
    };
    return { ...world, state, mark, look, turn };
  }

  test('asks for nothing while nobody sees it, and at once when somebody does', async () => {
    const { look, turn } = await openPage('/console');
    expect(await turn(true)).toEqual([]);
    expect(await look()).toEqual([]);

    expect(await turn(false)).toEqual(['/console/live']);
    expect(await look()).toEqual(['/console/live']);
  });

  test('is read again after a minute without a change, because what is late or lasts changes with time alone', async () => {
    const { look, pass } = await openPage('/console');

    expect(await look()).toEqual(['/console/live']);
    pass(60_000);
    expect(await look()).toEqual(['/console/live', '/console']);
    expect(await look()).toEqual(['/console/live']);
  });

  test.each(['/console', '/console/mutes'])(
    'asks for a sign-in when its session has ended: %s',
    async (path) => {
      const { look, pass, state } = await openPage(path);
      pass(3_600_001);

      await look();

      expect(state.reloads).toBe(1);
    },
  );

  test.each(['/console', '/console/mutes'])(
    'does not call itself live in an outage, and is read anew after it: %s',
    async (path) => {
      const { look, state, mark } = await openPage(path);
      state.isDown = true;
      await look();
      expect(mark.textContent).toBe('▲ Not up to date. Pause');

      state.isDown = false;
      expect((await look()).at(-1)).toBe(path);

      expect(mark.textContent).toBe(LIVE);
    },
  );
});

describe('actions', () => {
  const RESTART = `${PROJECT}/endpoints/${ENDPOINT}/restart`;

  test('are confirmed, sent once, and recorded in the audit like any command', async () => {
    const { api, upstream, signIn, submit } = setUp();
    const { get, cookie } = await signIn();
    const { text } = await get(RESTART);
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(text)?.[1] ?? '';
    const fields = { form_key: field('form_key'), command_key: field('command_key') };

    const answers = [await submit(RESTART, fields, { cookie }), await submit(RESTART, fields, { cookie })];

    expect(text).toContain('A restart drops all connections to it');
    expect(answers.map(({ status, headers }) => [status, headers.get('location')])).toEqual([
      [303, `${PROJECT}/commands/request-4`],
      [303, `${PROJECT}/commands/request-4`],
    ]);
    const progress = await get(`${PROJECT}/commands/request-4`);
    expect(progress.status).toBe(200);
    expect(progress.text).toMatch(/restartEndpoint[\s\S]*an-app[\s\S]*Operations that it has started/);
    expect(progress.text).toContain(`/operations/${OPERATION.id}`);
    expect((await get('/console/commands')).text).toContain(`${PROJECT}/commands/request-4`);
    expect(upstream.sent.filter(({ method }) => method === 'POST')).toHaveLength(1);
    const audit = api.memory.sync.items().filter((item) => item['kind'] === 'audit');
    expect(audit.map((item) => [item['client_id'], item['call'], item['outcome']])).toEqual([
      ['an-app', 'consoleSignIn', 'done'],
      ['an-app', 'restartEndpoint', 'done'],
      ['an-app', 'restartEndpoint', 'done'],
    ]);
  });

  test.each([
    ['offers to repeat what was given up, as the act that helps', { status: 'error' }, 'button do'],
    ['offers quietly to repeat what the upstream may still retry', { status: 'failed' }, 'button'],
    ['offers quietly to repeat what has ended well', { status: 'finished' }, 'button'],
    ['does not offer to repeat what is under way', { status: 'running' }, undefined],
  ])('%s', async (_name, reading, shown) => {
    const { record, signIn } = setUp(answering({ current_state: 'idle' }));
    await record({ action: 'start_compute', endpoint_id: ENDPOINT, failures_count: 1, ...reading });

    const { text } = await (await signIn()).get(PAGE);

    expect(/class="([^"]+)" href="[^"]+">Repeat</.exec(text)?.[1]).toBe(shown);
  });

  test.each([
    ['the values are not kept', { action: 'apply_config' }, {}, 'does not keep the values'],
    ['no call asks for it', { action: 'check_availability' }, {}, 'no call asks for it alone'],
    ['the compute is gone', {}, { id: 'ep-another' }, 'its compute does not exist any more'],
    ['the compute is there already', {}, { current_state: 'active' }, 'its compute is active'],
  ])('says why it offers no repetition: %s', async (_name, reading, endpoint, words) => {
    const { record, signIn } = setUp(answering({ current_state: 'idle', ...endpoint }));
    const failed = { action: 'start_compute', endpoint_id: ENDPOINT, failures_count: 1, status: 'error' };
    await record({ ...failed, ...reading });

    const { text } = await (await signIn()).get(PAGE);

    expect(text).toContain(words);
    expect(text).not.toContain('>Repeat<');
  });

  test('says that the token does not allow a repetition', async () => {
    const { record, signIn } = setUp();
    await record({ action: 'start_compute', endpoint_id: ENDPOINT, failures_count: 1, status: 'error' });

    const { text } = await (await signIn({ scopes: ['operations:read'] })).get(PAGE);

    expect(text).toContain('needs the scope computes:restart');
  });

  test('leads from a repetition to its new story, and names what it repeats', async () => {
    const next = anOperation({ id: '33333333-3333-4333-8333-333333333333', action: 'start_compute' });
    const { record, signIn, submit } = setUp((sent) =>
      sent.method === 'POST'
        ? Response.json({ operations: [next] })
        : answering({ current_state: 'idle' })(sent),
    );
    await record({ action: 'start_compute', endpoint_id: ENDPOINT, failures_count: 1, status: 'error' });
    const { get, cookie } = await signIn();
    const [, link = ''] = /href="([^"]+)">Repeat</.exec((await get(PAGE)).text) ?? [];
    const fields = hiddenFields((await get(link)).text);

    const sent = await submit(link, fields, { cookie });
    const story = await get(sent.headers.get('location') ?? '');

    expect(sent.headers.get('location')).toBe(`${PROJECT}/operations/${next.id}?repeats=${OPERATION.id}`);
    expect(story.text).toContain(`It repeats <a href="${PAGE}">`);
  });

  test('leads back from a repetition that the upstream refuses', async () => {
    const { record, signIn, submit } = setUp((sent) =>
      sent.method === 'POST'
        ? Response.json({ code: '', message: 'endpoint not found' }, { status: 404 })
        : answering({ current_state: 'idle' })(sent),
    );
    await record({ action: 'start_compute', endpoint_id: ENDPOINT, failures_count: 1, status: 'error' });
    const { get, cookie } = await signIn();
    const [, link = ''] = /href="([^"]+)">Repeat</.exec((await get(PAGE)).text) ?? [];

    const refused = await (await submit(link, hiddenFields((await get(link)).text), { cookie })).text();

    expect(refused).toContain('endpoint not found');
    expect(refused).toContain(`<a class="button" href="${PAGE}">Back</a>`);
  });

  test('can ask for a fresh reading of a project', async () => {
    const { api, record, signIn, submit } = setUp();
    await record({ status: 'running' });
    const project = {
      kind: 'project',
      account_id: ACCOUNT_ID,
      project_id: OPERATION.project_id,
      is_visible: true,
    };
    const set = { ...project, revision: 0, published: 0, entries: [] };
    await api.memory.update({ key: projectKey(ACCOUNT_ID, OPERATION.project_id), set });
    const { get, cookie } = await signIn();
    const [, formKey = ''] =
      /name="form_key" value="([^"]+)"><button>Read/.exec((await get(PROJECT)).text) ?? [];

    const asked = await submit(`${PROJECT}/read`, { form_key: formKey }, { cookie });
    const refused = await submit(`${PROJECT}/read`, { form_key: 'x' }, { cookie });

    expect([asked.status, refused.status]).toEqual([303, 403]);
    expect((await get(`${PROJECT}?asked`)).text).toContain('The poller was asked');
    expect(api.memory.sync.items().find((item) => item['kind'] === 'read_request')).toMatchObject({
      work: 'READ#main',
      sk: OPERATION.project_id,
    });
  });

  test('say after the end of the session that nothing was done', async () => {
    const { upstream, signIn, submit, pass } = setUp();
    const { get, cookie } = await signIn({ validForMs: 1e9 });
    const fields = hiddenFields((await get(RESTART)).text);
    pass(3_600_001);

    const answer = await submit(RESTART, fields, { cookie });

    expect(answer.status).toBe(401);
    expect(await answer.text()).toContain('Your session had ended, so nothing was done.');
    expect(upstream.sent.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  test('are neither shown nor accepted without the scope for them', async () => {
    const { upstream, signIn, submit } = setUp();
    const { get, cookie } = await signIn({ scopes: ['operations:read', 'computes:read', 'projects:read'] });

    expect((await get(PROJECT)).text).toContain(ENDPOINT);
    expect((await get(PROJECT)).text).not.toContain('/restart');
    expect((await get(RESTART)).status).toBe(403);
    expect((await submit(RESTART, { form_key: 'x', command_key: 'y' }, { cookie })).status).toBe(403);
    expect(upstream.sent.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  test("of another site are refused: without a form key, with another session's key, or from another origin", async () => {
    const { upstream, signIn, submit, pass } = setUp();
    const { get, cookie } = await signIn({ validForMs: 1e9 });
    pass(5);
    const other = await signIn({ validForMs: 1e9 });
    const keyOf = async (from: typeof get) =>
      /name="form_key" value="([^"]+)"/.exec((await from(RESTART)).text)?.[1] ?? '';
    const [own, foreign] = [await keyOf(get), await keyOf(other.get)];

    const answers = [
      await submit(RESTART, { command_key: 'k' }, { cookie }),
      await submit(RESTART, { form_key: foreign, command_key: 'k' }, { cookie }),
      await submit(RESTART, { form_key: own, command_key: 'k' }, { cookie, origin: 'https://evil.example' }),
      await submit(RESTART, { form_key: own, command_key: 'k' }, { cookie, origin: 'null' }),
      await submit(RESTART, { form_key: own, command_key: 'k' }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 401]);
    expect(upstream.sent.filter(({ method }) => method === 'POST')).toEqual([]);
  });
});

describe('hostile text', () => {
  const HOSTILE = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    '</pre><script>x</script>',
    '<!--',
    '&lt;b&gt;',
    '\u202Eevil',
    '\u2066\u061cevil',
    'e\u0007\u009bvil',
    '{{7*7}}',

    '</title><svg onload=x>',
    ']]>',
    '<a href="javascript:x">y</a>',
  ];

  test.each(HOSTILE)('%s is shown as text on every page', async (text) => {
    const hostileEndpoints = { endpoints: [{ id: text, type: text, current_state: text, branch_id: text }] };
    const { record, signIn } = setUp(({ url }) =>
      Response.json(
        url.endsWith('/endpoints') ? hostileEndpoints : { operation: { ...OPERATION, extra: text } },
      ),
    );
    await record({ action: text, status: text, error: text, branch_id: text, endpoint_id: text });
    await record({
      id: '22222222-2222-4222-8222-222222222222',
      action: text,
      status: 'failed',
      failures_count: 1,
      error: text,
    });
    const { get } = await signIn();
    const query = encodeURIComponent(text);

    for (const path of [
      '/console',
      PROJECT,
      PAGE,
      '/console/events',
      `/console/events?action=${query}`,
      `/console/subscribe?action=${query}&status=${query}&project_id=${query}`,
      `/console/${query}`,
    ]) {
      const page = (await get(path)).text;
      expect(page).not.toMatch(/\p{Bidi_C}|(?!\n)\p{Cc}/u);
      const tags = [...page.matchAll(/<[a-z!/][^>]*>/gi)].map(([tag]) => tag);
      expect([
        path,
        tags.filter(
          (tag) =>
            /<(script|img|iframe|object|embed)/i.test(tag) &&
            !/^<script src="\/console\/assets\/script-[0-9a-f]+\.js" defer>$/.test(tag),
        ),
      ]).toEqual([path, []]);
      expect(tags.filter((tag) => / on[a-z]+=|javascript:/i.test(tag.replace(/"[^"]*"/g, '""')))).toEqual([]);
      expect(tags.filter((tag) => /href="(?!\/|\?|#)/.test(tag))).toEqual([]);
    }
  });
});
