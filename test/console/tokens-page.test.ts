/** Tests the list of tokens: who sees it, and that nothing of a token is shown that would let another person use it. */

import { describe, expect, test } from 'vitest';
import { createTokenStore } from '../../shared/callers/tokens.ts';
import { createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);

function setUp() {
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock,
  });
  const signIn = async (options: TokenOptions) => {
    const token = await api.issueToken(options);
    const response = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, next: '/console' }).toString(),
    });
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    const get = async (path: string) => {
      const answer = await api.app.request(path, { headers: { cookie } });
      return { status: answer.status, text: await answer.text() };
    };
    return { token, get };
  };
  return { api, clock, signIn };
}

describe('the list of tokens', () => {
  test('shows whose they are, what they may do and which of them are valid, and nothing secret', async () => {
    const { api, clock, signIn } = setUp();
    const { token, get } = await signIn({ client_id: 'an-operator' });
    const revoked = await api.issueToken({ client_id: 'a-robot', scopes: ['operations:read'] });
    const [, revokedId = '', , secretOfRevoked = ''] = revoked.split('_');
    await createTokenStore(api.memory, clock).revoke(revokedId);

    const { status, text } = await get('/console/tokens');

    expect(status).toBe(200);
    expect(text).toMatch(/an-operator[\s\S]*valid|valid[\s\S]*an-operator/);
    expect(text).toMatch(/a-robot[\s\S]*?revoked/);
    const hashes = api.memory.sync
      .items()
      .flatMap((item) =>
        typeof item['hash'] === 'string' ? [JSON.stringify(item['hash']).slice(1, -1)] : [],
      );
    for (const secret of [token, revoked, token.split('_')[2] ?? '-', secretOfRevoked, ...hashes])
      expect(text).not.toContain(secret || 'nothing-empty');
  });

  test('is filtered by a text that stays in the form', async () => {
    const { api, signIn } = setUp();
    const { get } = await signIn({ client_id: 'an-operator' });
    await api.issueToken({ client_id: 'a-robot' });

    const { text } = await get('/console/tokens?text=ROBOT');

    expect(text).toContain('<td>a-robot');
    expect(text).not.toContain('<td>an-operator');
    expect(text).toContain('value="ROBOT"');
  });

  test.each([
    ['may not read the audit', { scopes: ['operations:read'] }],
    ['sees some projects only', { project_ids: ['quiet-pond-12345678'] }],
  ] as const)('is not shown to a person who %s, nor in the navigation', async (_name, options) => {
    const { get } = await setUp().signIn(options);

    expect((await get('/console/tokens')).status).toBe(403);
    expect((await get('/console')).text).not.toContain('href="/console/tokens"');
  });
});
