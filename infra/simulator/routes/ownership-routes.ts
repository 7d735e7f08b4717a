/**
 * Handles the calls that share a project with people of other organizations, and those that transfer projects to
 * another organization, at once or by a request that is accepted (public contract); and serves the pages on which a new
 * owner takes an auth integration over.
 */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import * as z from 'zod';
import type { Random } from '../../../shared/runtime/random.ts';
import type { KeyRing } from '../world/account.ts';
import { confirmTransfer } from '../world/auth-commands.ts';
import { drawUuid } from '../world/names.ts';
import { grantPermission, revokePermission, transferProject } from '../world/project-commands.ts';
import type { Permission, ProjectState } from '../world/project-state.ts';
import type { World } from '../world/world.ts';
import {
  findOrganizationId,
  findProject,
  type Handlers,
  inProject,
  outsideScope,
  refusal,
  refuse,
  type UpstreamContext,
  type UpstreamEnv,
  withBody,
} from './requests.ts';
import { wholeSeconds } from './rows.ts';

const grantBody = z.object({ email: z.email() });

export function permissionHandlers({ idDice }: { readonly idDice: Random }): Handlers {
  return {
    listPermissions: (c) =>
      inOwnProject(c, ({ permissions }) =>
        c.json({ project_permissions: permissions.map((permission) => permissionRow(permission)) }),
      ),
    grantPermission: withBody(grantBody, (c, { email }) =>
      inOwnProject(c, (project, nowMs) => {
        const outcome = grantPermission(project, { id: drawUuid(idDice), email }, nowMs);
        return outcome.kind === 'refused' ? refuse(c, outcome) : c.json(permissionRow(outcome.value));
      }),
    ),
    revokePermission: (c) =>
      inOwnProject(c, (project, nowMs) => {
        const outcome = revokePermission(project, c.req.param('permission_id') ?? '', nowMs);
        return outcome.kind === 'refused' ? refuse(c, outcome) : c.json(permissionRow(outcome.value));
      }),
  };
}

/** A key that is scoped to a project does not decide who reaches it. */
function inOwnProject(c: UpstreamContext, act: (project: ProjectState, nowMs: number) => Response): Response {
  const { projectId: scope } = c.get('principal');
  return scope === undefined ? inProject(c, act) : outsideScope(c, scope);
}

function permissionRow({ id, email, grantedAtMs, revokedAtMs }: Permission): object {
  return {
    id,
    granted_to_email: email,
    granted_at: wholeSeconds(grantedAtMs),
    ...(revokedAtMs !== undefined && { revoked_at: wholeSeconds(revokedAtMs) }),
  };
}

export interface TransferRouteDeps {
  readonly world: World;
  readonly keys: KeyRing;
  readonly idDice: Random;
}

/** One call takes up to 400 projects, as many as a page of the list shows. */
const transferBody = z.object({
  destination_org_id: z.string(),
  project_ids: z.array(z.string()).min(1).max(400),
});

/** A request is good for a day unless the caller says otherwise (public contract). */
const requestBody = z.object({ ttl_seconds: z.number().int().min(1).max(31_536_000).default(86_400) });
const acceptBody = z.object({ org_id: z.string().optional() });

/** People need one request, so this bound only keeps a world small. */
const REQUESTS_MAX = 100;

export function transferHandlers(deps: TransferRouteDeps): Handlers {
  return {
    transferProjectsBetweenOrganizations: withBody(transferBody, (c, body) => transfer(deps, c, body)),
    createTransferRequest: withBody(requestBody, (c, body) => request(deps, c, body)),
    acceptTransferRequest: withBody(acceptBody, (c, body) => accept(deps, c, body)),
  };
}

/** Transfers all of the projects, or none when one of them is not in the organization. */
function transfer(
  { keys }: TransferRouteDeps,
  c: UpstreamContext,
  body: z.output<typeof transferBody>,
): Response {
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  const source = findOrganizationId(c, c.req.param('source_org_id'));
  if (source instanceof Response) return source;
  const destination = findOrganizationId(c, body.destination_org_id);
  if (destination instanceof Response) return destination;
  const found = body.project_ids.map((id) => findProject(c, id));
  const projects = found.filter((project): project is ProjectState => !(project instanceof Response));
  if (projects.length < found.length || projects.some(({ settings }) => settings.organizationId !== source))
    return refusal(c, 404, 'project not found');
  for (const project of projects) {
    transferProject(project, destination);
    keys.removeProject(project.id);
  }
  return c.json({});
}

function request(
  { idDice }: TransferRouteDeps,
  c: UpstreamContext,
  body: z.output<typeof requestBody>,
): Response {
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  return inProject(c, (project, nowMs) => {
    const expiresAtMs = nowMs + body.ttl_seconds * 1_000;
    const id = drawUuid(idDice);
    const { transferRequests } = project;
    for (const [each, untilMs] of transferRequests) if (untilMs <= nowMs) transferRequests.delete(each);
    if (transferRequests.size >= REQUESTS_MAX)
      return refusal(c, 422, `a project has at most ${REQUESTS_MAX} transfer requests at a time`);
    transferRequests.set(id, expiresAtMs);
    const created_at = wholeSeconds(nowMs);
    return c.json({ id, project_id: project.id, created_at, expires_at: wholeSeconds(expiresAtMs) }, 201);
  });
}

/** The id of the request is enough to accept it, so the key need not reach the project before. */
function accept(
  { world, keys }: TransferRouteDeps,
  c: UpstreamContext,
  body: z.output<typeof acceptBody>,
): Response {
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  const destination = findOrganizationId(c, body.org_id);
  if (destination instanceof Response) return destination;
  const project = world.project(c.req.param('project_id') ?? '');
  const expiresAtMs = project?.transferRequests.get(c.req.param('request_id') ?? '') ?? 0;
  if (project === undefined || expiresAtMs <= world.nowMs)
    return refusal(c, 404, 'project transfer request not found');
  project.transferRequests.clear();
  transferProject(project, destination);
  keys.removeProject(project.id);
  return c.body(null, 204);
}

/** These pages are outside the API: they need no key, but the code that the API's answer contained. */
export function addTransferPages(app: Hono<UpstreamEnv>, { world }: { readonly world: World }): void {
  app.get('/auth/transfer/:project_id', (c) => {
    const code = c.req.query('code') ?? '';
    const project = world.project(c.req.param('project_id'));
    if (project === undefined || !project.auth.transferCodes.includes(code))
      return c.text('transfer not found', 404);
    return c.html(confirmationPage(project.id, code));
  });
  app.post('/auth/transfer/:project_id', async (c) => {
    const form = new URLSearchParams(await c.req.text());
    const project = world.project(c.req.param('project_id'));
    const account = form.get('account') ?? '';
    if (project === undefined || account.trim() === '') return c.text('transfer not found', 404);
    const outcome = confirmTransfer(project.auth, form.get('code') ?? '');
    if (outcome.kind === 'refused') return c.text(outcome.message, outcome.status);
    project.auth = outcome.next;
    return c.html(confirmedPage());
  });
}

function confirmationPage(projectId: string, code: string) {
  return html`<!doctype html>
<html lang="en">
  <title>Transfer of ownership</title>
  <h1>Take over the auth project of ${projectId}</h1>
  <form method="post">
    <input type="hidden" name="code" value="${code}" />
    <label>Account at the auth provider <input name="account" required /></label>
    <button>Confirm</button>
  </form>
</html>`;
}

function confirmedPage() {
  return html`<!doctype html>
<html lang="en">
  <title>Transferred</title>
  <h1>The ownership is transferred</h1>
</html>`;
}
