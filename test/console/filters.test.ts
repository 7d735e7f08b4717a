/** Tests the filters of lists: they stand in the address, stay there from page to page, and mean the same in every zone. */

import { describe, expect, test } from 'vitest';
import { createHourCountsStore, hourOf, NO_COUNTS } from '../../shared/insights/hour-counts.ts';
import { endedWithoutOperations } from '../../shared/records/command-record.ts';
import { decideNextRecord } from '../../shared/records/operation-record.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { projectKey } from '../../shared/store/keys.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { aContext, anOperation, commandRecord } from '../builders.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);

async function setUp() {
  let nowMs = NOON_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock,
  });
  const store = createBridgeStore(api.memory, ACCOUNT_ID, clock);
  const record = async (id: string, atMs: number, fields: Parameters<typeof anOperation>[0] = {}) => {
    const time = new Date(atMs).toISOString();
    const operation = anOperation({ id, status: 'failed', created_at: time, updated_at: time, ...fields });
    const next = decideNextRecord(undefined, operation, { ...aContext(), nowMs: atMs });
    if (next !== undefined) await store.record(next, undefined);
  };
  const signIn = async (options: TokenOptions = {}) => {
    const response = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: await api.issueToken(options), next: '/console' }).toString(),
    });
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    return async (path: string) => (await api.app.request(path, { headers: { cookie } })).text();
  };
  const countFailures = (atMs: number, failed_count: number) =>
    createHourCountsStore(api.memory, ACCOUNT_ID)
      .itemOf(hourOf(atMs))
      .write({ counts: { ...NO_COUNTS, failed_count }, revision: 1, writer: 'a-poller' });
  return {
    api,
    store,
    countFailures,
    record,
    signIn,
    setTime: (epochMs: number) => {
      nowMs = epochMs;
    },
  };
}

describe('the charts of the overview', () => {
  test('take the range of the page, as far back as hours are kept', async () => {
    const { countFailures, signIn } = await setUp();
    await countFailures(NOON_MS - 30 * 3_600_000, 7);
    await countFailures(NOON_MS - 2 * 3_600_000, 5);
    const get = await signIn();

    const day = await get('/console');
    const range = await get('/console?from=2026-01-14T05:30:00Z&until=2026-01-14T08:00:00Z');
    const longAgo = await get('/console?from=2026-01-02T00:00:00Z&until=2026-01-03T00:00:00Z');

    expect(day).toContain('5 attempts in 24 hours');
    expect(range).toContain('7 attempts in 3 hours');
    expect(range).toContain('Filter: from 2026-01-14 05:30:00, until 2026-01-14 08:00:00');
    expect(longAgo).toContain('Nothing is kept of these hours');
    const since = 'Hours before <time datetime="2026-01-13T13:00:00.000Z"';
    expect(await get('/console?from=2026-01-13T12:00:00Z')).toContain(since);
    expect(await get('/console?from=2026-01-13T13:10:00Z')).not.toContain('Hours before');
  });
});

const idOf = (number: number) => `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`;
const idsIn = (text: string) =>
  new Set([...text.matchAll(/operations\/(\d{8})-/g)].map(([, id]) => Number(id)));

describe('the events', () => {
  test('fold their filter away, and name what is chosen in it', async () => {
    const get = await (await setUp()).signIn();

    const whole = await get('/console/events');
    const filtered = await get('/console/events?status=failed&text=pond&from=2026-01-15T11:00:00Z');

    expect(whole).toContain('<summary>Filter</summary><form class="filter"');
    expect(filtered).toContain('<summary>Filter: failed, pond, from 2026-01-15 11:00:00</summary>');
    expect(await get('/console/audit?outcome=done')).toContain('<summary>Filter: done</summary>');
  });

  test('of a range are the same, whether it is given in UTC or in the zone of the page', async () => {
    const { record, signIn } = await setUp();
    for (const hour of [1, 2, 3, 4]) await record(idOf(hour), NOON_MS - hour * 3_600_000);
    const get = await signIn();

    const utc = await get('/console/events?from=2026-01-15T08:30:00Z&until=2026-01-15T10:30:00Z');
    const berlin = await get(
      '/console/events?tz=Europe/Berlin&from=2026-01-15T09:30&until=2026-01-15T11:30:00',
    );

    expect(idsIn(utc)).toEqual(new Set([2, 3]));
    expect(idsIn(berlin)).toEqual(new Set([2, 3]));
    expect(berlin).toContain('From (Europe/Berlin)');
    expect(berlin).toContain('value="2026-01-15T09:30:00"');
  });

  test.each([
    '0026-01-15T08:30',
    '9999-12-31T23:59:59&tz=Pacific/Kiritimati',
    '-271821-04-20T00:00:00Z',
    '%2B275760-09-13T00:00:00Z',
  ])('from %s, which nobody means, are all of them', async (from) => {
    const { record, signIn } = await setUp();
    await record(idOf(1), NOON_MS - 3_600_000);
    const get = await signIn();

    expect(idsIn(await get(`/console/events?from=${from}`))).toEqual(new Set([1]));
  });

  test('are found by a text, and the filter stays in the link to older ones', async () => {
    const { record, signIn } = await setUp();
    for (let number = 0; number < 60; number++)
      await record(idOf(number), NOON_MS - number * 1_000, {
        error: number % 2 === 0 ? 'No Capacity' : 'timeout',
      });
    const get = await signIn();

    const text = await get('/console/events?text=no+capacity&status=failed&from=2026-01-15T00:00:00Z');

    expect([...idsIn(text)].every((number) => number % 2 === 0)).toBe(true);
    expect(text).toContain('value="no capacity"');
    const all = await get('/console/events?status=failed&from=2026-01-15T00:00:00Z');
    expect(all).toMatch(/href="\?status=failed&amp;from=2026-01-15T00%3A00%3A00.000Z&amp;cursor=/);
  });
});

describe('the audit', () => {
  test('is filtered by a text and by a range in the zone of the page', async () => {
    const { signIn, setTime } = await setUp();
    setTime(NOON_MS - 7_200_000);
    await signIn();
    setTime(NOON_MS);
    const get = await signIn();
    const rowsIn = (text: string) => text.match(/<td>consoleSignIn/g)?.length ?? 0;

    expect(rowsIn(await get('/console/audit'))).toBe(2);
    expect(rowsIn(await get('/console/audit?text=SIGNIN'))).toBe(2);
    expect(rowsIn(await get('/console/audit?text=restart'))).toBe(0);
    expect(rowsIn(await get('/console/audit?tz=Asia/Tokyo&from=2026-01-15T20:00:00'))).toBe(1);
  });
});

describe('the commands', () => {
  test('are filtered by a text and by a range, and a folded filter names both', async () => {
    const { store, signIn } = await setUp();
    for (const hour of [1, 2, 3]) {
      const sent_at = new Date(NOON_MS - hour * 3_600_000).toISOString();
      const call = hour === 2 ? 'restartEndpoint' : 'startEndpoint';
      await store.record({ ...commandRecord('quiet-sea-1', `request-${hour}`), sent_at, call }, undefined);
    }
    const get = await signIn();
    const shownIn = (text: string) =>
      [...text.matchAll(/commands\/request-(\d)/g)].map(([, hour]) => Number(hour));

    expect(shownIn(await get('/console/commands'))).toEqual([1, 2, 3]);
    expect(shownIn(await get('/console/commands?text=restart'))).toEqual([2]);
    expect(
      shownIn(await get('/console/commands?from=2026-01-15T09:30:00Z&until=2026-01-15T10:30:00Z')),
    ).toEqual([2]);
    const berlin = await get('/console/commands?tz=Europe/Berlin&text=start&until=2026-01-15T11:30:00');
    expect(shownIn(berlin)).toEqual([2, 3]);
    expect(berlin).toContain('<summary>Filter: start, until 2026-01-15 11:30:00</summary>');
    expect(await get('/console/commands?from=2026-01-15T11:59:00Z')).toContain('No command matches.');
  });
});

describe('more commands than a page shows', () => {
  test('leave no place to those that the token may not see, and the page names how far it looks back', async () => {
    const { store, signIn } = await setUp();
    const end = async (number: number, project_id: string) => {
      const ids = { account_id: ACCOUNT_ID, project_id, request_id: `request-${number}` };
      const command = { ...ids, client_id: 'an-app', call: 'startEndpoint' };
      await store.record(endedWithoutOperations(command, 'succeeded', NOON_MS - number * 1_000), undefined);
    };
    for (let number = 0; number < 51; number++) await end(number, 'quiet-sea-1');
    await end(60, 'sweet-forest-1');

    const all = await (await signIn())('/console/commands');
    const limited = await (await signIn({ project_ids: ['sweet-forest-1'] }))('/console/commands');

    expect(all).toMatch(/Commands that ended before <time[^>]*>11:59:11<\/time> are not shown/);
    expect(limited).toContain('commands/request-60');
    expect(limited).not.toContain('are not shown');
  });

  test('say that of those in line only the latest were looked at', async () => {
    const { api, signIn, setTime } = await setUp();
    const headers = { authorization: `Bearer ${await api.issueToken()}`, prefer: 'respond-async' };
    const bound = 'Of the commands that were put in line, only the latest 50 were looked at.';
    const get = await signIn();
    const ask = async (number: number) => {
      setTime(NOON_MS + number * 1_000);
      const project = `pond-${number}`;
      api.memory.sync.update({ key: projectKey(ACCOUNT_ID, project), set: { kind: 'project' } });
      const path = `/api/v2/projects/${project}/endpoints/ep-quiet-pond-a1234567/restart`;
      expect((await api.app.request(path, { method: 'POST', headers })).status).toBe(202);
    };
    for (let number = 0; number < 50; number++) await ask(number);
    expect(await get('/console/commands')).not.toContain(bound);

    await ask(50);

    expect(await get('/console/commands')).toContain(bound);
  });
});

describe('words', () => {
  test('are found across projects: action, status, error and name, all of them in one event', async () => {
    const { record, signIn, setTime } = await setUp();
    await record(idOf(1), NOON_MS, { action: 'start_compute', error: 'storage unavailable' });
    await record(idOf(2), NOON_MS, { action: 'apply_config', project_id: 'sweet-forest-1' });
    setTime(NOON_MS + 60_000);
    const get = await signIn();
    const found = async (words: string) => [
      ...idsIn(await get(`/console/search?q=${encodeURIComponent(words)}`)),
    ];

    expect(await found('start_compute')).toEqual([1]);
    expect(await found('Storage')).toEqual([1]);
    expect(new Set(await found('failed'))).toEqual(new Set([1, 2]));
    expect(await found('failed sweet-forest')).toEqual([2]);
    expect(await get('/console/search?q=nothing+like+it')).toContain('no event with all of these words');
  });

  test('and events of a project are found behind many newer events of projects that the token may not see', async () => {
    const { record, signIn, setTime } = await setUp();
    await record(idOf(1), NOON_MS - 1_000, { action: 'create_branch', project_id: 'sweet-forest-1' });
    for (let number = 2; number < 400; number++)
      await record(idOf(number), NOON_MS + number, { action: 'create_branch' });
    setTime(NOON_MS + 60_000);
    const get = await signIn({ project_ids: ['sweet-forest-1'] });
    const pages = ['/console/events', '/console/search?q=create_branch'];

    for (const path of pages) expect([...idsIn(await get(path))]).toEqual([1]);
    expect(await get('/console/subscribe')).toContain('of the last 1 events');

    for (let number = 400; number < 1_500; number++) await record(idOf(number), NOON_MS + number);
    for (const path of pages) expect(await get(path)).toMatch(/1000 changed records, back to/);
  });

  test('of a filter are looked for behind many newer events, and the page names how far', async () => {
    const { record, signIn, setTime } = await setUp();
    await record(idOf(1), NOON_MS - 1_000, { action: 'create_branch' });
    for (let number = 2; number < 400; number++) await record(idOf(number), NOON_MS + number);
    setTime(NOON_MS + 60_000);
    const get = await signIn();

    expect([...idsIn(await get('/console/events?action=create_branch'))]).toEqual([1]);
    expect(await get('/console/events?action=delete_branch')).toContain('No event matches.');

    for (let number = 400; number < 1_500; number++) await record(idOf(number), NOON_MS + number);
    const page = await get('/console/events?action=delete_branch');
    expect(page).toMatch(/looked at 1000 changed records, back to <time[^>]*>12:00:00<\/time>/);
    expect(page).toContain('>Older</a>');
  });
});
