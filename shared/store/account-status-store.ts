/** Reads and writes the status of an account: one small item, which the poller writes about once a minute. */

import * as z from 'zod';
import {
  ACCOUNT_TROUBLES,
  type AccountStatus,
  type LearnedAccount,
  type StatusPoint,
  UNREAD_MAX,
} from '../records/account-status.ts';
import { accountStatusKey } from './keys.ts';
import type { Attribute, Item, Table } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable } from './unreadable.ts';

/**
 * A point is stored as a list of numbers in this order. 120 of them take a few kilobytes, and every started kilobyte
 * is billed.
 */
const POINT_FIELDS = [
  'at_ms',
  'duration_ms',
  'request_count',
  'throttled_count',
  'transition_count',
  'delay_p50_ms',
  'delay_p95_ms',
  'delay_max_ms',
] as const satisfies readonly (keyof StatusPoint)[];

/** This number stands for `undefined` in a stored point. */
const UNKNOWN = -1;

const storedPoint = z.array(z.number()).length(POINT_FIELDS.length);

const count = z.number().nonnegative();

const learned = z.object({
  limit: z.object({
    share: z.object({
      share: z.number().gt(0).lte(1),
      changedAtMs: count,
      ceiling: z.number(),
      holdMs: count,
    }),
    pausedUntilMs: count,
    isProbing: z.boolean().optional(),
  }),
  hints: z.array(
    z.object({
      name: z.string(),
      recall: z.object({ foundCount: count, missedCount: count }),
      hitCount: count,
      moveCount: count,
    }),
  ),
});

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)));

const unreadProject = z.object({
  project_id: z.string(),
  since: time,
  reason: z.string(),
  failing_since: time.optional(),
});

const trouble = z.enum(ACCOUNT_TROUBLES);

const statusItem = z.object({
  account_id: z.string(),
  written_at: time,
  last_complete_walk_at: time.optional(),
  unread_since: time.optional(),
  unread_projects: z.array(unreadProject).max(UNREAD_MAX).optional(),
  unread_project_count: count.optional(),
  failing_since: time.optional(),
  trouble: trouble.optional(),
  project_count: z.number(),
  open_operation_count: z.number(),
  requests_per_minute: z.number(),
  points: z.array(storedPoint),
  learned: learned.optional(),
});

/** Replaces a field that cannot be read by a default, so that one field of another version does not hide all others. */
const readableStatus = statusItem.extend({
  last_complete_walk_at: time.optional().catch(undefined),
  unread_since: time.optional().catch(undefined),
  unread_projects: z.array(unreadProject).max(UNREAD_MAX).optional().catch(undefined),
  unread_project_count: count.optional().catch(undefined),
  failing_since: time.optional().catch(undefined),
  trouble: trouble.optional().catch(undefined),
  project_count: z.number().catch(0),
  open_operation_count: z.number().catch(0),
  requests_per_minute: z.number().catch(0),
  points: z.array(storedPoint).catch([]),
  learned: learned.optional().catch(undefined),
});

export const STATUS_ATTRIBUTES: readonly string[] = Object.keys(statusItem.shape);

/**
 * Resolves to undefined when there is no status, or when it does not even say when it was written. The poller writes
 * a new one within a minute.
 */
export async function readAccountStatus(
  table: Table,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): Promise<AccountStatus | undefined> {
  const item = await table.get(accountStatusKey(accountId));
  return item && statusIn(item, noteUnreadable);
}

/** Resolves to the status of each account that has one, by account id. */
export async function readAccountStatuses(
  table: Table,
  accountIds: readonly string[],
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): Promise<ReadonlyMap<string, AccountStatus>> {
  const items = accountIds.length === 0 ? [] : await table.getMany(accountIds.map(accountStatusKey));
  const statuses = items.flatMap((item) => statusIn(item, noteUnreadable) ?? []);
  return new Map(statuses.map((status) => [status.account_id, status]));
}

function statusIn(item: Item, noteUnreadable: NoteUnreadable): AccountStatus | undefined {
  const key = { pk: item.pk, sk: item.sk };
  const whole = statusItem.safeParse(item);
  if (!whole.success) noteUnreadable({ key, fields: whole.error.issues.map(({ path }) => path.join('.')) });
  const parsed = whole.success ? whole : readableStatus.safeParse(item);
  if (!parsed.success) return undefined;
  const { last_complete_walk_at, points, ...rest } = parsed.data;
  return { ...rest, last_complete_walk_at, points: points.map(toPoint) };
}

export async function writeAccountStatus(table: Table, status: AccountStatus): Promise<void> {
  const { points, learned: found, unread_projects: unread, ...rest } = status;
  const gone = NOT_ALWAYS_THERE.filter((name) => status[name] === undefined);
  await table.update({
    key: accountStatusKey(status.account_id),
    set: {
      kind: 'status',
      ...rest,
      ...(unread && { unread_projects: unread.map((project): Attribute => ({ ...project })) }),
      ...(found && { learned: storedLearned(found) }),
      points: points.map((point) => POINT_FIELDS.map((name) => point[name] ?? UNKNOWN)),
    },
    ...(gone.length > 0 && { remove: gone }),
  });
}

const NOT_ALWAYS_THERE = [
  'last_complete_walk_at',
  'unread_since',
  'unread_projects',
  'unread_project_count',
  'failing_since',
  'trouble',
] as const satisfies readonly (keyof AccountStatus)[];

function storedLearned({ limit, hints }: LearnedAccount) {
  return {
    limit: { ...limit, share: { ...limit.share } },
    hints: hints.map((field) => ({ ...field, recall: { ...field.recall } })),
  };
}

function toPoint(numbers: readonly number[]): StatusPoint {
  const point = Object.fromEntries(
    POINT_FIELDS.map((name, index) => [name, numbers[index] === UNKNOWN ? undefined : numbers[index]]),
  );
  return point as unknown as StatusPoint;
}
