/** Which names the API and the console take for an account, and which cookies they take from a browser. */

import { describe, expect, test } from 'vitest';
import { createApiUnderTest } from '../../api/api-under-test.ts';

const ORIGIN = 'https://bridge.example';

/** A person who has signed in at the console over https, and the `Set-Cookie` header of the sign-in. */
async function setUp() {
  const api = createApiUnderTest({ upstreamBaseUrl: 'https://upstream.example/api/v2', upstreamKey: 'k' });
  const token = await api.issueToken();
  const signedIn = await api.app.request(`${ORIGIN}/console/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token, next: '/console' }).toString(),
  });
  const [setCookie = ''] = signedIn.headers.getSetCookie();
  const [cookie = ''] = setCookie.split(';');
  const get = async (path: string, headers: Record<string, string> = { cookie }) =>
    (await api.app.request(`${ORIGIN}${path}`, { headers })).status;
  return { api, token, setCookie, cookie, get };
}

describe('an account', () => {
  test.each(['other', 'constructor'])(
    '%s that the visitor may not see has no page of its freeze',
    async (id) => {
      const { get } = await setUp();

      expect(await get('/console/accounts/main/freeze')).toBe(200);
      expect(await get(`/console/accounts/${id}/freeze`)).toBe(404);
      expect(await get(`/console/accounts/${id}`)).toBe(404);
    },
  );

  test('is not called what every object has already', async () => {
    const { api, token } = await setUp();
    const add = async (account_id: string) => {
      const answer = await api.app.request(`${ORIGIN}/bridge/v1/accounts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ account_id, upstream_base_url: 'https://upstream.example/api/v2' }),
      });
      return { status: answer.status, text: await answer.text() };
    };

    expect(await add('constructor')).toMatchObject({
      status: 400,
      text: expect.stringContaining('account_id'),
    });
    expect((await add('constructors')).text).not.toContain('account_id:');
  });
});

describe('the cookie of a session over https', () => {
  test('is bound to this host, so that no neighbouring subdomain can plant one', async () => {
    const { setCookie, cookie, get } = await setUp();

    expect(setCookie).toMatch(
      /^__Host-bridge_session=[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(await get('/console')).toBe(200);
    for (const name of ['__Secure-bridge_session', 'bridge_session'])
      expect(await get('/console', { cookie: cookie.replace('__Host-bridge_session', name) })).toBe(401);
  });

  test('opens nothing of the API, although a browser sends it there', async () => {
    const { get } = await setUp();

    expect([await get('/bridge/v1/me'), await get('/api/v2/projects')]).toEqual([401, 401]);
  });
});
