/** Tests links of other sites, with which browsers hold back the cookie of a session. */

import { expect, test } from 'vitest';
import { createApiUnderTest } from '../api/api-under-test.ts';

const api = createApiUnderTest({ upstreamBaseUrl: 'https://upstream.example/api/v2', upstreamKey: 'k' });
const LINK = '/console/accounts/main/projects/p-1/operations/op-1?tz=UTC';
const FROM_ANOTHER_SITE = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };

test('a page that was asked for by a link of another site is asked for once more, from the console itself', async () => {
  const answer = await api.app.request(LINK, { headers: FROM_ANOTHER_SITE });

  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain(`<meta http-equiv="refresh" content="0;url=${LINK}">`);
  expect(answer.headers.get('cache-control')).toBe('no-store');
});

test.each([
  ['the console itself', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }],
  ['the address bar', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }],
  ['a script or an image of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
  ['a browser that does not say', {}],
])('a page that was asked for by %s is answered with the form to sign in', async (_name, headers) => {
  const answer = await api.app.request(LINK, { headers });

  expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('<h1>Sign in</h1>')]);
});

test.each(['/console//evil.example', '/console/a;url=b', '/console/x?next=https://evil.example'])(
  'the browser is not sent on to an address that is no plain path of the console: %s',
  async (path) => {
    const answer = await api.app.request(path, { headers: FROM_ANOTHER_SITE });

    expect(await answer.text()).not.toContain('http-equiv');
  },
);
