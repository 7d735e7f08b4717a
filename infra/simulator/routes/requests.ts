/**
 * Defines what a request of the simulated service carries along and how each refusal looks, finds the project that it
 * names, if its key may see it, and reads its body as
 * the service takes it.
 */

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type * as z from 'zod';
import { parseJson } from '../../../shared/runtime/foreign-text.ts';
import type { AnyCallId } from '../../../shared/upstream/calls/calls.ts';
import type { Principal } from '../world/account.ts';
import type { Branch } from '../world/branch.ts';
import type { Refused } from '../world/outcome.ts';
import { isSharedWith } from '../world/project-commands.ts';
import type { ProjectState, WorldProject } from '../world/project-state.ts';
import type { World } from '../world/world.ts';

export interface UpstreamEnv {
  /** There is no socket when a test calls the app without a server. */
  Bindings: Partial<HttpBindings>;
  Variables: { requestId: string; principal: Principal; world: World };
}

export type UpstreamContext = Context<UpstreamEnv>;

export type Handler = (c: UpstreamContext) => Response | Promise<Response>;

/** These calls are simulated. Their methods and paths are those of the table of calls. */
export type Handlers = Readonly<Partial<Record<AnyCallId, Handler>>>;

type RefusalStatus = Refused['status'] | 401 | 429 | 500 | 503;

/** Every refusal has this body; `code` is mostly empty (observed). */
export function refusal(c: UpstreamContext, status: RefusalStatus, message: string, code = ''): Response {
  return c.json({ request_id: c.get('requestId'), code, message }, status);
}

export function refuse(c: UpstreamContext, { status, message, code }: Refused): Response {
  return refusal(c, status, message, code);
}

/**
 * A deleted, an unknown and a forbidden project get the same answer (public contract: 404 also means "no
 * permission").
 */
export function findProject(
  c: UpstreamContext,
  projectId: string,
  find: (projectId: string) => ProjectState | undefined = c.get('world').project,
): ProjectState | Response {
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined && scope !== projectId) return outsideScope(c, scope);
  const project = find(projectId);
  return project !== undefined && isVisible(c, project) ? project : refusal(c, 404, 'project not found');
}

/**
 * A key reaches the projects of its organizations and those that are shared with its owner. A project-scoped key
 * reaches its own project alone.
 */
export function isVisible(c: UpstreamContext, project: WorldProject): boolean {
  const { email } = c.get('principal');
  return isOwn(c, project) || (email !== undefined && isSharedWith(project, email));
}

export function isOwn(c: UpstreamContext, { id, settings }: WorldProject): boolean {
  const { projectId: scope, organizationIds } = c.get('principal');
  return scope === undefined ? organizationIds.includes(settings.organizationId) : scope === id;
}

/** Without an id, the caller means the organization of the key, which for a person is the first one. */
export function findOrganizationId(c: UpstreamContext, organizationId?: string): string | Response {
  const { organizationIds } = c.get('principal');
  const found = organizationIds.find((id) => organizationId === undefined || id === organizationId);
  return found ?? refusal(c, 404, 'organization not found');
}

/** Answers 404 with the sentence that the service was seen to use. */
export function outsideScope(c: UpstreamContext, scope: string): Response {
  const sentence = 'not allowed to perform actions outside the project this key is scoped to';
  return refusal(c, 404, `${sentence}; subject_project_id:"${scope}"`);
}

/** Answers 404 unless the project of the path exists and the key may see it. */
export function inProject(
  c: UpstreamContext,
  use: (project: ProjectState, nowMs: number) => Response,
): Response {
  const found = findProject(c, c.req.param('project_id') ?? '');
  return found instanceof Response ? found : use(found, c.get('world').nowMs);
}

/** Answers 404 unless the branch of the path exists, too. */
export function inBranch(
  c: UpstreamContext,
  use: (found: {
    readonly project: ProjectState;
    readonly branch: Branch;
    readonly nowMs: number;
  }) => Response,
): Response {
  return inProject(c, (project, nowMs) => {
    const branch = project.branches.get(c.req.param('branch_id') ?? '');
    return branch === undefined ? refusal(c, 404, 'branch not found') : use({ project, branch, nowMs });
  });
}

/** The largest body of the specification has a few hundred bytes, so this bound stops no honest client. */
const BODY_BYTES_MAX = 1_000_000;

/** A form contains only text; these fields are converted to numbers. */
const NUMBER_FIELDS = /(^|_)(port|cu|seconds)$/;
const BOOLEAN_FIELDS = /^(pooler_enabled|disabled|passwordless_access)$/;

/** Handles calls whose body must fit the schema, and answers 400 to others. */
export function withBody<Schema extends z.ZodType>(
  schema: Schema,
  act: (c: UpstreamContext, body: z.output<Schema>) => Response,
): Handler {
  return async (c) => {
    const text = await c.req.text();
    if (text.length > BODY_BYTES_MAX) return invalid(c, 'body: too large');
    if ((c.req.header('content-encoding') ?? 'identity') !== 'identity')
      return invalid(c, 'content-encoding: a body must not be compressed');
    const isForm = (c.req.header('content-type') ?? '').startsWith('application/x-www-form-urlencoded');
    if (isForm && /^\s*[{[]/.test(text)) return invalid(c, LOOKS_LIKE_JSON);
    const value = isForm ? parseForm(text) : parseJson(text === '' ? '{}' : text);
    if (value === undefined) return invalid(c, 'decode application/json: unexpected input');
    const parsed = schema.safeParse(value);
    if (parsed.success) return act(c, parsed.data);
    return invalid(c, faultIn(parsed.error, 'body'));
  };
}

/** This is the content type that `curl -d` sends unless it is told otherwise. */
const LOOKS_LIKE_JSON = 'body: looks like JSON; send it with content-type: application/json';

/** Handles calls whose query must fit the schema, and answers 400 to others. */
export function withQuery<Schema extends z.ZodType>(
  schema: Schema,
  act: (c: UpstreamContext, query: z.output<Schema>) => Response,
): Handler {
  return (c) => {
    const parsed = schema.safeParse(c.req.query());
    return parsed.success ? act(c, parsed.data) : invalid(c, faultIn(parsed.error, 'query'));
  };
}

function invalid(c: UpstreamContext, what: string): Response {
  return refusal(c, 400, `invalid request: ${what}`);
}

function faultIn({ issues: [issue] }: z.ZodError, part: string): string {
  return `${issue?.path.join('.') || part}: ${wordsOf(issue)}`;
}

/** For a missing field, the service says "project (field required)" (observed). */
function wordsOf(issue: z.core.$ZodIssue | undefined): string {
  const isMissing = issue?.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return isMissing ? 'field required' : (issue?.message ?? 'invalid');
}

/** Brackets nest: `endpoint[branch_id]=br-1` and `domains[0][domain]=https://a`. */
function parseForm(text: string): object {
  const root: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/[[\]]+/).filter((part) => part !== '');
    if (path.length <= FORM_DEPTH_MAX && path.every(isPlainName))
      place(root, path, typed(path.at(-1) ?? '', value));
  }
  return root;
}

const FORM_DEPTH_MAX = 4;

/**
 * Accepts field names of the service and places in short lists, and no name that every object inherits from its
 * prototype.
 */
function isPlainName(name: string): boolean {
  return /^(?:[a-z][a-z_]*|\d{1,2})$/.test(name) && !(name in Object.prototype);
}

function place(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const isList = /^\d+$/.test(rest[0] ?? '');
  if (!Object.hasOwn(target, first)) target[first] = isList ? [] : {};
  const inner = target[first];
  if (typeof inner === 'object' && inner !== null) place(inner as Record<string, unknown>, rest, value);
}

function typed(name: string, value: string): unknown {
  if (NUMBER_FIELDS.test(name) && value !== '') return Number(value);
  return BOOLEAN_FIELDS.test(name) && /^(true|false)$/.test(value) ? value === 'true' : value;
}
