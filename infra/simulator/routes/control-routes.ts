/**
 * Adds the simulation's own routes, under `/_control`; the service has none of them. Tests in any language use them
 * to change dials, connect to a compute and read the users table. They listen on this machine only, as the service
 * does.
 */

import type { Context, Hono } from 'hono';
import * as z from 'zod';
import { parseJson } from '../../../shared/runtime/foreign-text.ts';
import { dialsSchema, type FaultDials, type RequestLimits } from '../faults.ts';
import { type KeyRing, SECOND_ORGANIZATION_ID } from '../world/account.ts';
import { connect, findCompute } from '../world/compute-commands.ts';
import { POOLED_CONNECTIONS_MAX } from '../world/compute-life.ts';
import { maxConnectionsOf, resourcesOf } from '../world/offer.ts';
import { transferProject } from '../world/project-commands.ts';
import type { ProjectState } from '../world/project-state.ts';
import type { World } from '../world/world.ts';

export interface ControlDeps {
  readonly world: World;
  readonly faults: FaultDials;
  readonly keys: KeyRing;
  readonly limits: RequestLimits;
  readonly now: () => number;
  readonly passMs: (durationMs: number) => void;
}

/** The Console cannot send more than the account's limit in a minute. */
const consoleBody = z.strictObject({ requests: z.number().int().min(1).max(700) });

/** Drawing more than a month at once would take the simulation minutes. */
export const PASS_MS_MAX = 31 * 24 * 3_600_000;

const timeBody = z.strictObject({ pass_ms: z.number().int().min(1).max(PASS_MS_MAX) });

/** Without a body, one client connects directly. */
const connectBody = z.strictObject({
  count: z.number().int().min(1).max(POOLED_CONNECTIONS_MAX).default(1),
  pooled: z.boolean().default(false),
});

const keyBody = z.strictObject({ key: z.string().min(1), user_id: z.string().min(1).optional() });

export function addControlRoutes(app: Hono, deps: ControlDeps): void {
  addTimeRoutes(app, deps);
  addKeyRoutes(app, deps);
  addDialRoutes(app, deps);
  addProjectRoutes(app, deps);
}

function addTimeRoutes(app: Hono, { world, limits, now, passMs }: ControlDeps): void {
  app.post('/_control/time', (c) =>
    withBody(c, timeBody, ({ pass_ms }) => {
      passMs(pass_ms);
      world.advanceTo(now());
      return c.json({ now: new Date(world.nowMs).toISOString() });
    }),
  );
  app.post('/_control/console', (c) =>
    withBody(c, consoleBody, ({ requests }) => {
      // Requests of the Console count toward the same rate limit (specification "Limits").
      const admitted = Array.from({ length: requests }, (_, place) =>
        limits.admit(`console ${place}`, world.nowMs),
      );
      return c.json({ admitted: admitted.filter(Boolean).length });
    }),
  );
}

function addKeyRoutes(app: Hono, { keys, world }: ControlDeps): void {
  app.post('/_control/keys', (c) =>
    withBody(c, keyBody, ({ key, user_id }) => {
      // The API needs a key to make a key, so the Console makes the first key of each person.
      keys.add(key, user_id);
      return c.body(null, 204);
    }),
  );
  app.post('/_control/keys/revoke', (c) =>
    withBody(c, keyBody, ({ key }) => c.body(null, keys.delete(key) ? 204 : 404)),
  );
  app.post('/_control/projects/:project_id/leave-organization', (c) => {
    const project = world.project(c.req.param('project_id'));
    if (project === undefined) return c.json({ message: 'project not found' }, 404);
    transferProject(project, SECOND_ORGANIZATION_ID);
    keys.removeProject(project.id);
    return c.body(null, 204);
  });
  app.delete('/_control/members/:user_id', (c) => {
    keys.removeMember(c.req.param('user_id'));
    return c.body(null, 204);
  });
}

function addDialRoutes(app: Hono, { faults }: ControlDeps): void {
  app.get('/_control/dials', (c) => c.json(faults));
  app.patch('/_control/dials', (c) =>
    withBody(c, dialsSchema, (dials) => {
      Object.assign(faults, dials);
      return c.json(faults);
    }),
  );
}

function addProjectRoutes(app: Hono, { world }: ControlDeps): void {
  app.post('/_control/projects/:project_id/endpoints/:endpoint_id/connect', (c) =>
    withBody(c, connectBody, ({ count, pooled: isPooled }) => {
      const project = world.project(c.req.param('project_id'));
      const endpointId = c.req.param('endpoint_id');
      const outcome = project && connect(project, endpointId, world.nowMs, { count, isPooled });
      if (project === undefined || outcome === undefined)
        return c.json({ message: 'project not found' }, 404);
      if (outcome.kind === 'refused') return c.json({ message: outcome.message }, outcome.status);
      return c.json(factsOf(project, endpointId));
    }),
  );
  app.get('/_control/projects/:project_id/endpoints/:endpoint_id', (c) => {
    const project = world.project(c.req.param('project_id'));
    const facts = project && factsOf(project, c.req.param('endpoint_id'));
    return facts === undefined ? c.json({ message: 'endpoint not found' }, 404) : c.json(facts);
  });
  app.get('/_control/projects/:project_id/users', (c) => {
    const project = world.project(c.req.param('project_id'));
    if (project === undefined) return c.json({ message: 'project not found' }, 404);
    return c.json({ users: project.auth.users });
  });
}

/** Answers 400 and says what is wrong unless the body fits the schema. */
async function withBody<Schema extends z.ZodType>(
  c: Context,
  schema: Schema,
  act: (body: z.output<Schema>) => Response,
): Promise<Response> {
  const text = await c.req.text();
  const parsed = schema.safeParse(text === '' ? {} : parseJson(text));
  return parsed.success ? act(parsed.data) : c.json({ message: z.prettifyError(parsed.error) }, 400);
}

/** Shows what the API hides of a compute: its resources, its connections and its Postgres's `max_connections`. */
function factsOf(project: ProjectState, endpointId: string) {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return undefined;
  const { size } = compute.config;
  return {
    endpoint_id: endpointId,
    connection_count: compute.connectionCount,
    pooled_connection_count: compute.pooledConnectionCount,
    max_connections: maxConnectionsOf(size),
    min: resourcesOf(size.minCu),
    max: resourcesOf(size.maxCu),
  };
}
