/** Tests the page of alerts: what people were told, how the channels do, the test of a channel, and the banner of a mute of everything. */

import { expect, test } from 'vitest';
import { createAlertStore } from '../../functions/notifier/alert-store.ts';
import type { Notice } from '../../functions/notifier/deciding/notice.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { createMemoryIndexes } from '../store/memory-indexes.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);
const MINUTE_MS = 60_000;

const failure: Notice = {
  id: 'event-1',
  kind: 'given_up',
  severity: 'critical',
  account_id: 'main',
  observed_at: '2026-01-15T11:00:00.000Z',
  project_id: 'sweet-forest',
  operation_id: 'op-1',
  action: 'apply_config',
  error: 'storage unavailable',
};

async function setUp(options: TokenOptions = {}) {
  let nowMs = NOON_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock,
  });
  const indexes = createMemoryIndexes(api.memory);
  const alerts = createAlertStore(api.memory.as('notifier'), indexes, { clock, telemetry: silentTelemetry });
  const post = (path: string, fields: Readonly<Record<string, string>>, cookie = '') =>
    api.app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost', cookie },
      body: new URLSearchParams(fields).toString(),
    });
  const token = await api.issueToken({ validForMs: 1e9, ...options });
  const signedIn = await post('/console/sign-in', { token, next: '/console' });
  const session = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const get = async (path: string, cookie = session) =>
    (await api.app.request(path, { headers: { cookie } })).text();
  /** Sends a form of the page, and resolves to the cookies that the browser then has. */
  const submit = async (path: string, fields: Readonly<Record<string, string>> = {}) => {
    const [, form_key = ''] = /name="form_key" value="([^"]+)"/.exec(await get('/console/alerts')) ?? [];
    const answer = await post(path, { form_key, ...fields }, session);
    const set = answer.headers.getSetCookie().map((each) => each.split(';')[0]);
    return { status: answer.status, cookies: [session, ...set].join('; ') };
  };
  const tell = async (channel: string, notice: Notice, outcome: 'reported' | 'refused' | 'healed') => {
    const pending = await alerts.inbox.add(channel, notice);
    if (pending !== undefined)
      await alerts.ends.settle(channel, [pending.sk], { outcome, reason: 'no_channel' });
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { alerts, get, submit, tell, pass };
}

const rowOf = (page: string, channel: string) =>
  new RegExp(`<tr id="channel-${channel}">.*?</tr>`, 's').exec(page)?.[0] ?? '';

test('what was told to whom and when stands there, and what the channel answered', async () => {
  const { get, tell, pass } = await setUp();
  await tell('slack', failure, 'reported');
  await tell('email', { ...failure, id: 'event-2', kind: 'failed', severity: 'warning' }, 'refused');
  await tell('slack', { ...failure, id: 'event-3', kind: 'failed', error: 'healed by itself' }, 'healed');
  await tell(
    'slack',
    { ...failure, id: 'event-4', account_id: 'other', error: 'of another account' },
    'reported',
  );
  pass(3 * MINUTE_MS);

  const page = await get('/console/alerts');

  expect(page).toMatch(
    /<td>slack<\/td><td><a href="[^"]+\/operations\/op-1">apply_config<\/a> <span class="bad">failed and given up<\/span><br><span class="quiet">storage unavailable/,
  );
  expect(page).toMatch(/refused<\/span> <span class="quiet">no_channel/);
  expect(page).not.toMatch(/healed by itself|of another account/);
  expect(rowOf(page, 'slack')).toMatch(/works[\s\S]*12:00:00[\s\S]*3 min ago/);
  expect(rowOf(page, 'email')).toMatch(/refused its latest alert[\s\S]*answer: no_channel/);
});

test('alerts of another account are no reason to say that nobody was told', async () => {
  const { get, tell, pass } = await setUp();
  await tell('slack', failure, 'reported');
  pass(MINUTE_MS);
  for (let count = 0; count < 100; count++)
    await tell('slack', { ...failure, id: `other-${count}`, account_id: 'other' }, 'reported');

  const page = await get('/console/alerts');

  expect(page).toContain('None of the latest 100 alerts of each channel is about what you may see.');
  expect(page).not.toContain('Nobody was told');
});

test('a channel that refuses alerts after a success says so, also when the success is no more among the latest', async () => {
  const { get, tell, pass } = await setUp();
  await tell('slack', failure, 'reported');
  pass(MINUTE_MS);
  await tell('slack', { ...failure, id: 'refused-0' }, 'refused');
  const soon = rowOf(await get('/console/alerts'), 'slack');
  for (let count = 1; count < 100; count++)
    await tell('slack', { ...failure, id: `refused-${count}` }, 'refused');

  expect(soon).toMatch(/refused its latest alert[\s\S]*answer: no_channel[\s\S]*12:00:00/);
  expect(rowOf(await get('/console/alerts'), 'slack')).toMatch(
    /refused its latest alert[\s\S]*none among the latest 100/,
  );
});

test('how many alerts wait is not told to a person who is limited to projects', async () => {
  const { alerts, get } = await setUp({ project_ids: ['another'] });
  await alerts.inbox.add('slack', failure);

  const row = rowOf(await get('/console/alerts'), 'slack');

  expect(row).toContain('needs all projects');
  expect(row).not.toContain('1 alert');
  expect(row).toMatch(/not used yet, or not set up[\s\S]*none in 40 days/);
});

test('a channel that takes nothing says so, since when, with its answer and how many wait', async () => {
  const { alerts, get, pass } = await setUp();
  const state = await alerts.channels.read('slack');
  await alerts.channels.write('slack', { ...state, waiting_since_ms: NOON_MS, last_reason: 'ENOTFOUND' });
  await alerts.inbox.add('slack', failure);
  pass(12 * MINUTE_MS);

  expect(rowOf(await get('/console/alerts'), 'slack')).toMatch(
    /takes nothing[\s\S]*12 min ago[\s\S]*answer: ENOTFOUND[\s\S]*1 alert, the oldest for 12 min/,
  );
});

test('a test goes to the notifier as a critical notice marked as a test, and the page says so once', async () => {
  const { alerts, get, submit } = await setUp();

  const { status, cookies } = await submit('/console/alerts/slack/test');

  expect(status).toBe(303);
  const waiting = await alerts.waiting.list('slack', 10, () => true);
  expect(await alerts.waiting.read('slack', waiting)).toMatchObject([
    { notice: { severity: 'critical', is_test: true, client_id: 'an-app', action: 'channel_test' } },
  ]);
  expect(await get('/console/alerts', cookies)).toContain(
    '<p class="toast" role="status">A test goes out on slack within a minute.</p>',
  );
  expect(await get('/console/alerts')).not.toContain('class="toast"');
  expect(await alerts.waiting.list('email', 10, () => true)).toEqual([]);
});

test.each([
  ['without the scope', { scopes: ['operations:read'] as const }],
  ['limited to projects', { project_ids: ['sweet-forest'] }],
])('a person %s tests no channel', async (_name, options) => {
  const { alerts, get, submit } = await setUp(options);

  expect(await get('/console/alerts')).toContain('needs alerts:mute');
  expect((await submit('/console/alerts/slack/test', { form_key: 'forged' })).status).toBe(403);
  expect(await alerts.waiting.list('slack', 10, () => true)).toEqual([]);
});

test('while everything is muted every page says so, until when, why and by whom', async () => {
  const { get, submit, pass } = await setUp();
  const mute = { project_id: '', action: '', duration_seconds: '3600', reason: 'a drill' };
  await submit('/console/mutes', { ...mute, project_id: 'sweet-forest' });
  expect(await get('/console/events')).not.toContain('class="banner"');

  const { cookies } = await submit('/console/mutes', { ...mute, confirmed: 'on' });

  const pages = await Promise.all(
    ['/console', '/console/events', '/console/alerts'].map((path) => get(path)),
  );
  for (const page of pages)
    expect(page).toMatch(
      /class="banner" role="alert">All alerts are muted,[\s\S]*in 1 h[\s\S]*: a drill \(an-app\)/,
    );
  expect(await get('/console', cookies)).toContain('The alerts are muted.');
  pass(61 * MINUTE_MS);
  expect(await get('/console')).not.toContain('class="banner"');
});
