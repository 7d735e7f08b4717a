/**
 * Tests damaged items under the API and the console: lists, feeds and pages go on without them, and each is named in
 * the log.
 */

import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../shared/runtime/random.ts';
import { accountStatusKey, commandKey, operationKey, projectKey } from '../../shared/store/keys.ts';
import { parseRecord } from '../../shared/store/parse-record.ts';
import type { Item, Key } from '../../shared/store/table.ts';
import { anOperation, NOON_MS } from '../builders.ts';
import { writeEveryKind } from '../store/every-kind.ts';
import { createApiUnderTest } from './api-under-test.ts';

const PROJECT_ID = anOperation().project_id;
const IDS = ['open', 'failed-and-retried', 'settled', 'stalled', 'vanished', 'of-a-command'];
const clock = { now: () => NOON_MS, sleep: async () => {} };

async function setUp() {
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    clock,
    fetch: async () => Response.json({ endpoints: [] }),
  });
  await writeEveryKind(api.memory);
  const token = await api.issueToken();
  const ask = async (path: string) => {
    const response = await api.app.request(`/bridge/v1${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    return { status: response.status, body: (await response.json()) as any };
  };
  const damage = async (key: Key, set: Readonly<Record<string, string | number>>) => {
    await api.memory.update({ key, set });
    return api.memory.sync.peek(key);
  };
  const cookieOf = async () => {
    const answer = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, next: '/console' }).toString(),
    });
    return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  };
  return { api, ask, damage, cookieOf };
}

const operationIds = (body: { operations: readonly { operation_id: string }[] }) =>
  body.operations.map(({ operation_id }) => operation_id);

describe('an operation that cannot be read', () => {
  test.each(IDS)('%s: lists, events and health go on without it', async (id) => {
    const { ask, damage, api } = await setUp();
    const key = operationKey('main', PROJECT_ID, id);
    const random = seededRandom(id.length);
    const names = ['status', 'sequence', 'entries', 'created_at', 'revision'];
    const name = names[Math.floor(random.next() * names.length)] ?? 'status';
    const before = operationIds((await ask(`/projects/${PROJECT_ID}/operations?limit=100`)).body);
    const damaged = await damage(key, { [name]: name === 'status' ? 17 : 'confidential', action: 42 });
    expect(parseRecord(damaged as Item).record).toBeUndefined();

    const list = await ask(`/projects/${PROJECT_ID}/operations?limit=100`);
    expect(list.status).toBe(200);
    expect(operationIds(list.body).toSorted()).toEqual(before.filter((each) => each !== id).toSorted());
    for (const path of ['/events?from=beginning', '/events/recent?limit=100']) {
      const { status, body } = await ask(path);
      const about = new Set(
        body.events.map(({ detail }: { detail: { operation_id?: string } }) => detail.operation_id),
      );
      expect([path, status, about.has(id), about.size > 4]).toEqual([path, 200, false, true]);
    }
    const { body } = await ask('/health');
    expect(body.unpublished.count).toBeGreaterThan(0);
    expect(api.memory.sync.peek(key)).toEqual(damaged);
  });

  test('answers 503 when it is asked for, in words, and is named in the log once and without its values', async () => {
    const { ask, damage, api } = await setUp();
    await damage(operationKey('main', PROJECT_ID, 'open'), { status: 'x', sequence: 'confidential' });

    for (let time = 0; time < 3; time++) {
      const { status, body } = await ask(`/projects/${PROJECT_ID}/operations/open`);
      expect([status, body.type]).toEqual([503, 'urn:operations-bridge:problem:record-unreadable']);
      expect(body.detail).toMatch(/newer version .* is kept/);
    }

    const lines = api.logged.filter(({ event }) => event === 'item.unreadable');
    expect(lines).toMatchObject([
      { level: 'error', item: `A#main#P#${PROJECT_ID} / OP#open`, fields: 'sequence' },
    ]);
    expect(JSON.stringify(api.logged)).not.toContain('confidential');
  });
});

describe('other items that cannot be read', () => {
  test('a command answers 503, and the operations that it started are there', async () => {
    const { ask, damage } = await setUp();
    await damage(commandKey('main', PROJECT_ID, 'settled'), { deadline_at_ms: 'of tomorrow' });

    expect((await ask(`/projects/${PROJECT_ID}/commands/settled`)).status).toBe(503);
    expect((await ask(`/projects/${PROJECT_ID}/commands/open`)).status).toBe(200);
    expect((await ask(`/projects/${PROJECT_ID}/operations/settled`)).status).toBe(200);
  });

  test('a project is missing from the list, and its operations are not', async () => {
    const { ask, damage } = await setUp();
    const before = (await ask('/projects')).body.projects.length;
    await damage(projectKey('main', PROJECT_ID), { watermark: 'of tomorrow' });

    const { status, body } = await ask('/projects');
    expect([status, body.projects.length]).toEqual([200, before - 1]);
    expect((await ask(`/projects/${PROJECT_ID}/operations`)).status).toBe(200);
  });

  test('a status with an unknown field at fault still says when the poller wrote it', async () => {
    const { ask, damage } = await setUp();
    await damage(accountStatusKey('main'), { points: 'of tomorrow' });

    const { body } = await ask('/health');
    expect(body.poller_seen_age_seconds).toBe(0);
  });

  test('the pages of the console are made without them', async () => {
    const { damage, cookieOf, api } = await setUp();
    const cookie = await cookieOf();
    await damage(operationKey('main', PROJECT_ID, 'open'), { sequence: 'of tomorrow' });
    await damage(commandKey('main', PROJECT_ID, 'open'), { is_settled: 'of tomorrow' });
    await damage(projectKey('main', 'resumed'), { watermark: 'of tomorrow' });
    const page = `/console/accounts/main/projects/${PROJECT_ID}`;
    const get = async (path: string) => {
      const answer = await api.app.request(path, { headers: { cookie } });
      return [path, answer.status, (await answer.text()).includes('Stack')];
    };

    for (const path of [
      '/console',
      '/console/events',
      '/console/subscribe',
      page,
      `${page}/operations/settled`,
    ])
      expect(await get(path)).toEqual([path, 200, false]);
    expect(await get(`${page}/operations/open`)).toEqual([`${page}/operations/open`, 503, false]);
    expect(await get(`${page}/operations/of-a-command`)).toEqual([
      `${page}/operations/of-a-command`,
      200,
      false,
    ]);
  });
});

describe('projects that cannot be read', () => {
  test('are named only to a caller who may see them', async () => {
    const { api } = await setUp();
    await api.memory.update({
      key: accountStatusKey('main'),
      set: {
        unread_projects: [
          {
            project_id: 'hidden-one',
            since: new Date(NOON_MS - 600_000).toISOString(),
            reason: 'unavailable',
          },
        ],
        unread_project_count: 1,
      },
    });
    const asked = async (project_ids?: readonly string[]) => {
      const token = await api.issueToken(project_ids === undefined ? {} : { project_ids });
      const answers = await Promise.all(
        ['/bridge/v1/health', '/bridge/v1/accounts'].map(async (path) => {
          const answer = await api.app.request(path, { headers: { authorization: `Bearer ${token}` } });
          return answer.text();
        }),
      );
      return answers.join();
    };

    expect(await asked()).toMatch(/hidden-one \(600 s, unavailable\)/);
    expect(await asked([PROJECT_ID])).not.toContain('hidden-one');
    expect(await asked([PROJECT_ID])).toContain('one other project');
  });
});
