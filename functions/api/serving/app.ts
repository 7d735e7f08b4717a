/** Serves the table of routes over HTTP with Hono, in the same way on Lambda and on a local server. */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Hono } from 'hono';
import { parseAccept } from 'hono/utils/accept';
import { COMPRESSIBLE_CONTENT_TYPE_REGEX } from 'hono/utils/compress';
import { onDemand } from '../../../shared/runtime/on-demand.ts';
import { notFound, Problem } from './problem.ts';
import { bodyBytesMaxOf, type RawRequest, readCapped } from './read-request.ts';
import { type ApiAnswer, type Route, UPSTREAM_MOUNT } from './route.ts';
import { answerTo, callerOf, type ServeDeps, serveRoute } from './serve-route.ts';

export interface RoutesAppDeps extends ServeDeps {
  readonly routes: readonly Route[];
}

export interface AppDeps extends RoutesAppDeps {
  /** Each of these apps serves everything under its path. It is loaded with the first request for it. */
  readonly apps?: readonly { readonly path: string; readonly load: () => Promise<Hono> }[];
}

/** On Lambda only JSON leaves as text. A file that says that it is text may have other bytes than those of UTF-8. */
export const ON_LAMBDA = {
  isContentTypeBinary: (type: string) => !/^application\/(problem\+)?json\b/i.test(type),
};

const NO_BYTES = new Uint8Array();

/** The preload lists of browsers ask for a year. */
const HSTS = 'max-age=31536000; includeSubDomains';

/** Throws when two routes collide or a route has no access rule, because no API is better than one with a hole. */
export function createApp(deps: AppDeps): Hono {
  checkRoutes(deps.routes);
  const app = new Hono();
  for (const { path, load } of deps.apps ?? []) mountOnDemand(app, path, load);
  addRoutes(app, deps);
  const serve = app.fetch;
  // A middleware would do the same, but with one Hono composes every request anew.
  app.fetch = async (request, ...context) => {
    await deps.refreshAccounts();
    const response = await compressAnswer(request, await serve(request, ...context));
    // A browser that has been here uses only https from then on (RFC 6797).
    if (isHttps(request.url)) response.headers.set('strict-transport-security', HSTS);
    return response;
  };
  return app;
}

function isHttps(url: string): boolean {
  return url.startsWith('https:');
}

/** Serves the routes and answers every other path with a problem. The routes must have been checked. */
export function createRoutesApp(deps: RoutesAppDeps): Hono {
  const app = new Hono();
  addRoutes(app, deps);
  return app;
}

function addRoutes(app: Hono, deps: RoutesAppDeps): void {
  for (const route of literalFirst(deps.routes)) {
    app.on(route.method, honoPathOf(route.path), async (c) => {
      const raw: RawRequest = {
        ids: c.req.param(),
        query: queryOf(c.req.url),
        url: c.req.url,
        headers: c.req.raw.headers,
        // A `Request` with GET has no body (Fetch standard), and to ask for it takes as long as a fifth of a read.
        body: async () => (route.method === 'GET' ? NO_BYTES : readCapped(c.req.raw, bodyBytesMaxOf(route))),
        signal: c.req.raw.signal,
      };
      return responseOf(await serveRoute(deps, route, raw));
    });
  }
  answerOthers(app, deps);
}

/** Most requests have no query, and a URL takes longer to parse than most of what follows. */
function queryOf(url: string): URLSearchParams {
  return url.includes('?') ? new URL(url).searchParams : new URLSearchParams();
}

function answerOthers(app: Hono, deps: RoutesAppDeps): void {
  const methodsOf = onDemand(async () => bridgePaths(deps.routes));
  app.notFound(async (c) => {
    const { path } = c.req;
    // A person who has opened the address of the API in a browser looks for the console.
    if (path === '/' && c.req.header('accept')?.includes('text/html')) return c.redirect('/console');
    const answer = await answerTo(deps, deps.newId(), async () => {
      // Who has no token learns nothing about the calls, as at the upstream itself.
      if (path.startsWith(`${UPSTREAM_MOUNT}/`)) {
        await callerOf(deps.authenticator, c.req.raw);
        throw callUnknown();
      }
      const known = (await methodsOf()).find(({ pattern }) => pattern.test(path));
      throw known === undefined ? notFound() : methodNotAllowed(known.methods);
    });
    return responseOf(answer);
  });
  // Only a fault that Hono itself finds comes here, for example a path that cannot be decoded.
  app.onError(async (error) => {
    const problem = new Problem('internal', {
      detail: 'The bridge could not read the request.',
      cause: error,
    });
    return responseOf(await answerTo(deps, deps.newId(), () => Promise.reject(problem)));
  });
}

/** The loaded app sees the whole path. */
function mountOnDemand(app: Hono, path: string, load: () => Promise<Hono>): void {
  const loaded = onDemand(load);
  for (const pattern of [path, `${path}/*`])
    app.all(pattern, async (c) => (await loaded()).fetch(c.req.raw, c.env));
}

/** Throws when two routes collide, or a route does not say who may call it. */
export function checkRoutes(routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const { id, method, path, access } of routes) {
    if (!access) throw new Error(`Route ${id} does not say who may call it; give it a scope`);
    for (const name of [`id ${id}`, `${method} ${path.replace(/\{\w+\}/g, '{}')}`]) {
      if (seen.has(name)) throw new Error(`Two routes have the ${name}; each needs its own`);
      seen.add(name);
    }
  }
}

/** The first route that matches a path answers, so `/projects/shared` must come before `/projects/{project_id}`. */
function literalFirst(routes: readonly Route[]): readonly Route[] {
  const placed = routes.map((route) => ({ route, place: route.path.replace(/\{\w+\}/g, '~') }));
  return placed.toSorted((a, b) => (a.place < b.place ? -1 : 1)).map(({ route }) => route);
}

/** The bridge's own paths with the methods that they take. A method of the upstream's paths is a call, which is unknown. */
function bridgePaths(routes: readonly Route[]) {
  const own = Map.groupBy(
    routes.filter(({ path }) => path.startsWith('/bridge/')),
    ({ path }) => path.replace(/\{\w+\}/g, '[^/]+'),
  );
  return [...own].map(([path, served]) => ({
    pattern: new RegExp(`^${path}$`),
    methods: served.map(methodOf),
  }));
}

function methodOf({ method }: Route): string {
  return method === 'GET' ? 'GET, HEAD' : method;
}

function methodNotAllowed(methods: readonly string[]): Problem {
  const allow = methods.join(', ');
  return new Problem('method-not-allowed', {
    detail: `This path takes ${allow}. Check the method against /bridge/v1/docs.`,
    headers: { allow },
  });
}

function callUnknown(): Problem {
  return new Problem('call-unknown', {
    detail:
      'The bridge passes on only the calls of its table, and this method and path are not among them. ' +
      'Check them against /bridge/v1/docs. If the upstream has a newer call, open it with api.extra_routes in bridge.config.ts.',
  });
}

function honoPathOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function responseOf({ status, headers = {}, body }: ApiAnswer): Response {
  const isPlain = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  if (isPlain)
    return new Response(isEmptyStatus(status) ? null : (body as string | undefined), { status, headers });
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** Answers with these statuses have no body (RFC 9110, 15.3.5 and 15.4.5), and `Response` refuses to make one with a body. */
function isEmptyStatus(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** A shorter answer fits into one packet with its headers, compressed or not. */
const WORTH_BYTES_MIN = 1_200;

const gzipped = promisify(gzip);

/**
 * Returns the answer compressed when its bytes are worth it, and the same one otherwise. A page has a secret of its session and
 * words of its address in it, from which lengths could tell the secret (BREACH); the cookie of the session is not sent with requests
 * that another site begins, so no other site gets such a page made.
 */
async function compressAnswer(request: Request, answer: Response): Promise<Response> {
  const { body, status } = answer;
  // The server of a local run copies the headers once the body is asked for, and sends the copy.
  const { headers } = answer;
  if (body === null || !COMPRESSIBLE_CONTENT_TYPE_REGEX.test(headers.get('content-type') ?? ''))
    return answer;
  if (!headers.has('vary')) headers.set('vary', 'Accept-Encoding');
  if (headers.has('content-encoding') || !acceptsGzip(request.headers.get('accept-encoding'))) return answer;
  const plain = new Uint8Array(await answer.arrayBuffer());
  if (plain.length < WORTH_BYTES_MIN) return new Response(plain, { status, headers });
  headers.set('content-encoding', 'gzip');
  headers.delete('content-length');
  return new Response(await gzipped(plain), { status, headers });
}

/** Reads the header as RFC 9110, 12.5.3, says. A client without it gets the answer as it is. */
export function acceptsGzip(acceptEncoding: string | null | undefined): boolean {
  const accepted = parseAccept(acceptEncoding ?? '');
  const named = accepted.find(({ type }) => type.toLowerCase() === 'gzip');
  const { q } = named ?? accepted.find(({ type }) => type === '*') ?? { q: 0 };
  return q > 0;
}
