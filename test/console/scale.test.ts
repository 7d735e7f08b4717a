/**
 * Checks that a page of a large account (5,000 projects, 100,000 operations) reads no more items than one of a small
 * account. Reads are counted, not timed.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import type { JournalRecord } from '../../shared/core/records/journal-record.ts';
import { acknowledged } from '../../shared/core/records/journal-record.ts';
import { decideNextRecord } from '../../shared/core/records/operation-record.ts';
import { decideDiscovery } from '../../shared/core/records/project-record.ts';
import { attributesOf, keyOf } from '../../shared/store/items.ts';
import { createApiUnderTest } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';

const PROJECTS = 5_000;
const OPERATIONS = 100_000;
const idOf = (number: number) => `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`;
const projectOf = (number: number) => `project-${String(number % PROJECTS).padStart(4, '0')}`;

let readCount = 0;
const upstream = createUpstreamDouble();
const api = createApiUnderTest({
  upstreamBaseUrl: 'https://upstream.example/api/v2',
  upstreamKey: 'k',
  fetch: upstream.fetch,
  clock: { now: () => NOON_MS + 60_000, sleep: async () => {} },
  wrapTable: (table) => ({
    ...table,
    getMany: (keys) => {
      readCount += keys.length;
      return table.getMany(keys);
    },
  }),
});
let cookie = '';

beforeAll(async () => {
  const put = (table: MemoryTable, record: JournalRecord) =>
    table.sync.update({ key: keyOf(record), set: attributesOf(record) });
  for (let number = 0; number < PROJECTS; number++) {
    const record = decideDiscovery(undefined, {
      account_id: 'main',
      project_id: projectOf(number),
      nowMs: NOON_MS,
      isNews: false,
    });
    if (record !== undefined) put(api.memory, record);
  }
  for (let number = 0; number < OPERATIONS; number++) {
    const status = number % 50 === 0 ? 'failed' : 'finished';
    const created_at = new Date(NOON_MS - number * 1_000).toISOString();
    const operation = anOperation({
      id: idOf(number),
      project_id: projectOf(number),
      status,
      created_at,
      updated_at: created_at,
    });
    const record = decideNextRecord(undefined, operation, { ...aContext(), nowMs: NOON_MS - number * 1_000 });
    if (record !== undefined)
      put(api.memory, acknowledged(record, { through: record.revision, derived: record.revision }));
  }
  const body = new URLSearchParams({ token: await api.issueToken(), next: '/console' }).toString();
  const response = await api.app.request('/console/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  });
  cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
}, 60_000);

async function get(path: string) {
  readCount = 0;
  const response = await api.app.request(path, { headers: { cookie } });
  const text = await response.text();
  return { status: response.status, text, reads: readCount };
}

describe('a large account', () => {
  test.each([
    ['the overview', '/console'],
    ['the projects', '/console/projects'],
    ['a project', `/console/accounts/main/projects/${projectOf(7)}`],
    ['an operation', `/console/accounts/main/projects/${projectOf(7)}/operations/${idOf(7)}`],
    ['the events', '/console/events'],
    ['events by a filter that matches few', '/console/events?action=create_branch'],
    ['a subscription', '/console/subscribe?status=failed'],
  ])(
    'shows %s with at most 300 items read and a page below 200 kB',
    { timeout: 60_000 },
    async (_name, path) => {
      const { status, text, reads } = await get(path);

      expect(status).toBe(200);
      expect(reads).toBeLessThanOrEqual(300);
      expect(text.length).toBeLessThan(200_000);
    },
  );

  test('lists each of its projects on one page only', { timeout: 60_000 }, async () => {
    const seen: string[] = [];
    let path: string | undefined = '/console/projects?order=name';
    for (let page = 0; page < 3 && path !== undefined; page++) {
      const { text } = await get(path);
      seen.push(...[...text.matchAll(/projects\/(project-\d+)">project/g)].map(([, id]) => id ?? ''));
      path = /href="([^"]+)">Next/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }

    expect(seen).toHaveLength(150);
    expect(new Set(seen).size).toBe(150);
  });

  test('lists the operations of a project newest first, without a gap', { timeout: 60_000 }, async () => {
    const first = await get(`/console/accounts/main/projects/${projectOf(7)}`);

    const ids = [...first.text.matchAll(/operations\/([0-9a-f-]{36})">apply_config/g)].map(([, id]) => id);

    expect(ids).toEqual(Array.from({ length: 20 }, (_, index) => idOf(7 + index * PROJECTS)));
  });
});
