/**
 * Tests what is left of a command when its process dies while the records of it are written side by side: each of them
 * is left out once, and the caller asks again (ADR 20).
 */

import { describe, expect, test, vi } from 'vitest';
import type { Update } from '../../shared/store/table.ts';
import { createApiUnderTest } from './api-under-test.ts';
import { PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const OPERATION = {
  id: '22222222-2222-4222-8222-222222222222',
  project_id: PROJECT_ID,
  action: 'start_compute',
  status: 'running',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
};

const writes = {
  'the outcome under the key': ({ set }: Update) => set['state'] === 'done',
  'the end of the audit': ({ set }: Update) => set['kind'] === 'audit' && set['outcome'] !== undefined,
  'the beginning of the audit': ({ set }: Update) => set['kind'] === 'audit' && set['outcome'] === undefined,
  'the record of the command': ({ key }: Update) => key.sk.startsWith('CMD#'),
  'the record of the operation': ({ key }: Update) => key.sk.startsWith('OP#'),
} as const;

type Write = keyof typeof writes;

async function setUp(lost: Write) {
  let isDying = true;
  const isReached = vi.fn();
  const upstream = createUpstreamDouble(() => Response.json({ endpoint: {}, operations: [OPERATION] }));
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.test/api/v2',
    upstreamKey: 'a-key',
    fetch: upstream.fetch,
    wrapTable: (table) => ({
      ...table,
      update(update) {
        if (!isDying || !writes[lost](update)) return table.update(update);
        isReached();
        return new Promise<never>(() => {});
      },
    }),
  });
  const headers = { authorization: `Bearer ${await api.issueToken()}`, 'idempotency-key': 'key-1' };
  const ask = () => api.app.request(RESTART, { method: 'POST', headers });
  /** Sends the command and lets its process do all that it does without the lost write. */
  const askAndDie = async () => {
    const answered = vi.fn();
    void Promise.resolve(ask()).then(answered);
    await vi.waitFor(() => expect(isReached).toHaveBeenCalled());
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    isDying = false;
    return answered;
  };
  const kept = (kind: string) => api.memory.sync.items().find((item) => item['kind'] === kind);
  return { api, upstream, ask, askAndDie, kept };
}

describe('a process that dies before it has written', () => {
  test.each(Object.keys(writes) as Write[])(
    '%s has not answered, and the command is not sent again',
    async (lost) => {
      const { ask, askAndDie, upstream } = await setUp(lost);

      const answered = await askAndDie();
      const repeated = await ask();

      expect(answered).not.toHaveBeenCalled();
      expect(upstream.sent).toHaveLength(1);
      expect(repeated.status).toBe(lost === 'the outcome under the key' ? 409 : 200);
    },
  );

  test.each<[Write, object]>([
    ['the outcome under the key', { audit: undefined, published: 1 }],
    ['the end of the audit', { audit: undefined, published: 1 }],
    ['the beginning of the audit', { audit: 'done', published: 1 }],
    ['the record of the command', { audit: 'done', published: 0 }],
    ['the record of the operation', { audit: 'done', published: 0 }],
  ])('%s leaves what does not rest on it', async (lost, left) => {
    const { api, askAndDie, kept } = await setUp(lost);

    await askAndDie();

    expect({ audit: kept('audit')?.['outcome'], published: api.published.length }).toEqual(left);
  });
});
