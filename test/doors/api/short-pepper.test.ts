/** A pepper that is a word is found from one cookie of the console, so the API signs nobody in and serves no token with it. */

import { createHmac } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startApi } from './api-on-aws.ts';

const ORIGIN = 'https://bridge.example';
const WORDS = ['password', 'operations-bridge', 'correct-horse-battery', 'pepper', 'x'.repeat(31)];
const LONG = 'b9f1c07d2a6e4853b9f1c07d2a6e4853';

/** What a viewer does who has only their own cookie: each word of a list is tried offline. */
function guessFrom(cookie: string): string | undefined {
  const [payload = '', mac] = cookie.split('=')[1]?.split('.') ?? [];
  return WORDS.find(
    (word) => createHmac('sha256', word).update(`console session\n${payload}`).digest('hex') === mac,
  );
}

/** The log goes to the console in a test. */
function withoutErrorLog() {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => error.mockRestore());
  return error;
}

async function signIn(pepper: string) {
  const api = await startApi(72, { pepper });
  const { status, headers } = await api.browse(`${ORIGIN}/console/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: api.token, next: '/console' }).toString(),
  });
  const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return { api, status, cookie, guessed: guessFrom(cookie) };
}

test.each(WORDS)('the pepper "%s" cannot be guessed, because nothing is made with it', async (word) => {
  const error = withoutErrorLog();
  const { api, status, cookie, guessed } = await signIn(word);
  const me = await api.request('GET', '/bridge/v1/me');
  const lines = error.mock.calls.flat().map(String);

  expect({ guessed, cookie, status }).toEqual({ guessed: undefined, cookie: '', status: 500 });
  expect(me).toMatchObject({ status: 500, body: { type: expect.stringContaining('internal') } });
  expect(JSON.stringify(me.body)).not.toMatch(/pepper|characters/);
  expect(lines.find((line) => line.includes('secret.not_read'))).toMatch(
    /secret_too_short.*Secret pepper has fewer than 32 characters.*put a long random text into it/s,
  );
});

test('a pepper of 32 characters serves tokens and sessions, and a word list does not have it', async () => {
  const { api, status, cookie, guessed } = await signIn(LONG);

  expect([status, guessed]).toEqual([303, undefined]);
  expect((await api.browse(`${ORIGIN}/console`, { headers: { cookie } })).status).toBe(200);
  expect((await api.request('GET', '/bridge/v1/me')).status).toBe(200);
});

test('a pepper that becomes a word while the API runs ends its tokens at the next reading', async () => {
  withoutErrorLog();
  const { api } = await signIn(LONG);
  expect((await api.request('GET', '/bridge/v1/me')).status).toBe(200);

  api.aws.secrets.put('pepper', 'password');
  await api.time.pass(5 * 60_000 + 1_000);

  expect((await api.request('GET', '/bridge/v1/me')).status).toBe(500);
});
