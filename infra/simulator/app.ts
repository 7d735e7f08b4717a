/**
 * Serves the simulated API: paths, status codes and bodies are as specified, or as observed where the specification
 * is silent.
 */

import { Hono } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Random } from '../../shared/runtime/random.ts';
import { drawFault, type FaultDials } from './faults/faults.ts';
import type { RequestLimits } from './faults/limits.ts';
import { addConsumptionRoutes } from './routes/account/consumption-routes.ts';
import { addOrganizationRoutes } from './routes/account/organization-routes.ts';
import { addRegionRoutes } from './routes/account/region-routes.ts';
import { addUserRoutes } from './routes/account/user-routes.ts';
import { addAuthRoutes } from './routes/auth/auth-routes.ts';
import { addTransferPages } from './routes/auth/transfer-pages.ts';
import { addBranchRoutes } from './routes/branches/branch-routes.ts';
import { addComputeRoutes } from './routes/computes/compute-routes.ts';
import { addControlRoutes } from './routes/control-routes.ts';
import { damageAnswer, refusedBeforeWork } from './routes/damage-answer.ts';
import { addConnectionRoutes } from './routes/databases/connection-routes.ts';
import { addDatabaseRoutes } from './routes/databases/database-routes.ts';
import { addRoleRoutes } from './routes/databases/role-routes.ts';
import { addKeyRoutes } from './routes/key-routes.ts';
import { addOperationRoutes } from './routes/operations/operation-routes.ts';
import { addPermissionRoutes } from './routes/projects/permission-routes.ts';
import { addProjectRoutes } from './routes/projects/project-routes.ts';
import { addTransferRoutes } from './routes/projects/transfer-routes.ts';
import { tooManyRequests } from './routes/too-many-requests.ts';
import { refusal, type UpstreamContext, type UpstreamEnv } from './routes/upstream-context.ts';
import type { KeyRing } from './world/account/key-ring.ts';
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
  addProjectRoutes(app, deps);
  addTransferRoutes(app, deps);
  addPermissionRoutes(app, deps);
  addUserRoutes(app, deps);
  addOrganizationRoutes(app, deps);
  addRegionRoutes(app);
  addConsumptionRoutes(app, deps);
  addOperationRoutes(app, deps);
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
  if (!limits.admit(route, world.nowMs)) return tooManyRequests(c);
  return undefined;
}

/** The control routes and the browser's pages need no key and have no limits or faults. */
function isOutsideTheApi(c: UpstreamContext): boolean {
  return c.req.path.startsWith('/_control/') || c.req.path.startsWith('/auth/transfer/');
}
