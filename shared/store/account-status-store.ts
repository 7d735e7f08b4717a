/** Reads and writes the status of an account: one small item, which the poller writes about once a minute. */

import * as z from 'zod';
import { type AccountStatus, type StatusPoint, statusFields } from '../records/account-status.ts';
import { accountStatusKey } from './keys.ts';
import type { Item, Table } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable, unreadableOf } from './unreadable.ts';

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

const statusItem = statusFields.extend({ points: z.array(storedPoint) });

/** These stand for fields that cannot be read, so that one field of another version does not hide all others. */
const DEFAULTS = { project_count: 0, open_operation_count: 0, requests_per_minute: 0, points: [] };

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
  const { data, error } = statusItem.safeParse(item);
  if (error !== undefined) noteUnreadable(unreadableOf(item, error));
  const status = data ?? statusItem.safeParse({ ...DEFAULTS, ...withoutFaults(item, error) }).data;
  return status && { ...status, points: status.points.map(toPoint) };
}

function withoutFaults(item: Item, { issues }: z.ZodError): Partial<Item> {
  const faulty = new Set(issues.map(({ path }) => path[0]));
  return Object.fromEntries(Object.entries(item).filter(([name]) => !faulty.has(name)));
}

export async function writeAccountStatus(table: Table, status: AccountStatus): Promise<void> {
  const { learned, points, ...fields } = status;
  await table.update({
    key: accountStatusKey(status.account_id),
    set: {
      kind: 'status',
      ...fields,
      learned,
      points: points.map((point) => POINT_FIELDS.map((name) => point[name] ?? UNKNOWN)),
    },
    // What was learned stays until something else is.
    remove: Object.keys(statusFields.omit({ learned: true }).shape).filter(
      (name) => fields[name as keyof typeof fields] === undefined,
    ),
  });
}

function toPoint(numbers: readonly number[]): StatusPoint {
  const point = Object.fromEntries(
    POINT_FIELDS.map((name, index) => [name, numbers[index] === UNKNOWN ? undefined : numbers[index]]),
  );
  return point as unknown as StatusPoint;
}
