/**
 * Builds the simulated service, and starts it as a server on this machine's loopback interface. It serves the
 * simulated API: paths, status codes and bodies are as specified, or as observed where the specification is silent. A
 * request may fail as a network, a proxy or an overloaded service makes it fail.
 */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { matchedRoutes } from 'hono/route';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { type Random, seededRandom } from '../../shared/runtime/random.ts';
import type { Call } from '../../shared/upstream/calls/call.ts';
import { type AnyCallId, allCalls } from '../../shared/upstream/calls/calls.ts';
import { forOwnHost } from '../process/operating-system.ts';
import {
  type AnswerFault,
  createFaultDials,
  createRequestLimits,
  drawFault,
  type FaultDials,
  type RequestLimits,
} from './faults.ts';
import { keyHandlers, organizationHandlers, regionHandlers, userHandlers } from './routes/account-routes.ts';
import { authHandlers } from './routes/auth-routes.ts';
import { branchHandlers } from './routes/branch-routes.ts';
import { computeHandlers } from './routes/compute-routes.ts';
import { consumptionHandlers } from './routes/consumption-routes.ts';
import { addControlRoutes } from './routes/control-routes.ts';
import { connectionHandlers, databaseHandlers, roleHandlers } from './routes/database-routes.ts';
import { operationHandlers } from './routes/operation-routes.ts';
import { addTransferPages, permissionHandlers, transferHandlers } from './routes/ownership-routes.ts';
import { projectHandlers } from './routes/project-routes.ts';
import { type Handlers, refusal, type UpstreamContext, type UpstreamEnv } from './routes/requests.ts';
import { resourceHandlers } from './routes/resource-routes.ts';
import { createKeyRing, type KeyRing } from './world/account.ts';
import { drawSecret, drawUuid } from './world/names.ts';
import { createWorld, type World, type WorldOptions } from './world/world.ts';

export interface UpstreamOptions extends Omit<WorldOptions, 'startAtMs'> {
  /**
   * The world begins to live at this time, in milliseconds since the epoch. Its history lies before. The default is
   * the clock's present.
   */
  readonly startAtMs?: number;
  readonly port?: number | undefined;
  /** It answers under these names, too, and then listens on all addresses of the machine. */
  readonly hosts?: readonly string[];
  /** The service accepts these keys until `revokeKey` is called. */
  readonly apiKeys: readonly string[];
  /** These faults are on from the start. Every dial can be changed later. */
  readonly dials?: Partial<FaultDials>;
  readonly clock?: Clock;
}

export interface LocalUpstream extends AsyncDisposable {
  /** The URL ends with `/api/v2`. */
  readonly baseUrl: string;
  /** Returns the world as it is at the clock's present. No timer advances it: lives are drawn when the world is read. */
  world(): World;
  readonly faults: FaultDials;
  /** Moves the time of the service forward, beyond its clock. */
  passMs(durationMs: number): void;
  addKey(key: string): void;
  /** Revokes a key at once and for ever (specification "Authentication", rule 7). */
  revokeKey(key: string): void;
  close(): Promise<void>;
}

/** The simulated service without a server: requests enter through `app`. */
export interface UpstreamService
  extends Omit<LocalUpstream, 'baseUrl' | 'close' | typeof Symbol.asyncDispose> {
  readonly app: ReturnType<typeof createUpstreamApp>;
}

export function createUpstreamService(options: UpstreamOptions): UpstreamService {
  const { clock = systemClock, seed } = options;
  let passedMs = 0;
  const now = () => clock.now() + passedMs;
  const world = createWorld({ ...options, startAtMs: options.startAtMs ?? clock.now() });
  const faults = { ...createFaultDials(), ...options.dials };
  const idDice = seededRandom(seed + 2);
  const secretDice = seededRandom(seed + 3);
  const keys = createKeyRing({
    secrets: options.apiKeys,
    drawSecret: () => drawSecret(secretDice),
    now,
  });
  const passMs = (durationMs: number) => {
    passedMs += durationMs;
  };
  const app = createUpstreamApp({
    world,
    now,
    passMs,
    keys,
    idDice: secretDice,
    limits: createRequestLimits(),
    faults,
    random: seededRandom(seed + 1),
    newId: () => drawUuid(idDice),
    sleep: (durationMs) => clock.sleep(durationMs),
  });
  return {
    app,
    world() {
      world.advanceTo(now());
      return world;
    },
    faults,
    passMs,
    addKey: (key) => keys.add(key),
    revokeKey: (key) => void keys.delete(key),
  };
}

export async function startUpstream(options: UpstreamOptions): Promise<LocalUpstream> {
  const { app, ...service } = createUpstreamService(options);
  const server = createAdaptorServer({
    fetch: forOwnHost((request, connection) => app.fetch(request, connection), options.hosts),
    overrideGlobalObjects: false,
  }) as Server;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listen(server, options);
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    ...service,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A connection outlives the longest `Retry-After`, which is a minute. */
const KEEP_ALIVE_MS = 75_000;

/**
 * Listens on loopback only, so that no other machine can connect, unless it has further names. Rejects with Node's own
 * error when the port is taken.
 */
async function listen(server: Server, { port = 0, hosts = [] }: UpstreamOptions): Promise<void> {
  server.listen(port, hosts.length === 0 ? '127.0.0.1' : '0.0.0.0');
  await once(server, 'listening');
}

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
  const handlers = simulatedCalls(deps);
  for (const [id, { method, path }] of literalFirst())
    app.on(method, `/api/v2${path.replace(/\{(\w+)\}/g, ':$1')}`, handlers[id] ?? notSimulated);
  app.notFound((c) => refusal(c, 404, 'not found'));
  app.onError((_error, c) => refusal(c, 500, 'internal error'));
  return app;
}

/** The names of all calls that are simulated are the keys. */
export function simulatedCalls(deps: UpstreamDeps): Handlers {
  return {
    ...authHandlers(deps),
    ...keyHandlers(deps.keys),
    ...computeHandlers,
    ...branchHandlers,
    ...roleHandlers,
    ...databaseHandlers,
    ...connectionHandlers,
    ...projectHandlers(deps),
    ...transferHandlers(deps),
    ...permissionHandlers(deps),
    ...userHandlers(deps),
    ...organizationHandlers(deps),
    ...regionHandlers,
    ...consumptionHandlers(deps),
    ...operationHandlers(deps),
    ...resourceHandlers(deps),
  };
}

/** The first route that matches a path answers, so `/projects/shared` must come before `/projects/{project_id}`. */
function literalFirst(): readonly (readonly [AnyCallId, Call])[] {
  const placed = Object.entries(allCalls) as [AnyCallId, Call][];
  const placeOf = ({ path }: Call) => path.replace(/\{\w+\}/g, '~');
  return placed.toSorted(([, a], [, b]) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

function notSimulated(c: UpstreamContext): Response {
  return refusal(c, 404, 'the simulated service does not have this call', 'NOT_SIMULATED');
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

/**
 * Refuses before any work is done: 429 and 503 are safe to repeat (public contract). Returns undefined when the
 * service works on the request, whatever becomes of its answer.
 */
function refusedBeforeWork(
  c: UpstreamContext,
  fault: AnswerFault | undefined,
  { retryAfterSeconds }: FaultDials,
): Response | undefined {
  if (fault === 'unavailable') return refusal(c, 503, 'service unavailable');
  return fault === 'rate_limited' ? tooManyRequests(c, retryAfterSeconds) : undefined;
}

/** The work is done and its answer is lost on the way, which no client can distinguish from work not done. */
async function damageAnswer(c: UpstreamContext, fault: AnswerFault | undefined): Promise<void> {
  switch (fault) {
    case 'internal_error':
      c.res = refusal(c, 500, 'internal error');
      break;
    case 'html_error':
      c.res = proxyPage();
      break;
    case 'dropped_connection':
      c.env.incoming?.socket.destroy();
      break;
    case 'half_body':
      c.res = await firstHalf(c.res);
      break;
    case 'rate_limited':
    case 'unavailable':
    case undefined:
  }
}

/** Returns the time-out page of the proxy in front of the service. A 524 with HTML was seen. */
function proxyPage(): Response {
  const headers = { 'content-type': 'text/html; charset=UTF-8' };
  return new Response('<html><body>A timeout occurred</body></html>', { status: 524, headers });
}

async function firstHalf(answer: Response): Promise<Response> {
  const text = await answer.text();
  const headers = { 'content-type': 'application/json' };
  return new Response(text.slice(0, Math.floor(text.length / 2)), { status: answer.status, headers });
}

/** The specification shows no `Retry-After`, so only a fault adds one, in seconds. */
function tooManyRequests(c: UpstreamContext, retryAfterSeconds?: number): Response {
  const response = refusal(c, 429, 'rate limit exceeded');
  if (retryAfterSeconds !== undefined) response.headers.set('retry-after', String(retryAfterSeconds));
  return response;
}
