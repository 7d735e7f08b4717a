/**
 * Serves the benchmark's account in the upstream's own wire format, enforces its limits, and runs on virtual time.
 */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { runningComputesAt } from '../world/computes.ts';
import { createdS, type Workload, type WorkOperation } from '../world/workload.ts';

/** One route allows 40 requests a second at 700 requests a minute (specification "Limits"). */
const PER_SECOND_SHARE = 40 / 700;

export interface UpstreamOptions {
  readonly now: () => number;
  /** All clients together may send this many requests a minute. */
  readonly requestsPerMinuteMax: number;
  readonly seed: number;
  /** This share of the transitions changes the project's `updated_at`. */
  readonly recall: number;
  /**
   * Another client takes this many requests a minute from the same limit, evenly spread and regardless of the
   * answers.
   */
  readonly otherRequestsPerMinute: number;
  /** This share of the requests fails: half of them with 503, and half by losing the answer. */
  readonly faultShare: number;
}

export interface VirtualUpstream {
  readonly fetch: typeof fetch;
  /** Returns the row of an operation that a command has just started. */
  startCommand(project: number, place: number): unknown;
  readonly counts: {
    readonly own: RequestCounts;
    readonly other: RequestCounts;
  };
  readonly age: ReadingAge;
}

/** Measures how long projects go unread. */
interface ReadingAge {
  /** Forgets everything before this call. */
  startOver(): void;
  /** Returns the longest time since the last `startOver` for which a project was not read, in seconds. */
  stalestS(): number;
}

interface RequestCounts {
  sent: number;
  /** Counts the requests that were answered 429. */
  refused: number;
  /** Counts the requests that were answered 429, by hour since the start. */
  readonly refusedByHour: number[];
}

/** Both numbers together are the last twelve digits of an operation's id. */
const PROJECT_DIGITS = 6;
const PLACE_DIGITS = 6;

export function projectIdOf(project: number): string {
  return `bench-${String(project).padStart(PROJECT_DIGITS, '0')}`;
}

export function projectOf(projectId: string): number {
  return Number(projectId.slice(-PROJECT_DIGITS));
}

export function operationIdOf(project: number, place: number): string {
  const number = String(project).padStart(PROJECT_DIGITS, '0') + String(place).padStart(PLACE_DIGITS, '0');
  return `b0000000-0000-4000-8000-${number}`;
}

export function createVirtualUpstream(workload: Workload, options: UpstreamOptions): VirtualUpstream {
  const { now } = options;
  const random = seededRandom(options.seed + 2_000);
  const startMs = workload.startS * 1_000;
  const window = createWindow(options.requestsPerMinuteMax);
  const counts = { own: noRequests(), other: noRequests() };
  const age = createReadingAge(workload.projectCount, now);
  const projects = workload.operations.map((own, project) => liveProject(own, project));
  const moves = workload.transitions.map((own) => own.filter(() => random.next() < options.recall));
  const movePlaces = new Int32Array(workload.projectCount);
  let otherAtMs = startMs;

  return {
    counts,
    age,
    startCommand(project, place) {
      admit(counts.other, now());
      return JSON.parse(projects[project]?.row(operationIdOf(project, place), now() / 1_000) ?? '{}');
    },
    fetch: async (input) => {
      const nowMs = now();
      letOtherSend(nowMs);
      if (!admit(counts.own, nowMs)) return refusal(429, { 'retry-after': '1' });
      if (random.next() < options.faultShare) return fault(random);
      return answer(urlOf(input), nowMs);
    },
  };

  function letOtherSend(nowMs: number): void {
    const everyMs = 60_000 / options.otherRequestsPerMinute;
    for (; otherAtMs <= nowMs; otherAtMs += everyMs) admit(counts.other, otherAtMs);
  }

  function admit(count: RequestCounts, atMs: number): boolean {
    count.sent += 1;
    if (window.admits(atMs)) return true;
    const hour = Math.floor((atMs - startMs) / 3_600_000);
    count.refused += 1;
    count.refusedByHour[hour] = (count.refusedByHour[hour] ?? 0) + 1;
    return false;
  }

  function answer({ pathname, searchParams }: URL, nowMs: number): Response {
    const [, , , , projectId, collection, operationId] = pathname.split('/');
    const limit = Number(searchParams.get('limit') ?? '1000');
    const cursor = searchParams.get('cursor') ?? undefined;
    if (projectId === undefined) return json(listPage(limit, cursor, nowMs), nowMs);
    const project = projects[projectOf(projectId)];
    if (project === undefined) return refusal(404, {});
    if (collection === 'endpoints')
      return json(computesPage(workload, projectOf(projectId), nowMs / 1_000), nowMs);
    if (operationId === undefined) age.noteRead(projectOf(projectId));
    if (operationId === undefined) return json(project.page(limit, cursor, nowMs / 1_000), nowMs);
    const row = project.row(operationId, nowMs / 1_000);
    return row === undefined ? refusal(404, {}) : json(`{"operation":${row}}`, nowMs);
  }

  function listPage(limit: number, cursor: string | undefined, nowMs: number): string {
    const first = cursor === undefined ? 0 : projectOf(cursor) + 1;
    const ids = Array.from(
      { length: Math.min(limit, workload.projectCount - first) },
      (_, place) => first + place,
    );
    const rows = ids.map((project) => {
      const id = projectIdOf(project);
      return { id, name: id, created_at: timeOf(0), updated_at: timeOf(movesUntil(project, nowMs / 1_000)) };
    });
    const pagination = rows.length === 0 ? {} : { pagination: { cursor: rows.at(-1)?.id } };
    return JSON.stringify({ projects: rows, ...pagination });
  }

  function movesUntil(project: number, nowS: number): number {
    const own = moves[project] ?? [];
    let place = movePlaces[project] ?? 0;
    while ((own[place]?.atS ?? Number.POSITIVE_INFINITY) <= nowS) place += 1;
    movePlaces[project] = place;
    return place;
  }
}

/** Shows only the computes that run, because nobody reads anything of the others. */
function computesPage(workload: Workload, project: number, nowS: number): string {
  const endpoints = runningComputesAt(workload, project, nowS).map(
    ({ id, lastActiveMs, suspendAfterMs }) => ({
      id,
      project_id: projectIdOf(project),
      current_state: 'active',
      last_active: timeOf((lastActiveMs ?? 0) / 1_000),
      suspend_timeout_seconds: suspendAfterMs / 1_000,
    }),
  );
  return JSON.stringify({ endpoints });
}

function noRequests(): RequestCounts {
  return { sent: 0, refused: 0, refusedByHour: [] };
}

function createReadingAge(projectCount: number, now: () => number) {
  const readAtMs = new Float64Array(projectCount).fill(now());
  let stalestMs = 0;
  return {
    noteRead(project: number) {
      stalestMs = Math.max(stalestMs, now() - (readAtMs[project] ?? 0));
      readAtMs[project] = now();
    },
    startOver() {
      readAtMs.fill(now());
      stalestMs = 0;
    },
    stalestS: () => Math.max(stalestMs, ...readAtMs.map((atMs) => now() - atMs)) / 1_000,
  };
}

/** Admits requests within sliding windows of a minute and a second. Refused requests do not count. */
function createWindow(perMinuteMax: number) {
  const perSecondMax = Math.ceil(PER_SECOND_SHARE * perMinuteMax);
  const lately = new Float64Array(perMinuteMax).fill(Number.NEGATIVE_INFINITY);
  let admittedCount = 0;
  const before = (count: number) =>
    lately[(((admittedCount - count) % perMinuteMax) + perMinuteMax) % perMinuteMax] ?? 0;
  return {
    admits(atMs: number): boolean {
      if (atMs - before(perMinuteMax) < 60_000) return false;
      if (atMs - before(perSecondMax) < 1_000) return false;
      lately[admittedCount % perMinuteMax] = atMs;
      admittedCount += 1;
      return true;
    },
  };
}

/** Advances one project's operations to the instant of each read. It keeps rendered pages until something changes. */
function liveProject(own: readonly WorkOperation[], project: number) {
  const rows: string[] = [];
  const statePlaces: number[] = [];
  /** Holds the places of the operations that will still change. */
  const open = new Set<number>();
  let pages = new Map<string, Buffer<ArrayBuffer>>();

  return { page, row };

  function advance(nowS: number): void {
    let hasChanged = false;
    for (let next = own[rows.length]; next !== undefined && createdS(next) <= nowS; next = own[rows.length]) {
      open.add(rows.length);
      statePlaces.push(-1);
      rows.push('');
    }
    for (const place of open) {
      const { states } = own[place] ?? { states: [] };
      const state = states.findLastIndex(({ atS }) => atS <= nowS);
      if (state === statePlaces[place]) continue;
      statePlaces[place] = state;
      rows[place] = rowOf(place, state);
      hasChanged = true;
      if (state === states.length - 1) open.delete(place);
    }
    if (hasChanged) pages = new Map();
  }

  function page(limit: number, cursor: string | undefined, nowS: number): Buffer<ArrayBuffer> {
    advance(nowS);
    const key = `${limit} ${cursor ?? ''}`;
    const known = pages.get(key);
    if (known !== undefined) return known;
    const end = cursor === undefined ? rows.length : Number(cursor);
    const first = Math.max(0, end - limit);
    const newestFirst = rows.slice(first, end).toReversed();
    const pagination = newestFirst.length === 0 ? '' : `,"pagination":{"cursor":"${first}"}`;
    const body = Buffer.from(`{"operations":[${newestFirst.join(',')}]${pagination}}`);
    pages.set(key, body);
    return body;
  }

  function row(operationId: string, nowS: number): string | undefined {
    advance(nowS);
    return rows[Number(operationId.slice(-PLACE_DIGITS))];
  }

  function rowOf(place: number, statePlace: number): string {
    const operation = own[place];
    const state = operation?.states[statePlace];
    if (operation === undefined || state === undefined) return '{}';
    return JSON.stringify({
      id: operationIdOf(project, place),
      project_id: projectIdOf(project),
      branch_id: `br-bench-${operation.session}`,
      endpoint_id: `ep-bench-${operation.session}`,
      action: operation.action,
      status: state.status,
      failures_count: operation.states.slice(0, statePlace + 1).filter(({ status }) => status === 'failed')
        .length,
      created_at: timeOf(createdS(operation)),
      updated_at: timeOf(state.atS),
      total_duration_ms: Math.round((state.atS - createdS(operation)) * 1_000),
    });
  }
}

/** The client passes a URL, but `fetch` accepts other forms too. */
export function urlOf(input: string | URL | Request): URL {
  return input instanceof Request ? new URL(input.url) : new URL(input);
}

/** Formats whole seconds, as rows contain them. */
export function timeOf(atS: number): string {
  return `${new Date(Math.floor(atS) * 1_000).toISOString().slice(0, 19)}Z`;
}

function json(body: string | Buffer<ArrayBuffer>, nowMs: number): Response {
  const headers = { 'content-type': 'application/json', date: new Date(nowMs).toUTCString() };
  return new Response(body, { headers });
}

function refusal(status: number, headers: Readonly<Record<string, string>>): Response {
  return new Response('{"message":"not now"}', { status, headers });
}

function fault(random: Random): Response {
  if (random.next() < 0.5) return refusal(503, {});
  throw new TypeError('the answer was lost');
}
