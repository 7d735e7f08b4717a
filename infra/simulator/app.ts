/**
 * Serves the simulated API: paths, status codes and bodies are as specified, or as observed where the specification
 * is silent.
 */

import { Hono } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Random } from '../../shared/runtime/random.ts';
import { drawFault, type FaultDials, visibleDelayMs } from './faults/faults.ts';
import type { RequestLimits } from './faults/limits.ts';
import { addAuthRoutes } from './routes/auth/auth-routes.ts';
import { addTransferPages } from './routes/auth/transfer-pages.ts';
import { addBranchRoutes } from './routes/branches/branch-routes.ts';
import { addComputeRoutes } from './routes/computes/compute-routes.ts';
import { addControlRoutes } from './routes/control-routes.ts';
import { damageAnswer, refusedBeforeWork } from './routes/damage-answer.ts';
import { addConnectionRoutes } from './routes/databases/connection-routes.ts';
import { addDatabaseRoutes } from './routes/databases/database-routes.ts';
import { addRoleRoutes } from './routes/databases/role-routes.ts';
import { findProject, outsideScope } from './routes/find-project.ts';
import { addKeyRoutes } from './routes/key-routes.ts';
import { operationPage, projectPage } from './routes/pages.ts';
import { operationRow, projectDetailRow, projectRow } from './routes/rows.ts';
import { refusal, type UpstreamContext, type UpstreamEnv } from './routes/upstream-context.ts';
import { isWithinReach, type KeyRing } from './world/key-ring.ts';
import type { WorldOperation } from './world/state/project-state.ts';
import type { World } from './world/world.ts';

export interface UpstreamDeps {
  /** Calling `now` advances this world to the present. */
  readonly world: World;
  readonly now: () => number;
  readonly keys: KeyRing;
  readonly limits: RequestLimits;
  readonly faults: FaultDials;
  /** Draws faults only; the world draws from dice of its own. */
  readonly random: Random;
  readonly newId: () => string;
  /** Draws the ids and secrets that calls create. */
  readonly idDice: Random;
  readonly sleep: (durationMs: number) => Promise<void>;
  /** This moves the time of the whole service forward. */
  readonly passMs: (durationMs: number) => void;
}

/** The service may delete operations that are older than six months (public contract). */
const KEPT_MS = 183 * 24 * 3_600_000;

/** Every answer carries the request's id, successful ones too (observed, under the vendor's name). */
const REQUEST_ID_HEADER = 'x-request-id';

export function createUpstreamApp(deps: UpstreamDeps): Hono<UpstreamEnv> {
  const app = new Hono<UpstreamEnv>();
  const control = new Hono();
  addControlRoutes(control, deps);

  app.use(async (c, next) => {
    c.set('requestId', deps.newId());
    c.set('world', deps.world);
    if (isOutsideTheApi(c)) {
      deps.world.advanceTo(deps.now());
      return next();
    }
    if (deps.faults.latencyMs > 0) await deps.sleep(deps.faults.latencyMs);
    deps.world.advanceTo(deps.now());
    const { nowMs } = deps.world;
    const refused = refuse(deps, c);
    const fault = refused === undefined ? drawFault(deps.faults, deps.random) : undefined;
    const unworked = refused ?? refusedBeforeWork(c, fault, deps.faults);
    if (unworked === undefined) {
      await next();
      await damageAnswer(c, fault);
    } else c.res = unworked;
    c.header(REQUEST_ID_HEADER, c.get('requestId'));
    // Clients compare this time with the times in the rows, so it is the world's and not the machine's.
    c.header('date', new Date(nowMs).toUTCString());
  });

  app.route('/', control);
  addTransferPages(app, deps);
  addAuthRoutes(app, deps);
  addKeyRoutes(app, deps.keys);
  addComputeRoutes(app);
  addBranchRoutes(app);
  addRoleRoutes(app);
  addDatabaseRoutes(app);
  addConnectionRoutes(app);
  app.get('/api/v2/projects', (c) => listProjects(deps, c));
  app.get('/api/v2/projects/:project_id', (c) => getProject(deps, c));
  app.get('/api/v2/projects/:project_id/operations', (c) => listOperations(deps, c));
  app.get('/api/v2/projects/:project_id/operations/:operation_id', (c) => getOperation(deps, c));
  app.notFound((c) => refusal(c, 404, 'not found'));
  app.onError((_error, c) => refusal(c, 500, 'internal error'));
  return app;
}

/** The key is checked first, also for unknown paths, so that a caller without a key learns nothing. */
function refuse({ keys, limits, world }: UpstreamDeps, c: UpstreamContext): Response | undefined {
  // The name of a scheme has no case (RFC 9110, section 11.1).
  const key = /^Bearer +(.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  const principal = key === undefined ? undefined : keys.authenticate(key);
  if (principal === undefined) return refusal(c, 401, 'supplied credentials do not pass authentication');
  c.set('principal', principal);
  // The limit is per route (specification "Limits"), so it counts by the template and not by the path.
  const route = `${c.req.method} ${matchedRoutes(c).at(-1)?.path}`;
  if (!limits.admit(route, world.nowMs)) return refusal(c, 429, 'rate limit exceeded');
  return undefined;
}

/** The control routes and the browser's pages need no key and have no limits or faults. */
function isOutsideTheApi(c: UpstreamContext): boolean {
  return c.req.path.startsWith('/_control/') || c.req.path.startsWith('/auth/transfer/');
}

function listProjects({ world, faults, random }: UpstreamDeps, c: UpstreamContext): Response {
  const principal = c.get('principal');
  const { projectId: scope, isMember } = principal;
  if (scope !== undefined) return outsideScope(c, scope);
  const visibleProjects = world.projects().filter(({ id }) => isMember && isWithinReach(principal, id));
  const page = projectPage(visibleProjects, c.req.query());
  if (page.kind === 'invalid') return refusal(c, 400, page.message);
  const { items, cursor } = page;
  // After the service's time-out a list is incomplete and names the projects that it lacks (public contract).
  const isPartial = items.length > 1 && random.next() < faults.partialProjects;
  const visible = isPartial ? items.slice(1) : items;
  return c.json({
    projects: visible.map((project) => projectRow(project, world.nowMs)),
    ...(isPartial && { unavailable_project_ids: items.slice(0, 1).map(({ id }) => id) }),
    ...(cursor !== undefined && { pagination: { cursor } }),
    applications: {},
    integrations: {},
  });
}

function getProject({ world }: UpstreamDeps, c: UpstreamContext): Response {
  const project = findProject(c, c.req.param('project_id') ?? '');
  if (project instanceof Response) return project;
  return c.json({ project: projectDetailRow(project, world.nowMs) });
}

function listOperations(deps: UpstreamDeps, c: UpstreamContext): Response {
  const { world } = deps;
  const project = findProject(c, c.req.param('project_id') ?? '');
  if (project instanceof Response) return project;
  const page = operationPage(project.operations, c.req.query(), (op) => isListed(op, deps));
  if (page.kind === 'invalid') return refusal(c, 400, page.message);
  const { items, cursor } = page;
  return c.json({
    operations: items.map((op) => operationRow(op, world.nowMs)),
    ...(cursor !== undefined && { pagination: { cursor } }),
  });
}

function getOperation({ world }: UpstreamDeps, c: UpstreamContext): Response {
  const project = findProject(c, c.req.param('project_id') ?? '');
  if (project instanceof Response) return project;
  const operationId = c.req.param('operation_id');
  const op = project.operations.find(({ id }) => id === operationId);
  if (op === undefined || !exists(op, world)) return refusal(c, 404, 'operation not found');
  return c.json({ operation: operationRow(op, world.nowMs) });
}

function isListed(op: WorldOperation, { world, faults }: UpstreamDeps): boolean {
  return exists(op, world) && op.created_us / 1_000 + visibleDelayMs(op.id, faults) <= world.nowMs;
}

/**
 * An operation is hidden before its creation, because lives are drawn ahead, and after six months, when it is
 * deleted.
 */
function exists({ created_us }: WorldOperation, { nowMs }: World): boolean {
  const ageMs = nowMs - created_us / 1_000;
  return ageMs >= 0 && ageMs < KEPT_MS;
}
