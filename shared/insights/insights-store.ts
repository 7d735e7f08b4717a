/**
 * Reads and writes the items of insights: one for each day of an account, and one for each day of a project in which
 * operations ended.
 */

import * as z from 'zod';
import { DAY_MS } from '../core/time/durations.ts';
import { insightsKey } from '../store/keys.ts';
import type { Attribute, Item, Table } from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';
import type { ActionBins, DayInsights } from './day-insights.ts';
import { dayEndMs, insightDays, type UtcDay } from './utc-day.ts';

/** Names one item. `projectId` is undefined for the account as a whole. */
export interface InsightsDay {
  readonly projectId: string | undefined;
  readonly day: UtcDay;
}

/** Holds what is stored of one day. The item has revision 0 while it does not exist. */
export interface StoredDay {
  readonly insights: DayInsights;
  readonly revision: number;
  /** This process has made the latest write. It is empty while there is none. */
  readonly writer: string;
}

export type ReadDay = StoredDay | 'unreadable';

export interface InsightsStore {
  readonly accountId: string;
  /** Resolves to the days that insights rest on, without those that do not exist or cannot be read. */
  readDays(projectId: string | undefined, nowMs: number): Promise<readonly DayInsights[]>;
  readDay(day: InsightsDay): Promise<ReadDay>;
  /**
   * Replaces the day by one write. Resolves to `refused` when it has another revision than the one before `next`. A
   * rejection means that the outcome is unknown.
   */
  writeDay(day: InsightsDay, next: StoredDay): Promise<'applied' | 'refused'>;
}

const bins = z.record(z.string().regex(/^\d{1,3}$/), z.number().int().positive());

const insightsItem = z.object({
  kind: z.literal('insights'),
  revision: z.number().int().positive(),
  writer: z.string(),
  actions: z.record(z.string(), z.object({ durations: bins, attempts: bins })),
});

export const INSIGHTS_ATTRIBUTES: readonly string[] = Object.keys(insightsItem.shape);

/** An item is kept for two days longer than it is looked at, because the clocks of two processes differ. */
const KEPT_MS = 8 * DAY_MS;

const NO_DAY: StoredDay = { insights: new Map(), revision: 0, writer: '' };

export function createInsightsStore(
  table: Table,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): InsightsStore {
  const keyOf = ({ projectId, day }: InsightsDay) => insightsKey(accountId, projectId, day);
  return {
    accountId,

    async readDays(projectId, nowMs) {
      const items = await table.getMany(insightDays(nowMs).map((day) => keyOf({ projectId, day })));
      const read = items.map((item) => parseDay(item, noteUnreadable));
      return read.flatMap((found) => (found === 'unreadable' ? [] : [found.insights]));
    },

    async readDay(day) {
      const item = await table.get(keyOf(day));
      return item === undefined ? NO_DAY : parseDay(item, noteUnreadable);
    },

    writeDay(day, { insights, revision, writer }) {
      const before = revision - 1;
      return table.update({
        key: keyOf(day),
        set: {
          kind: 'insights',
          revision,
          writer,
          actions: storedActions(insights),
          expires_at: Math.floor((dayEndMs(day.day) + KEPT_MS) / 1_000),
        },
        condition:
          before === 0
            ? { kind: 'absent', name: 'revision' }
            : { kind: 'equals', name: 'revision', value: before },
      });
    },
  };
}

function parseDay(item: Item, noteUnreadable: NoteUnreadable): ReadDay {
  const { data, error } = insightsItem.safeParse(item);
  if (data === undefined) {
    const fields = error.issues.map(({ path }) => path.slice(0, 2).join('.'));
    noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
    return 'unreadable';
  }
  const { actions, revision, writer } = data;
  return { insights: new Map(Object.entries(actions)), revision, writer };
}

function storedActions(insights: DayInsights): Attribute {
  const entries = [...insights].map(([action, { durations, attempts }]: [string, ActionBins]) => {
    return [action, { durations: { ...durations }, attempts: { ...attempts } }] as const;
  });
  return Object.fromEntries(entries);
}
