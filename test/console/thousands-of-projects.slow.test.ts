/**
 * Checks on the real adapter of DynamoDB, over the local table, that every page of an account with 5,000 projects is
 * small and needs few reads. The reads are counted at the client of DynamoDB: an item each, and a query each.
 */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiAccess } from '../../functions/api/access.ts';
import { pollerAccess } from '../../functions/poller/access.ts';
import { createNameKeeper } from '../../functions/poller/account/discovery/keep-names.ts';
import { createBoundReports } from '../../functions/poller/account/status/report-bound.ts';
import { type LocalAws, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { type CountedChange, changesOf, createHourCountsStore } from '../../shared/insights/hour-counts.ts';
import type { AccountStatus } from '../../shared/records/account-status.ts';
import { acknowledged, type JournalRecord } from '../../shared/records/journal-record.ts';
import { decideNextRecord } from '../../shared/records/operation-record.ts';
import { decideDiscovery } from '../../shared/records/project-record.ts';
import { normaliseTimestamp } from '../../shared/records/time.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createDynamoDbIndexes, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { attributesOf, keyOf } from '../../shared/store/items.ts';
import { createProjectNames } from '../../shared/store/project-names.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { createApiUnderTest } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { addTo } from '../insights/values.ts';
import { createTable } from '../local/aws/aws-under-test.ts';

const PROJECTS = 5_000;
const TABLE_NAME = 'thousands';
const PAGE_CHARACTERS_MAX = 200_000;
const READS_MAX = 300;
/** A search for words, and a filter, look through a thousand changed records. */
const SEARCH_READS_MAX = 1_100;

const projectOf = (number: number) => `project-${String(number % PROJECTS).padStart(4, '0')}`;
/** One project has more operations than a page shows. */
const BUSY = 7;
/** This project was never read to its end. */
const NOT_READ = 4_999;
const operationCountOf = (number: number) => (number === BUSY ? 30 : 2);
const idOf = (number: number) => `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`;

const STATUS: AccountStatus = {
  account_id: 'main',
  written_at: new Date(NOON_MS + 30_000).toISOString(),
  last_complete_walk_at: new Date(NOON_MS).toISOString(),
  project_count: PROJECTS,
  open_operation_count: 0,
  requests_per_minute: 600,
  points: [],
};

let aws: LocalAws;
let client: DynamoDBClient;
let readCount = 0;
let cookie = '';
let api: ReturnType<typeof createApiUnderTest>;

/** The account has had a bad day: one of ten operations has failed, and many of them have not recovered. */
async function fillTable(): Promise<void> {
  const { memory } = api;
  const put = (record: JournalRecord) =>
    memory.sync.update({ key: keyOf(record), set: attributesOf(record) });
  const changes: CountedChange[] = [];
  for (let number = 0; number < PROJECTS; number++) {
    const sighting = { account_id: 'main', project_id: projectOf(number), nowMs: NOON_MS, isNews: false };
    const project = decideDiscovery(undefined, sighting);
    if (project === undefined) continue;
    put(project);
    const read = { key: keyOf(project), set: { watermark: normaliseTimestamp('2026-01-15T11:59:00Z') } };
    if (number !== NOT_READ) memory.sync.update(read);
    for (let place = number; place < operationCountOf(number) * PROJECTS; place += PROJECTS) {
      const created_at = new Date(NOON_MS - place * 8_000).toISOString();
      const failed = { status: 'failed', failures_count: (number % 4) + 1 };
      const operation = anOperation({
        id: idOf(place),
        project_id: projectOf(number),
        ...(number % 10 === 0 ? failed : { status: number % 20 === 1 ? 'running' : 'finished' }),
        created_at,
        updated_at: created_at,
      });
      const context = { ...aContext(), nowMs: NOON_MS - place * 8_000 };
      const record = decideNextRecord(undefined, operation, context);
      if (record === undefined) continue;
      changes.push(...changesOf(record));
      put({ ...acknowledged(record, { through: record.revision, derived: record.revision }) });
    }
  }
  const keeper = createNameKeeper(createProjectNames(memory, 'main'));
  keeper.take(
    Array.from({ length: PROJECTS }, (_, number) => ({ id: projectOf(number), name: `shop ${number}` })),
  );
  await keeper.write({ isGone: () => false, bounds: createBoundReports(silentTelemetry) });
  await writeAccountStatus(memory, STATUS);
  const hours = createHourCountsStore(memory, 'main');
  for (const [hour, own] of Map.groupBy(changes, (change) => change.hour))
    await addTo(hours.itemOf(hour), own);
}

async function copyToDynamoDb(): Promise<void> {
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  const items = api.memory.sync.items();
  for (let at = 0; at < items.length; at += 25)
    await documents.send(
      new BatchWriteCommand({
        RequestItems: { [TABLE_NAME]: items.slice(at, at + 25).map((Item) => ({ PutRequest: { Item } })) },
      }),
    );
}

beforeAll(async () => {
  aws = await startLocalAws();
  client = new DynamoDBClient({ endpoint: aws.endpoint, region: 'us-east-1', credentials: aws.credentials });
  await createTable(client, tableDefinition(TABLE_NAME));
  api = createApiUnderTest({
    labels: { live: { project_names: ['shop 421', 'shop 422'] } },
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock: { now: () => NOON_MS + 60_000, sleep: async () => {} },
    wrapTable: () => createDynamoDbTable(client, TABLE_NAME, apiAccess),
    wrapIndexes: () => createDynamoDbIndexes(client, TABLE_NAME),
  });
  await fillTable();
  const token = await api.issueToken();
  await copyToDynamoDb();
  client.middlewareStack.add(
    (next) => async (args) => {
      const keys = (args.input as { RequestItems?: Record<string, { Keys?: unknown[] }> }).RequestItems;
      readCount += keys === undefined ? 1 : (keys[TABLE_NAME]?.Keys?.length ?? 0);
      return next(args);
    },
    { step: 'initialize' },
  );
  const response = await api.app.request('/console/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token, next: '/console' }).toString(),
  });
  cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
}, 300_000);

afterAll(async () => {
  client.destroy();
  await aws.close();
});

async function get(path: string) {
  readCount = 0;
  const response = await api.app.request(path, { headers: { cookie } });
  return { status: response.status, location: response.headers.get('location'), text: await response.text() };
}

describe('5,000 projects', () => {
  test.each([
    ['the overview', '/console'],
    ['the projects', '/console/projects'],
    ['the projects by failures', '/console/projects?order=failures&page=100'],
    ['the projects that need a person', '/console/projects?state=needs+a+person'],
    ['a search that finds many', '/console/search?q=shop'],
    ['a search that finds nothing', '/console/search?q=nothing-like-it'],
    ['the account', '/console/accounts/main'],
    ['a project', `/console/accounts/main/projects/${projectOf(7)}`],
    ['an operation', `/console/accounts/main/projects/${projectOf(10)}/operations/${idOf(10)}`],
    ['the events', '/console/events'],
    ['events by a filter that matches few', '/console/events?action=create_branch'],
    ['a subscription', '/console/subscribe?status=failed'],
    ['the commands', '/console/commands'],
    ['the mutes', '/console/mutes'],
    ['the tokens', '/console/tokens'],
    ['the time zones', '/console/time-zone'],
    ['the audit', '/console/audit'],
  ])('show %s with at most 300 reads, on a page under 200 kB', { timeout: 60_000 }, async (_name, path) => {
    const { status, text } = await get(path);

    expect(status).toBe(200);
    expect(readCount).toBeGreaterThan(0);
    const isSearch = /\/(search|events)\?/.test(path);
    expect(readCount).toBeLessThanOrEqual(isSearch ? SEARCH_READS_MAX : READS_MAX);
    expect(text.length).toBeLessThan(PAGE_CHARACTERS_MAX);
  });

  test('are asked one by one whether they were read only while the poller says that one was not', async () => {
    const table = createDynamoDbTable(client, TABLE_NAME, pollerAccess);
    await writeAccountStatus(table, { ...STATUS, last_complete_walk_at: undefined });

    const first = await get('/console');
    const firstCount = readCount;
    const second = await get('/console/projects?state=not+read+yet');

    expect(first.text).toContain('>1 not read yet<');
    expect(second.text).toContain(`projects/${projectOf(NOT_READ)}"`);
    expect(second.text).toContain('>1 project.<');
    expect(firstCount).toBeGreaterThan(PROJECTS);
    expect(readCount).toBeLessThanOrEqual(READS_MAX + 1);
    await writeAccountStatus(table, STATUS);
  });

  test('are counted by their state on the overview', async () => {
    const { text } = await get('/console');

    expect(text).toContain('5000 projects');
    expect(text).toMatch(/<a href="\/console\/projects\?state=needs\+a\+person">\d+ need a person<\/a>/);
    expect(text).toMatch(/Failed attempts<b>\d{3,}<\/b>/);
  });

  test('are sorted by failures, and by name as people count', async () => {
    const rowsOf = (text: string) => [...text.matchAll(/>(shop \d+)<\/a>/g)].map(([, name]) => name);
    const failures = await get('/console/projects?order=failures');
    const counts = [...failures.text.matchAll(/<span class="bad">(\d+)<\/span>/g)].map(([, count]) =>
      Number(count),
    );

    expect(rowsOf((await get('/console/projects?order=name')).text).slice(0, 3)).toEqual([
      'shop 0',
      'shop 1',
      'shop 2',
    ]);
    expect(counts.length).toBe(50);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
  });

  test('stand on exactly one page each', { timeout: 120_000 }, async () => {
    const seen: string[] = [];
    for (const page of [1, 2, 50, 99, 100]) {
      const { text } = await get(`/console/projects?order=name&page=${page}`);
      seen.push(...[...text.matchAll(/projects\/(project-\d+)">/g)].map(([, id]) => id ?? ''));
    }

    expect(seen).toHaveLength(250);
    expect(new Set(seen).size).toBe(250);
    expect(seen.at(-1)).toBe('project-4999');
  });

  test('list the operations of each newest first, without a gap', { timeout: 60_000 }, async () => {
    const { text } = await get(`/console/accounts/main/projects/${projectOf(BUSY)}`);
    const ids = [...text.matchAll(/operations\/([0-9a-f-]{36})">apply_config/g)].map(([, id]) => id);

    expect(ids).toEqual(Array.from({ length: 25 }, (_, index) => idOf(BUSY + index * PROJECTS)));
  });

  test('are found by a part of the name, and the whole name or id leads to the project at once', async () => {
    expect((await get('/console/search?q=SHOP+421')).location).toBe(
      '/console/accounts/main/projects/project-0421',
    );
    expect((await get('/console/search?q=project-4711')).location).toBe(
      '/console/accounts/main/projects/project-4711',
    );
    expect((await get('/console/projects?q=shop+499')).text).toContain('11 projects');
  });

  test('are found by a label of the alert policy', async () => {
    const { text } = await get('/console/search?q=Live');
    const ids = [...text.matchAll(/<li><a href="[^"]*\/projects\/(project-\d+)"/g)].map(([, id]) => id);

    expect(ids).toEqual([projectOf(421), projectOf(422)]);
  });

  test('show the operation with an id at once, and find it by a part of the id', async () => {
    const whole = await get(`/console/search?q=${idOf(4_321)}`);
    const part = await get('/console/search?q=00004321-0000');

    expect(whole.location).toBe(
      `/console/accounts/main/projects/${projectOf(4_321)}/operations/${idOf(4_321)}`,
    );
    expect(part.text).toContain(idOf(4_321));
  });
});
