/**
 * Models the upstream for the simulation: the whole life of an operation is drawn at its creation and then only
 * looked up.
 */

import type { Random } from '../../shared/runtime/random.ts';

export interface TruthState {
  readonly atMs: number;
  readonly status: string;
  readonly failures_count: number;
  /** Holds the time of the last change that the row shows. It can be wrong. */
  readonly updatedAtMs: number;
}

export interface TruthOperation {
  readonly id: string;
  readonly project_id: string;
  readonly action: string;
  /** Every creation of a branch has a branch of its own. */
  readonly branch_id?: string | undefined;
  /** Each project has one compute. */
  readonly endpoint_id?: string | undefined;
  /** Counts microseconds since the epoch, because the service's cursors are as precise as that. */
  readonly createdUs: number;
  /** Lists do not contain the row before this time. */
  readonly visibleAtMs: number;
  /** From this time on neither a list nor a read of its own shows the operation. */
  readonly vanishesAtMs: number;
  readonly states: readonly TruthState[];
}

export interface UpstreamModelOptions {
  readonly startMs: number;
  /** After this time no operation is created or changes. */
  readonly endMs: number;
  readonly projectCount: number;
  readonly operationCount: number;
  /** Counts the operations that exist before the bridge first reads. */
  readonly historyCount: number;
  /** Limits how long after its creation a row can become visible. */
  readonly visibleLateMsMax: number;
  /** Returns by how many milliseconds the creation time of an operation is wrong. Without it all are right. */
  readonly shiftMs?: (index: number) => number;
  readonly chance: {
    readonly tie: number;
    readonly lateVisible: number;
    readonly fails: number;
    readonly reopens: number;
    readonly vanishes: number;
    readonly brokenUpdatedAt: number;
    readonly unknownStatus: number;
    readonly burst: number;
    /**
     * Replicas lag. Then no end is taken back, and no `updated_at` goes back: nothing would tell an older state from a newer one.
     */
    readonly isLagging?: boolean;
  };
}

/** With these chances operations only begin, run and finish. */
export const NOTHING_ODD: UpstreamModelOptions['chance'] = {
  tie: 0,
  lateVisible: 0,
  fails: 0,
  reopens: 0,
  vanishes: 0,
  brokenUpdatedAt: 0,
  unknownStatus: 0,
  burst: 0,
};

export interface UpstreamModel {
  readonly projectIds: readonly string[];
  readonly operations: readonly TruthOperation[];
  list(projectId: string, query: { limit: number; cursor?: string }, nowMs: number): Page;
  read(operationId: string, nowMs: number): Row | undefined;
}

export interface Row {
  readonly id: string;
  readonly project_id: string;
  readonly action: string;
  readonly branch_id?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly status: string;
  readonly failures_count: number;
  readonly created_at: string;
  readonly updated_at: string;
}

interface Page {
  readonly operations: readonly Row[];
  readonly cursor: string | undefined;
}

export const ACTIONS = [
  'create_branch',
  'start_compute',
  'suspend_compute',
  'apply_config',
  'an_action_of_tomorrow',
];

/** These actions belong to no other operation, so that a wrong time is the fault of one row alone. */
export const ALONE: ReadonlySet<string> = new Set([
  'suspend_compute',
  'apply_config',
  'an_action_of_tomorrow',
]);

/** A page of the close world has at least eight rows, and a sweep ends it at one of its last five: more in one microsecond can never be told apart. */
const TIE_ROWS_MAX = 5;

export function createUpstreamModel(options: UpstreamModelOptions, random: Random): UpstreamModel {
  const projectIds = Array.from(
    { length: options.projectCount },
    (_, index) => `quiet-pond-${10_000_000 + index}`,
  );
  const operations: TruthOperation[] = [];
  let previousUs = 0;
  for (let index = 0; index < options.operationCount + options.historyCount; index++) {
    const isHistory = index < options.historyCount;
    const isTieFull = operations.filter((each) => each.createdUs === previousUs).length >= TIE_ROWS_MAX;
    const createdUs = drawCreation(options, random, { isHistory, previousUs, isTieFull });
    previousUs = createdUs;
    const creation = startsCompute(operations.at(-1), index) ? operations.at(-1) : undefined;
    const drawn = drawOperation(options, random, { createdUs, index, projectIds, creation });
    const shiftMs = ALONE.has(drawn.action) ? (options.shiftMs?.(index) ?? 0) : 0;
    operations.push({ ...drawn, createdUs: drawn.createdUs + shiftMs * 1_000 });
  }
  const newestFirst = operations.toSorted((a, b) => b.createdUs - a.createdUs || (a.id < b.id ? 1 : -1));

  return {
    projectIds,
    operations,
    list(projectId, { limit, cursor }, nowMs) {
      const belowUs = cursor === undefined ? Number.POSITIVE_INFINITY : microsecondsOf(cursor);
      const rows = newestFirst.filter(
        (op) => op.project_id === projectId && isThere(op, nowMs) && op.createdUs < belowUs,
      );
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        operations: page.map((op) => rowOf(op, nowMs)),
        cursor: last === undefined ? undefined : cursorOf(last.createdUs),
      };
    },
    read(operationId, nowMs) {
      const op = operations.find(({ id }) => id === operationId);
      return op === undefined || !isThere(op, nowMs) ? undefined : rowOf(op, nowMs);
    },
  };
}

/** Returns the state at an instant. The bridge must finally have published the last one. */
export function stateAt(operation: TruthOperation, nowMs: number): TruthState | undefined {
  return operation.states.findLast((state) => state.atMs <= nowMs);
}

function isThere(op: TruthOperation, nowMs: number): boolean {
  return op.visibleAtMs <= nowMs && nowMs < op.vanishesAtMs;
}

function drawCreation(
  { startMs, endMs, chance }: UpstreamModelOptions,
  random: Random,
  { isHistory, previousUs, isTieFull }: { isHistory: boolean; previousUs: number; isTieFull: boolean },
): number {
  const HISTORY_MS = 3_600_000;
  if (previousUs > 0 && random.next() < chance.tie && !isTieFull) return previousUs;
  if (previousUs > 0 && random.next() < chance.burst) return previousUs + Math.floor(random.next() * 900_000);
  const fromMs = isHistory ? startMs - HISTORY_MS : startMs;
  const spanMs = isHistory ? HISTORY_MS : (endMs - startMs) * 0.8;
  return Math.floor((fromMs + random.next() * spanMs) * 1_000);
}

/** Two of three creations of a branch start its compute with it, unless that would be the first operation of the news. */
function startsCompute(before: TruthOperation | undefined, index: number): boolean {
  return before?.action === 'create_branch' && index % 3 !== 0;
}

interface OperationPlace {
  readonly createdUs: number;
  readonly index: number;
  readonly projectIds: readonly string[];
  /** The operation is the start of a compute that was created together with this creation of a branch. */
  readonly creation: TruthOperation | undefined;
}

/** A start that belongs to a creation follows it by less than a millisecond. */
export const TOGETHER_US = 700;

function drawOperation(
  options: UpstreamModelOptions,
  random: Random,
  { createdUs: drawnUs, index, projectIds, creation }: OperationPlace,
): TruthOperation {
  const { chance, endMs, visibleLateMsMax } = options;
  const createdUs = creation === undefined ? drawnUs : creation.createdUs + TOGETHER_US;
  const createdMs = createdUs / 1_000;
  const states = drawStates(options, random, createdMs);
  const isLate = random.next() < chance.lateVisible;
  const vanishes = random.next() < chance.vanishes;
  const projectId = projectIds[Math.floor(random.next() * projectIds.length)] ?? '';
  const action = ACTIONS[Math.floor(random.next() * ACTIONS.length)] ?? '';
  return {
    id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    ...placeOf({ index, creation, projectId, action }),
    createdUs,
    visibleAtMs: createdMs + (isLate ? random.next() * visibleLateMsMax : 0),
    vanishesAtMs: vanishes
      ? createdMs + random.next() * Math.max(1, endMs - createdMs)
      : Number.POSITIVE_INFINITY,
    states,
  };
}

function placeOf({
  index,
  creation,
  projectId,
  action: drawn,
}: Pick<OperationPlace, 'index' | 'creation'> & { readonly projectId: string; readonly action: string }) {
  const project_id = creation?.project_id ?? projectId;
  const action = creation === undefined ? drawn : 'start_compute';
  const createsBranch = action === 'create_branch';
  return {
    project_id,
    action,
    branch_id: creation?.branch_id ?? (createsBranch ? `br-${index}` : `br-${project_id}`),
    endpoint_id: createsBranch ? undefined : `ep-${project_id}`,
  };
}

const NEXT_STATUS: Record<string, readonly string[]> = {
  scheduling: ['running', 'running', 'running', 'skipped', 'cancelling'],
  running: ['finished', 'finished', 'finished', 'cancelling', 'error'],
  cancelling: ['cancelled'],
  failed: ['running', 'running', 'scheduling', 'failed', 'finished'],
  paused_for_review: ['running', 'finished'],
};

/** Draws every state of one operation's life. */
export function drawStates(
  options: Pick<UpstreamModelOptions, 'chance' | 'endMs' | 'startMs'>,
  random: Random,
  createdMs: number,
): readonly TruthState[] {
  const { chance, endMs, startMs } = options;
  const isStuck = random.next() < chance.brokenUpdatedAt;
  const states: TruthState[] = [];
  let status = random.next() < 0.5 ? 'scheduling' : 'running';
  let failures = 0;
  let atMs = createdMs;
  // A quarter of the history can still be open when the bridge arrives.
  const mayEndLate = createdMs >= startMs || random.next() < 0.25;
  const lastMs = mayEndLate ? endMs : startMs - 1;
  for (let count = 0; count < 12; count++) {
    const drawnMs = isStuck ? createdMs - Math.floor(random.next() * 3) * 1_000 : atMs;
    const updatedAtMs = chance.isLagging ? Math.max(drawnMs, states.at(-1)?.updatedAtMs ?? drawnMs) : drawnMs;
    states.push({ atMs, status, failures_count: failures, updatedAtMs });
    const next = drawNext(status, { random, chance });
    if (next === undefined) break;
    atMs += 20 + 12_000 * random.next() ** 3;
    if (atMs > lastMs) break;
    if (next === 'failed') failures += random.next() < 0.2 ? 2 : 1;
    status = next;
  }
  return states;
}

function drawNext(
  status: string,
  { random, chance }: { random: Random; chance: UpstreamModelOptions['chance'] },
): string | undefined {
  const follows = NEXT_STATUS[status];
  if (follows === undefined)
    return random.next() < (chance.isLagging ? 0 : chance.reopens) ? 'running' : undefined;
  if (random.next() < chance.unknownStatus) return 'paused_for_review';
  if ((status === 'running' || status === 'failed') && random.next() < chance.fails) return 'failed';
  const next = follows[Math.floor(random.next() * follows.length)];
  // `failed` after `failed` without another failure would not be a change.
  return next === status ? 'running' : next;
}

export function rowOf(op: TruthOperation, nowMs: number): Row {
  const state = stateAt(op, nowMs) ?? op.states[0];
  if (state === undefined) throw new Error(`Operation ${op.id} has no state`);
  const row = ROWS.get(state) ?? renderRow(op, state);
  ROWS.set(state, row);
  return row;
}

/** Pages show an operation many times in each state, and its row is made once for each of them. */
const ROWS = new WeakMap<TruthState, Row>();

function renderRow(op: TruthOperation, state: TruthState): Row {
  return {
    id: op.id,
    project_id: op.project_id,
    action: op.action,
    ...(op.branch_id !== undefined && { branch_id: op.branch_id }),
    ...(op.endpoint_id !== undefined && { endpoint_id: op.endpoint_id }),
    status: state.status,
    failures_count: state.failures_count,
    created_at: wholeSeconds(op.createdUs / 1_000),
    updated_at: wholeSeconds(state.updatedAtMs),
  };
}

/** Rows show whole seconds, though the service has microseconds. */
function wholeSeconds(epochMs: number): string {
  return `${new Date(Math.floor(epochMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
}

/** Gives microseconds without trailing zeros, as observed: `2022-12-09T08:47:52.20417Z`. */
export function cursorOf(createdUs: number): string {
  const fraction = String(createdUs % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const seconds = wholeSeconds(createdUs / 1_000).slice(0, 19);
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}

export function microsecondsOf(cursor: string): number {
  const [seconds = '', fraction = ''] = cursor.replace('Z', '').split('.');
  return Date.parse(`${seconds}Z`) * 1_000 + Number(fraction.padEnd(6, '0'));
}
