/** The switch of the console that holds all commands of an account, as a browser uses it. */

import { describe, expect, test } from 'vitest';
import { createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { anOperation } from '../builders.ts';

const PAGE = '/console/accounts/main/freeze';
const PROJECT_ID = anOperation().project_id;
const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-quiet-pond-a1234567/restart`;

function setUp() {
  const upstream = createUpstreamDouble();
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: upstream.fetch,
  });
  const submit = (path: string, fields: Readonly<Record<string, string>>, headers: object = {}) =>
    api.app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const signIn = async (options: TokenOptions = {}) => {
    const token = await api.issueToken(options);
    const response = await submit('/console/sign-in', { token, next: '/console' });
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    const get = async (path: string) => {
      const answer = await api.app.request(path, { headers: { cookie } });
      return { status: answer.status, text: await answer.text() };
    };
    /** Sends the form with the key of the session, which every page has in its form for signing out. */
    const send = async (fields: Readonly<Record<string, string>>, headers: object = {}) => {
      const form_key = /name="form_key" value="([^"]+)"/.exec((await get(PAGE)).text)?.[1] ?? '';
      return submit(PAGE, { form_key, ...fields }, { cookie, ...headers });
    };
    return { token, get, send };
  };
  const restart = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await api.app.request(RESTART, { method: 'POST', headers })).status;
  };
  return { api, upstream, signIn, restart };
}

describe('the switch of the freeze', () => {
  test('holds all commands with the reason, which the overview shows, and lets them go on', async () => {
    const { api, signIn, restart } = setUp();
    const { token, get, send } = await signIn();
    expect((await get('/console')).text).toContain(`href="${PAGE}"`);
    expect((await get(PAGE)).text).toContain('Commands go on as usual');

    const frozen = await send({ switch: 'on', reason: 'An incident of the <upstream>.' });

    expect([frozen.status, frozen.headers.get('location')]).toEqual([303, PAGE]);
    expect((await get(PAGE)).text).toContain('An incident of the &lt;upstream&gt;.');
    expect((await get('/console')).text).toContain('All commands are held: An incident');
    expect(await restart(token)).toBe(503);

    expect((await send({ switch: 'off' })).status).toBe(303);
    expect((await get('/console')).text).not.toContain('All commands are held');
    expect(await restart(token)).toBe(200);
    const audit = api.memory.sync.items().filter(({ kind }) => kind === 'audit');
    expect(audit.map(({ call, outcome }) => [call, outcome])).toEqual(
      expect.arrayContaining([
        ['freezeAccount', 'done'],
        ['liftFreeze', 'done'],
      ]),
    );
  });

  test('needs a reason', async () => {
    const { signIn, restart } = setUp();
    const { token, send } = await signIn();

    const refused = await send({ switch: 'on', reason: ' ' });

    expect(await refused.text()).toContain('The switch was answered with 400: body.reason');
    expect(await restart(token)).toBe(200);
  });

  test.each([
    ['without the scope for it', { scopes: ['operations:read', 'computes:restart'] }],
    ['to a caller who is limited to projects', { project_ids: [PROJECT_ID] }],
  ] satisfies [string, TokenOptions][])('is neither shown nor accepted %s', async (_name, options) => {
    const { signIn, restart } = setUp();
    const { token, get, send } = await signIn(options);

    expect((await get('/console')).text).not.toContain(PAGE);
    expect((await get(PAGE)).text).not.toContain('name="switch"');
    expect((await send({ switch: 'on', reason: 'Mine.' })).status).toBe(403);
    expect(await restart(token)).toBe(200);
  });

  test('is refused without the key of the session, and from another origin', async () => {
    const { signIn, restart } = setUp();
    const { token, send } = await signIn();
    const on = { switch: 'on', reason: 'Not mine.' };

    const answers = [
      await send({ ...on, form_key: 'x' }),
      await send(on, { origin: 'https://evil.example' }),
      await send(on, { cookie: '' }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 401]);
    expect(await restart(token)).toBe(200);
  });
});
