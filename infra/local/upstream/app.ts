/** The simulated service's HTTP face: paths, status codes and bodies as specified, or as observed where it is silent. */

import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { Random } from '../../../shared/runtime/random.ts';
import { drawFault, type FaultDials, visibleDelayMs } from './faults.ts';
import type { RequestLimits } from './limits.ts';
import { cursorOf, microsecondsOf, operationRow, projectRow } from './rows.ts';
import type { World, WorldProject } from './world.ts';

export interface UpstreamDeps {
  /** Advanced to the present by `now`. */
  readonly world: World;
  readonly now: () => number;
  readonly apiKeys: ReadonlySet<string>;
  readonly limits: RequestLimits;
  readonly faults: FaultDials;
  readonly random: Random;
  readonly newId: () => string;
  readonly sleep: (durationMs: number) => Promise<void>;
}

type Status = 400 | 401 | 404 | 429 | 500 | 503;

/** The public contract: projects 1 to 400, ten by default; operations 1 to 1000, all of them by default. */
const PROJECT_ROWS = { max: 400, byDefault: 10 };
const OPERATION_ROWS = { max: 1_000, byDefault: Number.POSITIVE_INFINITY };

/** Public contract: operations older than six months may be deleted. */
const KEPT_MS = 183 * 24 * 3_600_000;

const REQUEST_ID_HEADER = 'x-request-id';

export function createUpstreamApp(deps: UpstreamDeps): Hono {
  const app = new Hono();

  app.use(async (c, next) => {
    const nowMs = deps.now();
    deps.world.advanceTo(nowMs);
    if (deps.faults.latencyMs > 0) await deps.sleep(deps.faults.latencyMs);
    const refusal = refuse(deps, c, nowMs);
    if (refusal === undefined) await next();
    else c.res = refusal;
    c.header(REQUEST_ID_HEADER, deps.newId());
    // The service's own clock: what a client may compare with the times in the rows.
    c.header('date', new Date(nowMs).toUTCString());
    if (refusal === undefined) await damage(deps, c);
  });

  app.get('/api/v2/projects', (c) => listProjects(deps, c));
  app.get('/api/v2/projects/:project_id', (c) => {
    const project = findProject(deps, c);
    return project === undefined
      ? problem(c, 404, 'project not found')
      : c.json({ project: projectRow(project, deps.world.nowMs) });
  });
  app.get('/api/v2/projects/:project_id/operations', (c) => listOperations(deps, c));
  app.get('/api/v2/projects/:project_id/operations/:operation_id', (c) => getOperation(deps, c));
  app.notFound((c) => problem(c, 404, 'not found'));
  app.onError((_error, c) => problem(c, 500, 'internal error'));
  return app;
}

/** Keys first, also for paths that do not exist: without a key nobody learns anything. */
function refuse(deps: UpstreamDeps, c: Context, nowMs: number): Response | undefined {
  const key = /^Bearer (.+)$/.exec(c.req.header('authorization') ?? '')?.[1];
  if (key === undefined || !deps.apiKeys.has(key)) {
    return problem(c, 401, 'supplied credentials do not pass authentication');
  }
  const route = c.req.path.replace(/[^/]*\d[^/]*/g, '{id}');
  if (!deps.limits.admit(`${c.req.method} ${route}`, nowMs)) return problem(c, 429, 'rate limit exceeded');
  return undefined;
}

/** After the answer is made: what the network or a proxy then does to it. */
async function damage(deps: UpstreamDeps, c: Context): Promise<void> {
  switch (drawFault(deps.faults, deps.random)) {
    case 'rate_limited': {
      const seconds = deps.faults.retryAfterSeconds;
      c.res = problem(c, 429, 'rate limit exceeded');
      if (seconds !== undefined) c.res.headers.set('retry-after', String(seconds));
      break;
    }
    case 'internal_error':
      c.res = problem(c, 500, 'internal error');
      break;
    case 'unavailable':
      c.res = problem(c, 503, 'service unavailable');
      break;
    case 'html_error':
      c.res = new Response('<html><body>A timeout occurred</body></html>', {
        status: 524,
        headers: { 'content-type': 'text/html' },
      });
      break;
    case 'dropped_connection':
      (c.env as HttpBindings).incoming.socket.destroy();
      break;
    case 'half_body': {
      const text = await c.res.text();
      c.res = new Response(text.slice(0, Math.floor(text.length / 2)), {
        headers: { 'content-type': 'application/json' },
      });
      break;
    }
    case undefined:
  }
}

function listProjects(deps: UpstreamDeps, c: Context): Response {
  const limit = limitOf(c, PROJECT_ROWS);
  if (limit === undefined)
    return problem(c, 400, `invalid request: limit must be between 1 and ${PROJECT_ROWS.max}`);
  const { nowMs } = deps.world;
  const cursor = c.req.query('cursor') ?? '';
  const search = c.req.query('search') ?? '';
  const rest = deps.world.projects().filter(({ id, created_at_ms }) => id > cursor && created_at_ms <= nowMs);
  const page = rest.filter(({ id }) => id.includes(search)).slice(0, limit);
  const last = page.at(-1);
  const hidden = page.length > 1 && deps.random.next() < deps.faults.partialProjects ? page[0] : undefined;
  const visible = page.filter((project) => project !== hidden);
  return c.json({
    projects: visible.map((project) => projectRow(project, nowMs)),
    ...(hidden !== undefined && { unavailable_project_ids: [hidden.id] }),
    // Observed: there even when nothing follows, absent on an empty list.
    ...(last !== undefined && { pagination: { cursor: last.id } }),
    applications: {},
    integrations: {},
  });
}

function listOperations(deps: UpstreamDeps, c: Context): Response {
  const project = findProject(deps, c);
  if (project === undefined) return problem(c, 404, 'project not found');
  const limit = limitOf(c, OPERATION_ROWS);
  if (limit === undefined)
    return problem(c, 400, `invalid request: limit must be between 1 and ${OPERATION_ROWS.max}`);
  const cursor = c.req.query('cursor');
  const belowUs = cursor === undefined ? Number.POSITIVE_INFINITY : microsecondsOf(cursor);
  if (belowUs === undefined) return problem(c, 400, 'invalid request: cursor is not valid');
  const { nowMs } = deps.world;
  const page = project.operations
    .filter((op) => op.created_us < belowUs && isListed(op, deps))
    .toReversed()
    .slice(0, limit);
  const last = page.at(-1);
  return c.json({
    operations: page.map((op) => operationRow(op, nowMs)),
    ...(last !== undefined && { pagination: { cursor: cursorOf(last.created_us) } }),
  });
}

function isListed(op: { id: string; created_us: number }, { world, faults }: UpstreamDeps): boolean {
  const createdMs = op.created_us / 1_000;
  return createdMs + visibleDelayMs(op.id, faults) <= world.nowMs && world.nowMs - createdMs < KEPT_MS;
}

function getOperation(deps: UpstreamDeps, c: Context): Response {
  const project = findProject(deps, c);
  if (project === undefined) return problem(c, 404, 'project not found');
  const { nowMs } = deps.world;
  const op = project.operations.find(({ id }) => id === c.req.param('operation_id'));
  const isKnown = op !== undefined && op.created_us / 1_000 <= nowMs;
  return isKnown ? c.json({ operation: operationRow(op, nowMs) }) : problem(c, 404, 'operation not found');
}

function findProject({ world }: UpstreamDeps, c: Context): WorldProject | undefined {
  return world.project(c.req.param('project_id') ?? '');
}

function limitOf(c: Context, { max, byDefault }: { max: number; byDefault: number }): number | undefined {
  const text = c.req.query('limit');
  if (text === undefined) return byDefault;
  const limit = Number(text);
  return /^\d+$/.test(text) && limit >= 1 && limit <= max ? limit : undefined;
}

/** Observed body of every refusal: `code` is mostly empty. */
function problem(c: Context, status: Status, message: string): Response {
  return c.json({ request_id: c.res.headers.get(REQUEST_ID_HEADER) ?? '', code: '', message }, status);
}
