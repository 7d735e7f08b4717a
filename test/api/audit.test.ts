/**
 * Tests the audit as a program and as a person reads it: filters, pages, who may read it, and what cannot be read.
 */

import { describe, expect, test } from 'vitest';
import { AUDIT_QUERIES_MAX } from '../../functions/api/read-model/audit-reader.ts';
import { createAuditLog } from '../../shared/commands/audit.ts';
import { auditKey } from '../../shared/store/keys.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const START_MS = Date.UTC(2026, 0, 15, 12);
const clock = { now: () => START_MS, sleep: async () => {} };
const timeOf = (place: number) => new Date(START_MS + place * 1_000).toISOString();

interface Answer {
  readonly records: readonly { readonly request_id: string }[];
  readonly cursor?: string;
  readonly unreadable: number;
}

async function setUp(count = 0) {
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock,
  });
  const log = createAuditLog(api.memory, clock);
  const outcomes = ['done', 'refused', 'unknown', undefined] as const;
  for (let place = 0; place < count; place++) {
    const intent = {
      account_id: ACCOUNT_ID,
      request_id: `r-${place}`,
      client_id: place % 2 === 0 ? 'even' : 'odd',
      call: place % 3 === 0 ? 'restartEndpoint' : 'deleteEndpoint',
      project_id: place % 5 === 0 ? undefined : `project-${place % 5}`,
      resource: { endpoint_id: 'ep-1' },
      received_at: timeOf(place),
    };
    const outcome = outcomes[place % 4];
    if (outcome === undefined) await log.begin(intent);
    else await log.end(intent, { outcome, status: 200, duration_ms: 5, operation_ids: ['op-1'] });
  }
  const read = async (query: string, options: TokenOptions = {}) => {
    const token = await api.issueToken(options);
    return (await request(query, token)).body;
  };
  const request = async (query: string, token: string) => {
    const answer = await api.app.request(`/bridge/v1/audit?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.status, body: (await answer.json()) as Answer };
  };
  const idsOf = ({ records }: Answer) => records.map(({ request_id }) => request_id);
  const all = async (query: string, options: TokenOptions = {}) => {
    const token = await api.issueToken(options);
    const ids: string[] = [];
    let cursor: string | undefined;
    let pageCount = 0;
    do {
      const from = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await request(`${query}${from}`, token);
      ids.push(...idsOf(body));
      cursor = body.cursor;
      pageCount += 1;
    } while (cursor !== undefined && pageCount < 500);
    return { ids, pageCount };
  };
  return { api, read, request, idsOf, all };
}

const idsWhere = (count: number, isMeant: (place: number) => boolean) =>
  Array.from({ length: count }, (_, place) => count - 1 - place)
    .filter(isMeant)
    .map((place) => `r-${place}`);

describe('the audit', () => {
  test('shows records newest first, in pages that leave nothing out and repeat nothing', async () => {
    const { all, read } = await setUp(250);

    const { ids, pageCount } = await all('limit=7');

    expect(ids).toEqual(idsWhere(250, () => true));
    expect(pageCount).toBe(36);
    expect((await read('limit=1')).records).toEqual([
      {
        request_id: 'r-249',
        client_id: 'odd',
        call: 'restartEndpoint',
        project_id: 'project-4',
        resource: { endpoint_id: 'ep-1' },
        received_at: timeOf(249),
        outcome: 'refused',
        status: 200,
        duration_ms: 5,
        operation_ids: ['op-1'],
      },
    ]);
  });

  test.each<[string, string, (place: number) => boolean]>([
    ['a caller', 'client_id=odd', (place) => place % 2 === 1],
    ['a call', 'call=restartEndpoint', (place) => place % 3 === 0],
    ['a project', 'project_id=project-2', (place) => place % 5 === 2],
    ['an outcome', 'outcome=refused', (place) => place % 4 === 1],
    ['several outcomes', 'outcome=refused,open', (place) => place % 2 === 1],
    ['several projects', 'project_id=project-2,project-3', (place) => place % 5 === 2 || place % 5 === 3],
    ['none yet', 'outcome=open', (place) => place % 4 === 3],
    ['the time from', `from=${timeOf(100)}`, (place) => place >= 100],
    ['the time until', `until=${timeOf(20)}`, (place) => place < 20],
    ['both', `from=${timeOf(5)}&until=${timeOf(9)}`, (place) => place >= 5 && place < 9],
    [
      'several',
      `client_id=even&call=restartEndpoint&outcome=done&from=${timeOf(0)}&until=${timeOf(100)}`,
      (place) => place % 12 === 0 && place < 100,
    ],
    ['nothing that there is', 'client_id=nobody', () => false],
  ])('is filtered by %s', async (_name, query, isMeant) => {
    const { all } = await setUp(130);

    expect((await all(`${query}&limit=10`)).ids).toEqual(idsWhere(130, isMeant));
  });

  test('reads a bounded stretch for one page, and goes on from there', async () => {
    const { api, read, all } = await setUp(AUDIT_QUERIES_MAX * 100 + 50);

    const first = await read('client_id=nobody');

    expect(first.records).toEqual([]);
    expect(first.cursor).toBeDefined();
    expect((await all('client_id=nobody')).pageCount).toBe(2);
    expect(api.memory.sync.items().length).toBeGreaterThan(500);
  });

  test('leaves out what cannot be read, and counts it', async () => {
    const { api, read, idsOf } = await setUp(5);
    api.memory.sync.update({ key: auditKey(ACCOUNT_ID, 'r-3'), set: { client_id: 7 } });

    const answer = await read('');

    expect(idsOf(answer)).toEqual(['r-4', 'r-2', 'r-1', 'r-0']);
    expect(answer.unreadable).toBe(1);
  });

  test('needs its own scope, and shows a limited caller what was asked of their projects alone', async () => {
    const { api, request, all } = await setUp(30);

    const denied = await request('', await api.issueToken({ scopes: ['operations:read', 'secrets:read'] }));

    expect(denied.status).toBe(403);
    expect((await all('limit=3', { project_ids: ['project-2'] })).ids).toEqual(
      idsWhere(30, (place) => place % 5 === 2),
    );
  });

  test.each(['from=yesterday', 'outcome=maybe', 'cursor=made-up', 'unknown=1', 'limit=101'])(
    'answers %s with what is wrong',
    async (query) => {
      const { api, request } = await setUp(1);

      expect((await request(query, await api.issueToken())).status).toBe(400);
    },
  );
});

describe('the page of the console', () => {
  const open = async (count: number, path: string, options: TokenOptions = {}) => {
    const { api } = await setUp(count);
    const token = await api.issueToken(options);
    const begun = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, next: '/console' }).toString(),
    });
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await api.app.request(path, { headers: { cookie } });
    return { status: page.status, text: await page.text() };
  };

  test('shows rows, keeps the filters in the address of the next page, and is in the navigation', async () => {
    const { status, text } = await open(130, '/console/audit?client_id=even&outcome=&from=2026-01-15');

    expect(status).toBe(200);
    expect(text).toMatch(/<a href="\/console\/audit"[^>]*>Audit<\/a>/);
    expect(text).toContain('r-128');
    expect(text).not.toContain('r-129');
    expect(text).toMatch(/href="\?client_id=even&(amp;)?from=2026-01-15T00%3A00%3A00\.000Z&(amp;)?cursor=/);
    expect(text).toContain('value="even"');
  });

  test('says so when nothing fits', async () => {
    const { text } = await open(3, '/console/audit?client_id=nobody');

    expect(text).toContain('No record matches.');
  });

  test('keeps text of the address as text', async () => {
    const { text } = await open(
      1,
      `/console/audit?client_id=${encodeURIComponent('"><script>alert(1)</script>')}`,
    );

    expect(text).not.toContain('<script>alert');
  });

  test('is closed without the scope, and then not in the navigation', async () => {
    const { status, text } = await open(1, '/console/audit', { scopes: ['operations:read'] });

    expect(status).toBe(403);
    expect(text).not.toContain('href="/console/audit"');
  });
});
