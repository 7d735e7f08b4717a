/** Renders the upstream's two lists as JSON, one page at a time, with every irregularity that foreign lists have. */

import { cursorOf, microsecondsOf, rowOf, stateAt } from '../../upstream-model.ts';
import { usageFields } from '../usage.ts';
import type { WideWorld } from '../world.ts';
import { isThere, isWithin, type Truth, type TruthProject, type WideOperation } from './truth.ts';

export interface PageQuery {
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface ProjectsShown {
  readonly body: object;
  /** These projects have a row on this page. */
  readonly rowIds: readonly string[];
  readonly unavailableIds: readonly string[];
  /** Names the visible projects of this page that are not shown. */
  readonly withheldIds: readonly string[];
}

export interface OperationsShown {
  readonly body: object;
  readonly rowIds: readonly string[];
  /** Counts the rows that cannot be parsed. */
  readonly malformedCount: number;
}

export function operationsPage(
  world: WideWorld,
  project: TruthProject,
  { limit, cursor }: PageQuery,
  nowMs: number,
): OperationsShown {
  const there = project.operations.filter((op) => isThere(op, nowMs));
  const rest = olderThan(there, cursor);
  const rowMax = Math.min(limit, world.plan.operationPageMax);
  if (rowMax < limit && rest.length > rowMax) world.fire('operation_page_capped');
  const page = rest.slice(0, rowMax);
  const last = page.at(-1);
  const end = last && cursorOf(last.createdUs);
  return {
    body: {
      operations: page.map((op) => jsonRow(world, op, nowMs)),
      ...(end !== undefined && { pagination: { cursor: end } }),
    },
    rowIds: page.map(({ id }) => id),
    malformedCount: page.filter((op) => isMalformed(op, nowMs)).length,
  };
}

export function jsonRow(world: WideWorld, op: WideOperation, nowMs: number): object {
  const { text, hasNoTime } = op;
  const row = { ...rowOf(op, nowMs), ...(text !== undefined && { error: text }) };
  if (text !== undefined) world.fire('operation_text_long');
  if (hasNoTime) {
    world.fire('operation_row_without_time');
    return { ...row, created_at: '' };
  }
  if (!isMalformed(op, nowMs)) return row;
  world.fire('operation_row_malformed');
  return { ...row, status: 42 };
}

function isMalformed({ malformedUntilMs }: WideOperation, nowMs: number): boolean {
  return nowMs < malformedUntilMs;
}

function olderThan(there: readonly WideOperation[], cursor: string | undefined): readonly WideOperation[] {
  if (cursor === undefined) return there;
  const belowUs = microsecondsOf(cursor);
  return there.filter(({ createdUs }) => createdUs < belowUs);
}

export function projectsPage(world: WideWorld, truth: Truth, { limit, cursor }: PageQuery): ProjectsShown {
  const nowMs = world.scheduler.now();
  const there = truth.projects
    .filter(({ visible }) => isWithin(visible, nowMs))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .filter(({ id }) => cursor === undefined || id > cursor);
  const rowMax = Math.min(limit, world.plan.projectPageMax);
  if (rowMax < limit && there.length > rowMax) world.fire('project_page_capped');
  const page = there.slice(0, rowMax);
  const isPartial = page.length > 1 && world.strikes('project_page_partial');
  const withheldIds = isPartial ? page.slice(0, 1).map(({ id }) => id) : [];
  const shown = isPartial ? page.slice(1) : page;
  const isNamedOnly = (project: TruthProject) => isWithin(project.unavailable, nowMs);
  const isBroken = (project: TruthProject) => isWithin(project.malformed, nowMs);
  const rows = shown.filter((project) => !isNamedOnly(project));
  const last = page.at(-1)?.id;
  return {
    body: {
      projects: rows.map((project) => (isBroken(project) ? { id: 7 } : projectRow(world, project, nowMs))),
      unavailable_project_ids: shown.filter(isNamedOnly).map(({ id }) => id),
      ...(last !== undefined && { pagination: { cursor: last } }),
    },
    rowIds: rows.filter((project) => !isBroken(project)).map(({ id }) => id),
    unavailableIds: shown.filter(isNamedOnly).map(({ id }) => id),
    withheldIds: [...withheldIds, ...rows.filter(isBroken).map(({ id }) => id)],
  };
}

function projectRow(world: WideWorld, project: TruthProject, nowMs: number): object {
  const { id, createdMs } = project;
  const hints =
    world.plan.faults.project_list_hint_moved > 0
      ? { updated_at: isoOf(lastMoveMs(world, project, nowMs)) }
      : {};
  return { id, name: id, created_at: isoOf(createdMs), ...hints, ...usageFields(world, nowMs) };
}

/** Returns the time of the last change in the project, which makes this field a reliable hint. */
function lastMoveMs(world: WideWorld, { operations, createdMs }: TruthProject, nowMs: number): number {
  const moves = operations.flatMap((op) => stateAt(op, nowMs)?.atMs ?? []);
  const latest = Math.max(createdMs, ...moves);
  if (nowMs - latest < 5_000) world.fire('project_list_hint_moved');
  return latest;
}

function isoOf(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
