/** Polls a project, damages its table, and takes the steps of a repair with the production code, over the in-memory table. */

import { type RepairStep, repairProject } from '../../../functions/poller/repair/repair-project.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { operationKey } from '../../../shared/store/keys.ts';
import type { Attribute, Update } from '../../../shared/store/table.ts';
import { NOON_MS } from '../../builders.ts';
import { aProject, atMs, BOOT_AT, endedRows, PROJECT_ID } from '../project/project-under-test.ts';

export const SINCE = normaliseTimestamp(atMs(NOON_MS - 3_600_000)) as Timestamp;
export const ROWS = endedRows(12, { newestMs: NOON_MS - 60_000 });
export const TARGET = ROWS[5]?.id ?? '';
export const KEY = operationKey('main', PROJECT_ID, TARGET);

/** A project with twelve ended operations. One of them was seen as scheduling, running and finished. */
export async function aPolledProject() {
  const project = aProject();
  const at = (status: string, updatedMs: number) =>
    ROWS.map((row) => (row.id === TARGET ? { ...row, status, updated_at: atMs(updatedMs) } : row));
  project.script.rows = at('scheduling', NOON_MS - 1_000_000);
  await project.poll();
  project.script.rows = at('running', NOON_MS - 900_000);
  await project.poll();
  project.script.rows = [...ROWS];
  await project.poll();
  const published = project.takeEvents();
  const original = await project.store.readOperation(PROJECT_ID, TARGET);
  if (original === undefined) throw new Error('the operation was not recorded');
  return { ...project, published, original };
}

export type Polled = Awaited<ReturnType<typeof aPolledProject>>;

const signal = new AbortController().signal;

export async function requestRepair({ store }: Polled): Promise<void> {
  await store.requestRepair({ projectId: PROJECT_ID, repairId: 'a-repair', since: SINCE });
}

export async function step(
  project: Polled,
  store: Polled['store'] = project.store,
): Promise<RepairStep['repair']> {
  const repair = await store.readRepair(PROJECT_ID);
  if (repair === undefined) throw new Error('no repair was asked for');
  if (repair.ended_at !== undefined) return repair;
  return (await repairProject({ ...project.deps, store, signal }, repair, BOOT_AT)).repair;
}

export async function repairToTheEnd(project: Polled): Promise<RepairStep['repair']> {
  for (let steps = 0; steps < 20; steps++) {
    const repair = await step(project);
    if (repair.ended_at !== undefined) return repair;
  }
  throw new Error('the repair does not end');
}

export const repair = async (project: Polled) => {
  await requestRepair(project);
  return repairToTheEnd(project);
};

export function putTarget({ table }: Polled, set: Update['set']): void {
  table.sync.update({ key: KEY, set });
}

export function deleteEvent(project: Polled, index: number): void {
  const entries = project.table.sync.peek(KEY)?.['entries'] as readonly Attribute[];
  putTarget(project, { entries: entries.filter((_, place) => place !== index) });
}

/** Leaves out the time at which a lost event was observed, because it is stored nowhere else. */
export const lasting = (record: OperationRecord | undefined) => ({
  ...record,
  entries: record?.entries.map(({ observed_at: _at, ...entry }) => entry),
});

export const idsOf = (events: readonly Readonly<Record<string, unknown>>[]) =>
  events.filter(({ operation_id }) => operation_id === TARGET).map(({ id }) => id);
