/** Tests through the pages what needs a person: what a later operation settles, in what order rows stand, and the page of an event. */

import { describe, expect, test } from 'vitest';
import { WORK_AT_HAND_MAX } from '../../functions/api/read-model/account-activity.ts';
import { decideFirstSight, firstAccountRecord } from '../../shared/records/account-record.ts';
import type { StatusPoint } from '../../shared/records/account-status.ts';
import { EMPTY_JOURNAL } from '../../shared/records/journal.ts';
import { decideNextRecord, type Operation } from '../../shared/records/operation-record.ts';
import { secondOf } from '../../shared/records/time.ts';
import { writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';

const minutesAgo = (minutes: number) => new Date(NOON_MS - minutes * 60_000).toISOString();
const PROJECT = `/console/accounts/main/projects/${anOperation().project_id}`;
const ENDPOINT = 'ep-quiet-pond-a1234567';
const idOf = (digit: number) => `${digit}0000000-0000-4000-8000-000000000000`;

async function setUp(options: TokenOptions = {}) {
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble(() => Response.json({ endpoints: [] })).fetch,
    clock,
  });
  const store = createBridgeStore(api.memory, ACCOUNT_ID, clock);
  /** Every operation is about the same compute, and was created so many minutes ago, by a command of `amira` or by none. */
  const record = async (digit: number, minutes: number, reading: Partial<Operation>, isCommand = false) => {
    const at = minutesAgo(minutes);
    const base = { id: idOf(digit), action: 'start_compute', endpoint_id: ENDPOINT };
    const operation = anOperation({ ...base, created_at: at, updated_at: at, ...reading });
    const command = isCommand ? { client_id: 'amira', request_id: 'r' } : undefined;
    const next = decideNextRecord(undefined, operation, { ...aContext(), command, nowMs: NOON_MS });
    if (next !== undefined) await store.record(next, undefined);
    return next;
  };
  const signedIn = await api.app.request('/console/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: await api.issueToken(options), next: '/console' }).toString(),
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const get = async (path: string) => {
    const response = await api.app.request(path, { headers: { cookie } });
    return { status: response.status, text: await response.text() };
  };
  const post = (path: string, fields: Readonly<Record<string, string>>) =>
    api.app.request(path, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });
  return { api, store, record, get, post };
}

/** Returns the part of a page that lists what needs a person now, without what is folded below it. */
function graveRows(page: string): string {
  return (
    /<table class="stack dense">[\s\S]*?<\/table>/.exec(
      page.replaceAll(/<details[\s\S]*?<\/details>/g, ''),
    )?.[0] ?? ''
  );
}

describe('what needs a person', () => {
  test('loses a row to a later success on the same compute, on every page, and says what has settled it', async () => {
    const { record, get } = await setUp();
    await record(1, 60, { status: 'failed', failures_count: 3, error: 'no capacity' });
    const before = await get('/console');
    await record(2, 30, { status: 'finished' });

    const [overview, project] = [await get('/console'), await get(PROJECT)];
    const operation = await get(`${PROJECT}/operations/${idOf(1)}`);

    expect(graveRows(before.text)).toMatch(/failed repeatedly[\s\S]*no capacity/);
    for (const { text } of [overview, project]) {
      expect(graveRows(text)).toBe('');
      expect(text).toContain('1 failure that a later success or a repeated command has settled');
    }
    expect(operation.text).toMatch(/It needs nobody: <a href="[^"]+20000000-[^"]+">a later success<\/a>/);
    expect(operation.text).not.toContain('Acknowledge</button>');
  });

  test('loses a row to a repeated command, whose own operation is a row when it fails', async () => {
    const { record, get } = await setUp();
    await record(1, 60, { status: 'failed', failures_count: 3 });
    await record(2, 10, { status: 'failed', failures_count: 1, error: 'again' }, true);

    const { text } = await get('/console');

    expect(graveRows(text)).toContain(idOf(2));
    expect(graveRows(text)).not.toContain(idOf(1));
    expect(text).toContain('a command of amira (failed)');
  });

  test('keeps a row that is weeks old and that nothing has settled', async () => {
    const { record, get } = await setUp();
    await record(1, 20 * 24 * 60, { status: 'failed', failures_count: 3 });
    await record(2, 30, { status: 'finished', endpoint_id: 'ep-another' });
    await record(3, 30, { status: 'finished', action: 'suspend_compute' });

    expect(graveRows((await get('/console')).text)).toContain(idOf(1));
  });

  test('is said first on the page of its project', async () => {
    const { record, get } = await setUp();
    await record(1, 60, { status: 'failed', failures_count: 3, error: 'no capacity' });
    await record(2, 60, { status: 'failed', failures_count: 3, action: 'apply_config', endpoint_id: 'ep-b' });

    const { text } = await get(PROJECT);

    expect(text).toContain('It needs a person');
    expect(text.indexOf('no capacity')).toBeLessThan(text.indexOf('<h2>Computes'));
  });
});

describe('the page of an event', () => {
  const eventOf = async ({ record, get }: Awaited<ReturnType<typeof setUp>>) => {
    await record(1, 60, { status: 'failed', failures_count: 1, error: 'no <capacity>' });
    const { text } = await get(`${PROJECT}/operations/${idOf(1)}`);
    return /href="([^"]+\/events\/\w+)"/.exec(text)?.[1] ?? '';
  };

  test('has the JSON of the bus, and is linked from the list of events', async () => {
    const world = await setUp();
    const path = await eventOf(world);

    const { status, text } = await world.get(path);

    expect(status).toBe(200);
    expect(text).toContain('&quot;detail-type&quot;: &quot;Operation State Changed&quot;');
    expect(text).toContain('no &lt;capacity&gt;');
    expect((await world.get('/console/events')).text).toContain(`href="${path}"`);
  });

  test('is not there for an event that the record does not have, or of a project that the visitor must not see', async () => {
    const world = await setUp();
    const path = await eventOf(world);
    const stranger = await setUp({ project_ids: ['another-project-1'] });
    await eventOf(stranger);

    expect((await world.get(path.replace(/\w+$/, 'unknown'))).status).toBe(404);
    expect((await stranger.get(path)).status).toBe(404);
  });

  test('asks the poller to publish the event again, which needs events:replay and all projects', async () => {
    const world = await setUp();
    const path = await eventOf(world);
    const sync = world.api.memory.sync;
    for (const item of sync.items())
      if (item['kind'] === 'operation')
        sync.update({ key: { pk: item.pk, sk: item.sk }, set: { published: 1 } });
    const [, form_key = ''] =
      /name="form_key" value="(\w+)"><button>Send again/.exec((await world.get(path)).text) ?? [];

    const sent = await world.post(path, { form_key });
    const twice = await (await world.post(path, { form_key })).text();
    const forged = await world.post(path, { form_key: 'x' });

    expect([sent.status, sent.headers.get('location'), forged.status]).toEqual([303, `${path}?sent`, 403]);
    expect(sync.items().find((item) => item['kind'] === 'replay')).toMatchObject({
      ids: [path.split('/').at(-1)],
    });
    expect(twice).toContain(`<a class="button" href="${path}">Back</a>`);
    const limited = await setUp({ scopes: ['operations:read'] });
    expect((await limited.get(await eventOf(limited))).text).not.toContain('Send again');
  });
});

test('the page of a project that has moved says so, and does not call it lost', async () => {
  const { store, get } = await setUp();
  const { project_id } = anOperation();
  const moved = { kind: 'project', account_id: ACCOUNT_ID, project_id, is_visible: false } as const;
  await store.record({ ...moved, ...EMPTY_JOURNAL, moved_to: 'other' }, undefined);

  const { text } = await get(PROJECT);

  expect(text).toContain('has moved to another account of this bridge');
  expect(text).not.toContain('does not show this project any more');
  expect(text).not.toContain('other</');
});

test('a project that is gone is not said to fail nowhere, nor to be watched', async () => {
  const { api, store, get } = await setUp();
  const { project_id } = anOperation();
  const gone = { kind: 'project', account_id: ACCOUNT_ID, project_id, is_visible: false } as const;
  await store.record({ ...gone, ...EMPTY_JOURNAL }, undefined);
  await store.record({ ...gone, ...EMPTY_JOURNAL, project_id: 'quiet-sea-1', is_visible: true }, undefined);
  await writeAccountStatus(api.memory, {
    account_id: ACCOUNT_ID,
    written_at: minutesAgo(0),
    last_complete_walk_at: minutesAgo(0),
    project_count: 1,
    open_operation_count: 0,
    requests_per_minute: 300,
    points: [],
  });

  const { text } = await get(PROJECT);

  expect(text).toContain('does not show this project any more');
  expect(text).not.toContain('Nothing that was seen of it fails');
  expect((await get('/console')).text).toContain('the poller reads 1 of them, and the others count by the');
  expect((await get('/console/projects?state=healthy')).text).toContain(
    'A project that is gone stays in this list under the state that it had last.',
  );
});

test('the overview speaks of the first reading until every project was read, whatever was seen before, and never after that', async () => {
  const { api, store, get } = await setUp();
  const status = (points: readonly StatusPoint[]) =>
    writeAccountStatus(api.memory, {
      account_id: ACCOUNT_ID,
      written_at: minutesAgo(0),
      last_complete_walk_at: undefined,
      project_count: 1_000,
      open_operation_count: 0,
      requests_per_minute: 600,
      points,
    });
  const verdict = async () =>
    /<p class="verdict">[\s\S]*?<\/span> ([^<]*)<\/span>/.exec((await get('/console')).text)?.[1];
  // The poller has reported, and no page of the project list could be read yet.
  await status([]);
  expect(await verdict()).toBe('Every project is being read for the first time');

  const seen = { at_ms: NOON_MS, duration_ms: 50_000, request_count: 500, throttled_count: 0 };
  const reading = firstAccountRecord(ACCOUNT_ID, secondOf(NOON_MS - 60_000));
  await store.record(reading, undefined);
  await status([
    { ...seen, transition_count: 9, delay_p50_ms: 13_000, delay_p95_ms: 60_000, delay_max_ms: 70_000 },
  ]);
  expect(await verdict()).toBe('Every project is being read for the first time');

  const watched = decideFirstSight(reading, { project_count: 1_000, failing_count: 0 }, NOON_MS);
  if (watched === undefined) throw new Error('The first sight was not decided');
  await store.record(watched, reading.revision);
  // A new process has not read every project yet, and nothing happens meanwhile.
  await status([]);
  expect(await verdict()).toBe('Events are on time');
  expect((await get('/console/accounts/main')).text).toContain('has not read every project since it started');
});

test('a project that was read, and of which the upstream shows no operation, is not said to be unread', async () => {
  const { store, get } = await setUp();
  const quiet = { kind: 'project', account_id: ACCOUNT_ID, is_visible: true, ...EMPTY_JOURNAL } as const;
  const { project_id } = anOperation();
  for (const id of [project_id, 'quiet-sea-1']) await store.record({ ...quiet, project_id: id }, undefined);
  await store.saveProgress(project_id, { sweptAtMs: NOON_MS }, null);

  expect((await get(PROJECT)).text).toContain('Nothing that was seen of it fails');
  expect((await get('/console/accounts/main/projects/quiet-sea-1')).text).toContain('It is not read yet');
  expect((await get('/console')).text).toContain('1 not read yet');
});

test('the overview does not say that nothing runs when it has not looked at every open operation', async () => {
  const { store, get } = await setUp();
  const nothing = 'Nothing runs at the moment';
  expect((await get('/console')).text).toContain(nothing);
  for (let place = 0; place <= WORK_AT_HAND_MAX; place += 1) {
    const id = `${String(place).padStart(8, '0')}-0000-4000-8000-000000000000`;
    const failing = anOperation({ id, status: 'failed', failures_count: 1 });
    const next = decideNextRecord(undefined, failing, { ...aContext(), nowMs: NOON_MS });
    if (next !== undefined) await store.record(next, undefined);
  }

  expect((await get('/console')).text).not.toContain(nothing);
});
