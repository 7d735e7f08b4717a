/**
 * Shows the indexes of the table as their readers see them: a change becomes visible at once, or up to four seconds
 * after the write.
 */

import type { Item, Key, WorkPage, WorkPageQuery, WorkQuery } from '../../../../shared/store/table.ts';
import type { WideWorld } from '../world.ts';

export interface IndexCopy {
  note(key: Key, before: Item | undefined, after: Item | undefined): void;
  work(query: WorkQuery): readonly Key[];
  workPage(query: WorkPageQuery): WorkPage;
  /** Returns the sort key under which the feed shows an item, or undefined while the item is out of sight. */
  feedOrder(item: Item): string | undefined;
  /** Shows these items alone and at once, after the whole table was replaced. */
  rebuild(items: readonly Item[]): void;
}

/** A real index usually lags by a fraction of a second. Here it can lag by far more. */
const LAG_MS_MAX = 4_000;

interface Change {
  readonly atMs: number;
  readonly work: string | undefined;
  readonly feedOrder: string | undefined;
}

export function createIndexCopy(world: WideWorld): IndexCopy {
  const shown = new Map<string, { readonly key: Key; now: Change; readonly waiting: Change[] }>();
  const lagging = new Set<string>();

  return {
    note(key, before, after) {
      const [work, feedOrder] = [textOf(after?.['work']), textOf(after?.['changed_at'])];
      if (textOf(before?.['work']) === work && textOf(before?.['changed_at']) === feedOrder) return;
      const lagMs = world.strikes('index_late') ? world.random.next() * LAG_MS_MAX : 0;
      const id = idOf(key);
      const place = shown.get(id) ?? { key, now: NOT_THERE, waiting: [] };
      shown.set(id, place);
      // One replica applies the changes of one item in their order, however late.
      const atMs = Math.max(world.scheduler.now() + lagMs, place.waiting.at(-1)?.atMs ?? 0);
      place.waiting.push({ atMs, work, feedOrder });
      lagging.add(id);
      settle();
    },
    work: workOf,
    workPage({ limit, start, ...query }) {
      const after = start?.['id'];
      const keys = workOf(query)
        .filter((key) => after === undefined || idOf(key) > after)
        .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
      const page = keys.slice(0, limit);
      const last = page.at(-1);
      return { keys: page, next: last !== undefined && keys.length > limit ? { id: idOf(last) } : undefined };
    },
    feedOrder(item) {
      settle();
      return shown.get(idOf(item))?.now.feedOrder;
    },
    rebuild(items) {
      shown.clear();
      lagging.clear();
      for (const { pk, sk, ...item } of items) {
        const now = { atMs: 0, work: textOf(item['work']), feedOrder: textOf(item['changed_at']) };
        shown.set(idOf({ pk, sk }), { key: { pk, sk }, now, waiting: [] });
      }
    },
  };

  function workOf({ work: partition, pk }: WorkQuery): readonly Key[] {
    settle();
    return [...shown.values()].flatMap(({ key, now }) =>
      now.work === partition && (pk === undefined || key.pk === pk) ? [key] : [],
    );
  }

  function settle(): void {
    const nowMs = world.scheduler.now();
    for (const id of lagging) {
      const place = shown.get(id);
      const due = place?.waiting.filter(({ atMs }) => atMs <= nowMs) ?? [];
      if (place !== undefined) place.now = due.at(-1) ?? place.now;
      place?.waiting.splice(0, due.length);
      if (place === undefined || place.waiting.length === 0) lagging.delete(id);
    }
  }
}

const NOT_THERE: Change = { atMs: 0, work: undefined, feedOrder: undefined };

function idOf({ pk, sk }: Key): string {
  return `${pk}\n${sk}`;
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
