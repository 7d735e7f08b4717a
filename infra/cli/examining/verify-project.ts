/**
 * Compares one project on both sides: what the upstream says of its operations with what the bridge has recorded and
 * published of them. What differs is repaired when that is wanted.
 */

import * as z from 'zod';
import { isTerminal } from '../../../shared/records/operation-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { BridgeAbsence, type BridgeClient, BridgeRefusal, isPassing } from '../bridge-client.ts';

/** What was found out about one project. */
export interface Verdict {
  readonly project_id: string;
  readonly checked: number;
  /** What differs now: after the repair, when one was wanted. */
  readonly differences: readonly Difference[];
  /** These differences are gone since the repair. It is absent when none was wanted or needed. */
  readonly repaired?: readonly Difference[];
  /** Why the project could not be checked or repaired. */
  readonly not_checked?: string;
}

export interface VerifyDeps {
  readonly reading: Reading;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** It is undefined when nothing is to be repaired. */
  readonly repair: ((projectId: string) => Promise<void>) | undefined;
}

/** A poll of every project of a large account takes longer, but a command or an event is recorded within this time. */
const SECOND_LOOK_MS = 10_000;

export async function verifyProject(deps: VerifyDeps, project_id: string): Promise<Verdict> {
  try {
    const { checked, differences } = await compareTwice(deps, project_id);
    const isRepairable = differences.some(({ kind }) => kind !== 'invented');
    if (deps.repair === undefined || !isRepairable) return { project_id, checked, differences };
    return await repairProject(deps.repair, deps, project_id, differences);
  } catch (error) {
    // One project without an answer does not keep the others from being checked.
    const isOfProject = error instanceof BridgeRefusal || isPassing(error);
    if (!isOfProject || error instanceof BridgeAbsence) throw error;
    return { project_id, checked: 0, differences: [], not_checked: error.message };
  }
}

/** Upstream and bridge change meanwhile, so only what differs in two looks is believed. */
async function compareTwice(
  { reading, clock, signal }: VerifyDeps,
  projectId: string,
): Promise<{ readonly checked: number; readonly differences: readonly Difference[] }> {
  const first = await readProject(reading, projectId);
  const suspected = compareOperations(first);
  if (suspected.length === 0) return resultOf(first, []);
  await clock.sleep(SECOND_LOOK_MS, signal);
  const second = await readProject(reading, projectId);
  const suspects = new Set(suspected.map(keyOf));
  return resultOf(
    second,
    compareOperations(second).filter((found) => suspects.has(keyOf(found))),
  );
}

function resultOf({ upstream }: ProjectView, differences: readonly Difference[]) {
  return { checked: upstream.length, differences };
}

async function repairProject(
  repair: NonNullable<VerifyDeps['repair']>,
  deps: VerifyDeps,
  project_id: string,
  before: readonly Difference[],
): Promise<Verdict> {
  await repair(project_id);
  const { checked, differences } = await compareTwice(deps, project_id);
  const left = new Set(differences.map(keyOf));
  return {
    project_id,
    checked,
    differences: differences.map(withReason),
    repaired: before.filter((each) => !left.has(keyOf(each))),
  };
}

function withReason(difference: Difference): Difference {
  const { kind, found } = difference;
  return kind === 'invented' ? { ...difference, found: `${found} A repair removes nothing.` } : difference;
}

function keyOf({ operation_id, kind }: Difference): string {
  return `${kind} ${operation_id}`;
}

export interface Reading {
  readonly client: BridgeClient;
  /** Is awaited before each request that goes on to the upstream. */
  readonly pace: () => Promise<void>;
  /** Operations that were created before this time (ISO 8601) are left out. */
  readonly since: string;
}

const projects = z.looseObject({
  projects: z.array(z.looseObject({ project_id: z.string() })),
  cursor: z.string().optional(),
});

const upstreamPage = z.looseObject({
  operations: z.array(
    z.looseObject({
      id: z.string(),
      status: z.string(),
      failures_count: z.number(),
      created_at: z.string(),
      updated_at: z.string().optional(),
    }),
  ),
  pagination: z.looseObject({ cursor: z.string().optional() }).optional(),
});

const trackedPage = z.looseObject({
  operations: z.array(
    z.looseObject({
      operation_id: z.string(),
      status: z.string(),
      failures_count: z.number(),
      created_at: z.string(),
      sequence: z.number(),
    }),
  ),
  watched_since: z.string().optional(),
  cursor: z.string().optional(),
});

const history = z.looseObject({
  operation: z.looseObject({
    history: z.array(z.looseObject({ detail_type: z.string(), detail: z.record(z.string(), z.unknown()) })),
  }),
});

const stateChanged = z.looseObject({
  operation_id: z.string(),
  sequence: z.number(),
  previous_status: z.string().nullable(),
  status: z.string(),
});

/** No project has more pages within days; a list that never ends must not hold the run. */
const PAGES_MAX = 500;

export async function listProjects(client: BridgeClient): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await client.read(get('/bridge/v1/projects', { limit: 100, cursor }), projects);
    ids.push(...page.projects.map(({ project_id }) => project_id));
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return ids;
}

/** The upstream is read first, so that the bridge has had as much time as possible to see the same. */
async function readProject(reading: Reading, projectId: string): Promise<ProjectView> {
  const upstream = await upstreamOperations(reading, projectId);
  const { tracked, watchedSince } = await trackedOperations(reading, projectId);
  const changed = tracked.filter(({ sequence }) => sequence > 0);
  const events: SeenEvent[] = [];
  for (const { id } of changed) events.push(...(await eventsOf(reading, projectId, id)));
  return { watchedSince, upstream, tracked, events };
}

async function upstreamOperations({ client, pace, since }: Reading, projectId: string) {
  const found: SeenOperation[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    await pace();
    const path = `/api/v2/projects/${encodeURIComponent(projectId)}/operations`;
    const page = await client.read(get(path, { limit: 100, cursor }), upstreamPage);
    found.push(...page.operations.filter(({ created_at }) => created_at >= since));
    const next = page.pagination?.cursor;
    const isOver = page.operations.some(({ created_at }) => created_at < since);
    if (isOver || next === undefined || next === cursor || page.operations.length === 0) break;
    cursor = next;
  }
  return found;
}

async function trackedOperations({ client, since }: Reading, projectId: string) {
  const tracked: TrackedOperation[] = [];
  let watchedSince: string | undefined;
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/operations`;
    const page = await client.read(get(path, { limit: 100, cursor }), trackedPage);
    const rows = page.operations.filter(({ created_at }) => created_at >= since);
    tracked.push(...rows.map(({ operation_id: id, ...row }) => ({ ...row, id })));
    watchedSince = page.watched_since;
    cursor = page.cursor;
    if (cursor === undefined || rows.length < page.operations.length) break;
  }
  return { tracked, watchedSince };
}

async function eventsOf({ client }: Reading, projectId: string, operationId: string) {
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/operations/${encodeURIComponent(operationId)}`;
  const { operation } = await client.read(get(path, {}), history);
  return operation.history
    .filter(({ detail_type }) => detail_type === 'Operation State Changed')
    .map(({ detail }) => stateChanged.parse(detail));
}

function get(path: string, query: Readonly<Record<string, string | number | undefined>>) {
  return { method: 'GET', path, query };
}

/** An operation as the upstream lists it, or as the bridge tracks it. */
interface SeenOperation {
  readonly id: string;
  readonly status: string;
  readonly failures_count: number;
  /** ISO 8601, in whole seconds. */
  readonly created_at: string;
  /** ISO 8601. It is undefined when the answer does not show it. */
  readonly updated_at?: string | undefined;
}

export interface TrackedOperation extends SeenOperation {
  /** How many State Changed events the bridge has recorded for the operation; 0 for history that was recorded silently. */
  readonly sequence: number;
}

/** A State Changed event of an operation. */
export interface SeenEvent {
  readonly operation_id: string;
  readonly sequence: number;
  readonly previous_status: string | null;
  readonly status: string;
}

export interface Difference {
  readonly operation_id: string;
  readonly kind: 'missing' | 'different' | 'invented' | 'chain';
  /** A sentence that says what is wrong. */
  readonly found: string;
}

interface ProjectView {
  /** What had ended before this time (ISO 8601) is history, which the bridge does not record. */
  readonly watchedSince?: string | undefined;
  readonly upstream: readonly SeenOperation[];
  readonly tracked: readonly TrackedOperation[];
  readonly events: readonly SeenEvent[];
}

/** Lists what differs. The caller looks again before it believes a difference, because both sides move meanwhile. */
export function compareOperations({
  watchedSince,
  upstream,
  tracked,
  events,
}: ProjectView): readonly Difference[] {
  const trackedById = new Map(tracked.map((operation) => [operation.id, operation]));
  const upstreamIds = new Set(upstream.map(({ id }) => id));
  const eventsById = Map.groupBy(events, ({ operation_id }) => operation_id);
  return [
    ...upstream
      .filter((operation) => trackedById.has(operation.id) || !isHistory(operation, watchedSince))
      .flatMap((operation) => compareOne(operation, trackedById.get(operation.id))),
    ...tracked
      .filter(({ id }) => !upstreamIds.has(id))
      .map(({ id, status }) =>
        differenceIn(id, 'invented', `The table has it as ${status}, and the upstream does not list it.`),
      ),
    ...tracked.flatMap((operation) => checkChain(operation, eventsById.get(operation.id) ?? [])),
  ];
}

/** What is open is no history, however old it is. */
function isHistory({ status, created_at, updated_at = created_at }: SeenOperation, since?: string): boolean {
  if (since === undefined || !isTerminal(status)) return false;
  const sinceMs = Date.parse(since);
  return Date.parse(created_at) < sinceMs && Date.parse(updated_at) < sinceMs;
}

function compareOne(operation: SeenOperation, tracked: TrackedOperation | undefined): readonly Difference[] {
  const { id, status, failures_count } = operation;
  if (tracked === undefined)
    return [
      differenceIn(
        id,
        'missing',
        `The upstream has it as ${status}, and the table does not have it, or cannot read it.`,
      ),
    ];
  if (tracked.status === status && tracked.failures_count === failures_count) return [];
  const [theirs, ours] = [operation, tracked].map(
    (seen) => `${seen.status} with ${seen.failures_count} failures`,
  );
  return [differenceIn(id, 'different', `The upstream says ${theirs}, and the table ${ours}.`)];
}

/** A record keeps its latest 32 entries. An operation with this many changes has all of them, also if it has stalled. */
const KEPT_CHANGES_MIN = 24;

/** The events of an operation count from 1 without a gap, each follows the one before, and the last has its state. */
function checkChain(
  { id, sequence, status }: TrackedOperation,
  events: readonly SeenEvent[],
): readonly Difference[] {
  if (sequence === 0) return [];
  const bySequence = new Map(events.map((event) => [event.sequence, event]));
  const oldest = sequence <= KEPT_CHANGES_MIN ? 1 : Math.min(sequence, ...bySequence.keys());
  const expected = Array.from({ length: sequence - oldest + 1 }, (_, index) => oldest + index);
  const lacking = expected.filter((n) => !bySequence.has(n));
  if (lacking.length > 0)
    return [
      differenceIn(id, 'chain', `Its events ${lacking.join(', ')} of ${sequence} are missing from the feed.`),
    ];
  const broken = events.find(
    ({ sequence: n, previous_status }) => n > oldest && bySequence.get(n - 1)?.status !== previous_status,
  );
  if (broken !== undefined)
    return [differenceIn(id, 'chain', `Its event ${broken.sequence} does not follow the one before it.`)];
  const last = bySequence.get(sequence);
  if (last?.status === status) return [];
  return [differenceIn(id, 'chain', `Its last event says ${last?.status}, and the table ${status}.`)];
}

function differenceIn(operation_id: string, kind: Difference['kind'], found: string): Difference {
  return { operation_id, kind, found };
}
