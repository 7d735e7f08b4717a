/** Handles the calls of operations: list and get (specification "Operations"). */

import { type FaultDials, visibleDelayMs } from '../faults.ts';
import type { ProjectState, WorldOperation } from '../world/project-state.ts';
import type { World } from '../world/world.ts';
import { findProject, type Handlers, refusal, type UpstreamContext } from './requests.ts';
import { operationPage, operationRow } from './rows.ts';

/** The service may delete operations that are older than six months (public contract). */
const KEPT_MS = 183 * 24 * 3_600_000;

/** The operations of a deleted project can be read for this time, so that a caller sees how its deletion ends. */
const KEPT_AFTER_DELETION_MS = 3_600_000;

export interface OperationRouteDeps {
  readonly world: World;
  readonly faults: FaultDials;
}

export function operationHandlers(deps: OperationRouteDeps): Handlers {
  return {
    listOperations: (c) => listOperations(deps, c),
    getOperation: (c) => getOperation(deps, c),
  };
}

function listOperations(deps: OperationRouteDeps, c: UpstreamContext): Response {
  const { world } = deps;
  const project = findWithOperations(deps, c);
  if (project instanceof Response) return project;
  const page = operationPage(project.operations, c.req.query(), (op) => isListed(op, deps));
  if (page.kind === 'invalid') return refusal(c, 400, page.message);
  const { items, cursor } = page;
  return c.json({
    operations: items.map((op) => operationRow(op, world.nowMs)),
    // An empty page has no row that a cursor could name.
    pagination: { cursor: cursor ?? '' },
  });
}

function getOperation(deps: OperationRouteDeps, c: UpstreamContext): Response {
  const { world } = deps;
  const project = findWithOperations(deps, c);
  if (project instanceof Response) return project;
  const operationId = c.req.param('operation_id');
  const op = project.operations.find(({ id }) => id === operationId);
  if (op === undefined || !exists(op, world)) return refusal(c, 404, 'operation not found');
  return c.json({ operation: operationRow(op, world.nowMs) });
}

function findWithOperations({ world }: OperationRouteDeps, c: UpstreamContext): ProjectState | Response {
  return findProject(c, c.req.param('project_id') ?? '', (id) => {
    const project = world.projectEvenDeleted(id);
    const untilMs = (project?.deletedAtMs ?? Number.POSITIVE_INFINITY) + KEPT_AFTER_DELETION_MS;
    return world.nowMs <= untilMs ? project : undefined;
  });
}

function isListed(op: WorldOperation, { world, faults }: OperationRouteDeps): boolean {
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
