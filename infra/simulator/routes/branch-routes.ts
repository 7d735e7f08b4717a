/**
 * Handles the calls of branches: list, count, get, create, update, restore, set as default, delete. Their list can be
 * searched and sorted, and is cut into pages (public contract).
 */

import * as z from 'zod';
import { type Branch, branchPhaseAt, lsnAt } from '../world/branch.ts';
import {
  type ChangedBranch,
  createBranch,
  deleteBranch,
  type NewBranch,
  setDefaultBranch,
  updateBranch,
} from '../world/branch-commands.ts';
import { finalizeRestore, restoreBranch, restoreSnapshot } from '../world/branch-restores.ts';
import { activeSecondsOf, type ProjectState, type WorldProject } from '../world/project-state.ts';
import { endpointRow, newComputeSettings, settable } from './compute-routes.ts';
import { contentRows } from './database-routes.ts';
import {
  type Handlers,
  inBranch,
  inProject,
  refusal,
  refuse,
  type UpstreamContext,
  withBody,
} from './requests.ts';
import { COMPUTE_UNITS_MIN, startedRows, wholeSeconds } from './rows.ts';

const branchName = z.string().min(1).max(256);
/** A time may have any offset (RFC 3339). */
const timestamp = z.iso.datetime({ offset: true });

const createBranchBody = z.object({
  branch: z
    .object({
      name: branchName.optional(),
      parent_id: z.string().optional(),
      parent_lsn: z.string().optional(),
      parent_timestamp: timestamp.optional(),
      protected: z.boolean().optional(),
      init_source: z.enum(['parent-data', 'schema-only']).optional(),
      expires_at: timestamp.optional(),
    })
    .optional(),
  // A branch has one read-write compute and few replicas, so this bound stops no honest client.
  endpoints: z
    .array(z.object({ ...settable, type: z.enum(['read_write', 'read_only']) }))
    .max(10)
    .optional(),
  annotation_value: z.record(z.string(), z.string()).optional(),
});

const updateBranchBody = z.object({
  branch: z.object({
    name: branchName.optional(),
    protected: z.boolean().optional(),
    expires_at: timestamp.nullable().optional(),
  }),
});

const restoreBranchBody = z.object({
  source_branch_id: z.string(),
  source_lsn: z.string().optional(),
  source_timestamp: timestamp.optional(),
  preserve_under_name: branchName.optional(),
});

const finalizeBody = z.object({ name: branchName.optional() });

export const restoreSnapshotBody = z.object({
  name: branchName.optional(),
  target_branch_id: z.string().optional(),
  finalize_restore: z.boolean().optional(),
});

export const branchHandlers: Handlers = {
  listBranches: (c) =>
    inProject(c, (project, nowMs) => {
      const page = branchPage(project.branches.values(), c.req.query());
      if (page.kind === 'invalid') return refusal(c, 400, page.message);
      const annotated = page.branches.filter(({ annotation }) => Object.keys(annotation).length > 0);
      return c.json({
        branches: page.branches.map((branch) => branchRow(project, branch, nowMs)),
        annotations: Object.fromEntries(annotated.map((branch) => [branch.id, annotationRow(branch)])),
        pagination: page.pagination,
      });
    }),
  countBranches: (c) =>
    inProject(c, ({ branches }) =>
      c.json({ count: filterBranches(branches.values(), c.req.query('search')).length }),
    ),
  getBranch: (c) =>
    inBranch(c, ({ project, branch, nowMs }) =>
      c.json({ branch: branchRow(project, branch, nowMs), annotation: annotationRow(branch) }),
    ),
  listBranchEndpoints: (c) =>
    inBranch(c, ({ project, branch, nowMs }) => {
      const computes = project.computes.filter(({ branch_id }) => branch_id === branch.id);
      return c.json({ endpoints: computes.map((compute) => endpointRow(compute, project, nowMs)) });
    }),
  createBranch: withBody(createBranchBody, create),
  updateBranch: withBody(updateBranchBody, update),
  restoreBranch: withBody(restoreBranchBody, restore),
  setDefaultBranch: (c) =>
    inProject(c, (project, nowMs) => {
      const outcome = setDefaultBranch(project, branchIdOf(c), nowMs);
      if (outcome.kind === 'refused') return refuse(c, outcome);
      return c.json(branchAnswer(project, { branch: outcome.value, operations: [] }, nowMs));
    }),
  finalizeRestore: withBody(finalizeBody, (c, { name }) =>
    inProject(c, (project, nowMs) => {
      const outcome = finalizeRestore(project, { branchId: branchIdOf(c), name }, nowMs);
      if (outcome.kind === 'refused') return refuse(c, outcome);
      return c.json({ operations: startedRows(outcome.value, nowMs) });
    }),
  ),
  deleteBranch: (c) =>
    inProject(c, (project, nowMs) => {
      const outcome = deleteBranch(project, branchIdOf(c), nowMs);
      if (outcome.kind === 'refused') return refuse(c, outcome);
      if (outcome.value === 'already_deleted') return c.body(null, 204);
      return c.json(branchAnswer(project, outcome.value, nowMs));
    }),
};

function create(c: UpstreamContext, body: z.output<typeof createBranchBody>): Response {
  return inProject(c, (project, nowMs) => {
    const outcome = createBranch(project, newBranchOf(body, project), nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    const { branch, computes, operations } = outcome.value;
    return c.json(
      {
        branch: branchRow(project, branch, nowMs),
        endpoints: computes.map((compute) => endpointRow(compute, project, nowMs)),
        operations: startedRows(operations, nowMs),
        ...contentRows(project, branch, nowMs),
      },
      201,
    );
  });
}

function update(c: UpstreamContext, body: z.output<typeof updateBranchBody>): Response {
  const { name, protected: isProtected, expires_at } = body.branch;
  const expiresAtMs = expires_at === null ? null : msOf(expires_at);
  return inProject(c, (project, nowMs) => {
    const change = { name, isProtected, expiresAtMs };
    const outcome = updateBranch(project, { branchId: branchIdOf(c), change }, nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json(branchAnswer(project, { branch: outcome.value, operations: [] }, nowMs));
  });
}

function restore(c: UpstreamContext, body: z.output<typeof restoreBranchBody>): Response {
  return inProject(c, (project, nowMs) => {
    const request = {
      branchId: branchIdOf(c),
      sourceId: body.source_branch_id,
      point: { lsn: body.source_lsn, timeMs: msOf(body.source_timestamp) },
      preserveUnderName: body.preserve_under_name,
    };
    const outcome = restoreBranch(project, request, nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json(branchAnswer(project, outcome.value, nowMs));
  });
}

/** A row of a snapshot shows the whole second in which it was made, and its content is that of the second's end. */
export function restoreFrom(
  c: UpstreamContext,
  snapshot: Readonly<Record<string, unknown>>,
  body: z.output<typeof restoreSnapshotBody>,
): Response {
  return inProject(c, (project, nowMs) => {
    const request = {
      snapshotId: String(snapshot['id']),
      sourceId: String(snapshot['source_branch_id']),
      atMs: Math.min(nowMs, Date.parse(String(snapshot['created_at'])) + 999),
      name: body.name,
      targetId: body.target_branch_id,
      isFinal: body.finalize_restore ?? false,
    };
    const outcome = restoreSnapshot(project, request, nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json(branchAnswer(project, outcome.value, nowMs));
  });
}

function branchAnswer(project: ProjectState, { branch, operations }: ChangedBranch, nowMs: number): object {
  return { branch: branchRow(project, branch, nowMs), operations: startedRows(operations, nowMs) };
}

function branchIdOf(c: UpstreamContext): string {
  return c.req.param('branch_id') ?? '';
}

function newBranchOf(body: z.output<typeof createBranchBody>, project: ProjectState): NewBranch {
  const { branch = {}, endpoints = [], annotation_value = {} } = body;
  return {
    name: branch.name,
    parentId: branch.parent_id,
    point: { lsn: branch.parent_lsn, timeMs: msOf(branch.parent_timestamp) },
    isProtected: branch.protected ?? false,
    expiresAtMs: msOf(branch.expires_at),
    initSource: branch.init_source ?? 'parent-data',
    annotation: annotation_value,
    computes: endpoints.map((fields) => newComputeSettings(fields, project)),
  };
}

function msOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}

interface BranchQuery {
  readonly search?: string | undefined;
  readonly sort_by?: string | undefined;
  readonly sort_order?: string | undefined;
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
}

type BranchPage =
  | { readonly kind: 'page'; readonly branches: readonly Branch[]; readonly pagination: object }
  | { readonly kind: 'invalid'; readonly message: string };

const LIMIT_MAX = 10_000;

/** Values compare as text. Times have the same number of digits until the year 2286. */
const SORT_KEYS: Readonly<Record<string, (branch: Branch) => string>> = {
  name: ({ name }) => name,
  created_at: ({ createdAtMs }) => String(Math.floor(createdAtMs)),
  updated_at: ({ updatedAtMs }) => String(Math.floor(updatedAtMs)),
};

/** `next` is present only when more branches follow. */
function branchPage(branches: Iterable<Branch>, query: BranchQuery): BranchPage {
  const { sort_by = 'updated_at', sort_order = 'desc', limit = String(LIMIT_MAX), cursor } = query;
  const keyOf = SORT_KEYS[sort_by];
  if (keyOf === undefined) return invalid('sort_by must be name, created_at or updated_at');
  if (sort_order !== 'asc' && sort_order !== 'desc') return invalid('sort_order must be asc or desc');
  const count = /^\d+$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > LIMIT_MAX) return invalid(`limit must be between 1 and ${LIMIT_MAX}`);
  const after = cursor ? parseCursor(cursor) : undefined;
  if (cursor && after === undefined) return invalid('invalid cursor');
  const sign = sort_order === 'asc' ? 1 : -1;
  const sorted = filterBranches(branches, query.search)
    .map((branch) => ({ branch, place: [keyOf(branch), branch.id] as const }))
    .filter(({ place }) => after === undefined || sign * compare(place, after) > 0)
    .toSorted((a, b) => sign * compare(a.place, b.place));
  const page = sorted.slice(0, count);
  const last = page.at(-1);
  const next = last !== undefined && sorted.length > count ? { next: cursorOf(last.place) } : {};
  return {
    kind: 'page',
    branches: page.map(({ branch }) => branch),
    pagination: { ...next, sort_by, sort_order },
  };
}

/** The search is in ids and names. */
function filterBranches(branches: Iterable<Branch>, search = ''): readonly Branch[] {
  return [...branches].filter(({ id, name }) => id.includes(search) || name.includes(search));
}

type Place = readonly [key: string, id: string];

function compare([keyA, idA]: Place, [keyB, idB]: Place): number {
  if (keyA !== keyB) return keyA < keyB ? -1 : 1;
  if (idA === idB) return 0;
  return idA < idB ? -1 : 1;
}

function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function parseCursor(cursor: string): Place | undefined {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (!Array.isArray(place) || place.length !== 2) return undefined;
    return [String(place[0]), String(place[1])];
  } catch {
    return undefined;
  }
}

function invalid(message: string): BranchPage {
  return { kind: 'invalid', message: `invalid request: ${message}` };
}

export function branchRow(project: WorldProject, branch: Branch, nowMs: number): Record<string, unknown> {
  const { current, pending, atMs: stateSinceMs } = branchPhaseAt(branch, nowMs);
  const spans = project.activeSpans.filter(({ branchId }) => branchId === branch.id);
  const activeSeconds = activeSecondsOf({ activeSpans: spans }, nowMs);
  const isDefault = branch.id === project.defaultBranchId;
  return {
    id: branch.id,
    project_id: project.id,
    ...originFields(project, branch),
    name: branch.name,
    current_state: current,
    ...(pending !== undefined && { pending_state: pending }),
    state_changed_at: wholeSeconds(stateSinceMs),
    creation_source: 'console',
    primary: isDefault,
    default: isDefault,
    protected: branch.isProtected,
    cpu_used_sec: Math.floor(activeSeconds * COMPUTE_UNITS_MIN),
    compute_time_seconds: Math.floor(activeSeconds * COMPUTE_UNITS_MIN),
    active_time_seconds: activeSeconds,
    written_data_bytes: 0,
    data_transfer_bytes: 0,
    created_at: wholeSeconds(branch.createdAtMs),
    updated_at: wholeSeconds(Math.max(branch.updatedAtMs, stateSinceMs)),
    ...expiryFields(branch),
    ...(branch.lastResetAtMs !== undefined && { last_reset_at: wholeSeconds(branch.lastResetAtMs) }),
    init_source: branch.initSource,
    ...restoreFields(branch),
  };
}

/** A branch without an annotation shows an empty one. */
function annotationRow({ id, annotation, createdAtMs, updatedAtMs }: Branch): object {
  return {
    object: { type: 'console/branch', id },
    value: annotation,
    created_at: wholeSeconds(createdAtMs),
    updated_at: wholeSeconds(updatedAtMs),
  };
}

function originFields(project: WorldProject, { origin }: Branch): object {
  if (origin === undefined) return {};
  return {
    parent_id: origin.branchId,
    parent_lsn: lsnAt(project.created_at_ms, origin.atMs),
    ...(origin.isTimeShown && { parent_timestamp: wholeSeconds(origin.atMs) }),
  };
}

function restoreFields({ restored }: Branch): object {
  if (restored === undefined) return {};
  const { snapshotId, targetId, isFinal } = restored;
  return {
    restored_from: snapshotId,
    restored_as: targetId,
    restore_status: isFinal ? 'finalized' : 'restored',
  };
}

function expiryFields({ expiry }: Branch): object {
  if (expiry === undefined) return {};
  return {
    ttl_interval_seconds: Math.round((expiry.atMs - expiry.setAtMs) / 1_000),
    expires_at: wholeSeconds(expiry.atMs),
  };
}
