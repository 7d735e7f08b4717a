/** The status of an account in the table: one small item, written by the poller about once a minute. */

import * as z from 'zod';
import type { AccountStatus, LearnedAccount, StatusPoint } from '../core/account-status.ts';
import { accountStatusKey } from './keys.ts';
import type { Table } from './table.ts';

/** A point as a list of numbers, in this order: 120 of them are a few kilobytes, and each started one is billed. */
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

/** Stands for "unknown" in a list of numbers. */
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

const statusItem = z.object({
  account_id: z.string(),
  written_at: z.string(),
  last_complete_walk_at: z.string().optional(),
  project_count: z.number(),
  open_operation_count: z.number(),
  requests_per_minute: z.number(),
  points: z.array(storedPoint),
  learned: learned.optional().catch(undefined),
});

export const STATUS_ATTRIBUTES: readonly string[] = Object.keys(statusItem.shape);

/** Undefined when there is none, or one of another version: it is written anew within a minute. */
export async function readAccountStatus(table: Table, accountId: string): Promise<AccountStatus | undefined> {
  const parsed = statusItem.safeParse(await table.get(accountStatusKey(accountId)));
  if (!parsed.success) return undefined;
  const { last_complete_walk_at, points, ...rest } = parsed.data;
  return { ...rest, last_complete_walk_at, points: points.map(toPoint) };
}

export async function writeAccountStatus(table: Table, status: AccountStatus): Promise<void> {
  const { last_complete_walk_at, points, learned: found, ...rest } = status;
  await table.update({
    key: accountStatusKey(status.account_id),
    set: {
      kind: 'status',
      ...rest,
      last_complete_walk_at,
      ...(found && { learned: storedLearned(found) }),
      points: points.map((point) => POINT_FIELDS.map((name) => point[name] ?? UNKNOWN)),
    },
    ...(last_complete_walk_at === undefined && { remove: ['last_complete_walk_at'] }),
  });
}

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
