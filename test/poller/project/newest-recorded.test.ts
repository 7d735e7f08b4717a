import { expect, test } from 'vitest';
import { askForNewestRecorded } from '../../../functions/poller/project/newest-recorded.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { IndexQuery } from '../../../shared/store/table.ts';

/** `open` says how many of the newest operations have not ended. */
function aProject({ open, ended }: { readonly open: number; readonly ended: number }) {
  const all = Array.from({ length: open + ended }, (_, place) => `op-${String(999 - place)}`);
  const queries: IndexQuery[] = [];
  const query = async (asked: IndexQuery) => {
    queries.push(asked);
    const from = Number(asked.start?.['place'] ?? 0);
    const keys = all.slice(from, from + asked.limit).map((id) => ({
      pk: asked.partition,
      sk: `OP#${id}`,
      sortKey: '2026-01-01T00:00:00Z',
    }));
    const place = from + asked.limit;
    return { keys, next: place < all.length ? { place: String(place) } : undefined };
  };
  const readOperations = async (_projectId: string, ids: readonly string[]) => ({
    records: new Map(
      ids.map((id) => {
        const isOpen = all.indexOf(id) < open;
        const created_at = `2026-01-01T00:${String(59 - all.indexOf(id)).padStart(2, '0')}:00Z`;
        const record = { created_at, status: isOpen ? 'running' : 'finished', revision: 1, published: 1 };
        return [id, record as OperationRecord] as const;
      }),
    ),
    unreadableIds: new Set<string>(),
  });
  return { queries, ask: askForNewestRecorded({ query }, { accountId: 'main', readOperations }) };
}

test('the newest operation of a project is found in one query, newest first', async () => {
  const { queries, ask } = aProject({ open: 0, ended: 30 });

  expect(await ask('quiet-pond')).toBe('2026-01-01T00:59:00.000000000Z');
  expect(queries).toMatchObject([{ partition: 'A#main#P#quiet-pond', newestFirst: true }]);
});

test('open operations are never forgotten, and what stands behind them counts', async () => {
  const { ask } = aProject({ open: 12, ended: 30 });

  expect(await ask('quiet-pond')).toBe('2026-01-01T00:47:00.000000000Z');
});

test('a project without an ended operation has none, and neither has one with very many open ones', async () => {
  expect(await aProject({ open: 3, ended: 0 }).ask('quiet-pond')).toBeNull();
  const crowded = aProject({ open: 500, ended: 30 });

  expect(await crowded.ask('quiet-pond')).toBeUndefined();
  expect(crowded.queries).toHaveLength(20);
});
