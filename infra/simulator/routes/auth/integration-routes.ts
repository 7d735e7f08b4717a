/**
 * Adds the routes of the auth integration itself: create, list, delete, new keys, and the transfer of its ownership.
 */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/auth/auth-commands.ts';
import { drawSecret } from '../../world/state/names.ts';
import type { ProjectState } from '../../world/state/project-state.ts';
import { refusal, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { type AuthRouteDeps, drawAuthObject } from './draw-auth-object.ts';
import {
  AUTH_PATH,
  applyOutcome,
  authProvider,
  BRANCH_AUTH_PATH,
  inPathProject,
  inProject,
  projectFields,
  text,
  withBody,
} from './requests.ts';

const createIntegrationBody = z.object({
  ...projectFields,
  branch_id: text,
  database_name: text.optional(),
  role_name: text.optional(),
});
const branchIntegrationBody = z.object({ auth_provider: authProvider, database_name: text.optional() });
/** The specification takes "the production branch" for an integration, and no other one. */
const NOT_PRODUCTION = 'is not the production branch of the project';
const keysBody = z.object(projectFields);

export function addIntegrationRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
  app.post('/api/v2/projects/auth/create', (c) =>
    withBody(c, createIntegrationBody, (body) =>
      inProject(c, body.project_id, (project) => create(c, project, body, deps)),
    ),
  );
  addBranchRoutes(app, deps);
  app.post('/api/v2/projects/auth/keys', (c) =>
    withBody(c, keysBody, (body) =>
      inProject(c, body.project_id, (project) =>
        applyOutcome(c, project, commands.createKeys(project.auth, drawAuthObject(deps).drawn), 201),
      ),
    ),
  );
  app.get(`${AUTH_PATH}/integrations`, (c) =>
    inPathProject(c, ({ auth }) =>
      c.json({ data: auth.integration === undefined ? [] : [auth.integration] }),
    ),
  );
  app.delete(`${AUTH_PATH}/integration/:auth_provider`, (c) =>
    inPathProject(c, (project) => {
      if (c.req.param('auth_provider') !== commands.AUTH_PROVIDER)
        return refusal(c, 404, 'auth integration not found');
      return applyOutcome(c, project, commands.deleteIntegration(project.auth), 200);
    }),
  );
}

function addBranchRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
  app.get(BRANCH_AUTH_PATH, (c) => inPathProject(c, ({ auth }) => c.json(auth.integration)));
  app.post(BRANCH_AUTH_PATH, (c) =>
    withBody(c, branchIntegrationBody, ({ database_name }) =>
      inProject(c, c.req.param('project_id'), (project) =>
        create(c, project, { branch_id: c.req.param('branch_id'), database_name }, deps),
      ),
    ),
  );
  app.delete(BRANCH_AUTH_PATH, (c) =>
    inPathProject(c, (project) => applyOutcome(c, project, commands.deleteIntegration(project.auth), 200)),
  );
}

function create(
  c: UpstreamContext,
  project: ProjectState,
  request: { readonly branch_id: string; readonly database_name?: string | undefined },
  deps: AuthRouteDeps,
): Response {
  const { branch_id } = request;
  if (!project.branches.has(branch_id)) return refusal(c, 404, 'branch not found');
  if (branch_id !== project.defaultBranchId)
    return refusal(c, 400, `invalid request: branch_id: ${branch_id} ${NOT_PRODUCTION}`);
  const drawing = drawAuthObject(deps);
  return applyOutcome(c, project, commands.createIntegration(project.auth, request, drawing), 201);
}

export function addTransferRoute(app: Hono<UpstreamEnv>, { idDice }: AuthRouteDeps): void {
  app.post('/api/v2/projects/auth/transfer_ownership', (c) =>
    withBody(c, keysBody, (body) =>
      inProject(c, body.project_id, (project) => {
        const outcome = commands.startTransfer(project.auth, drawSecret(idDice));
        if (outcome.kind === 'refused') return refusal(c, outcome.status, outcome.message);
        project.auth = outcome.next;
        const { origin: host } = new URL(c.req.url);
        return c.json({ url: `${host}/auth/transfer/${project.id}?code=${outcome.value}` });
      }),
    ),
  );
}
