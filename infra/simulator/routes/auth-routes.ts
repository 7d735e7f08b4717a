/**
 * Adds the routes of the auth integration: the integration itself, the transfer of its ownership with the pages that
 * the new owner sees in a browser, its users, its OAuth providers, its whitelist of redirect URIs, and its e-mail
 * server.
 */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import * as z from 'zod';
import type { Random } from '../../../shared/runtime/random.ts';
import * as commands from '../world/auth-commands.ts';
import {
  AUTH_PROVIDER,
  type AuthOutcome,
  canonicalEmailAddress,
  canonicalOrigin,
  confirmTransfer,
  type SdkKeySet,
} from '../world/auth-commands.ts';
import { drawSecret, drawUuid } from '../world/names.ts';
import type { EmailServer, OauthProvider, ProjectState } from '../world/project-state.ts';
import type { World } from '../world/world.ts';
import { findProject, parseBody, refusal, type UpstreamContext, type UpstreamEnv } from './requests.ts';

export function addAuthRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
  addIntegrationRoutes(app, deps);
  addUserRoutes(app, deps);
  addTransferRoute(app, deps);
  addProviderRoutes(app);
  addDomainRoutes(app);
  addEmailServerRoutes(app);
}

/** A new auth object is drawn from these. */
interface AuthRouteDeps {
  readonly world: World;
  /** Draws ids and keys. It is not the world's dice, so auth calls do not change the lives of projects. */
  readonly idDice: Random;
}

function drawAuthObject({ world, idDice }: AuthRouteDeps) {
  const drawn = {
    id: drawUuid(idDice),
    secret: `ssk_${drawSecret(idDice)}`,
    publicKey: `pck_${drawSecret(idDice)}`,
  };
  return { drawn, createdAt: new Date(world.nowMs).toISOString() };
}

/** This is the base path of the auth calls that name their project in the path. */
const AUTH_PATH = '/api/v2/projects/:project_id/auth';

/** The public contract deprecates the calls of the project for those of the branch, which do the same. */
const BRANCH_AUTH_PATH = '/api/v2/projects/:project_id/branches/:branch_id/auth';
const AUTH_PATHS = [AUTH_PATH, BRANCH_AUTH_PATH] as const;

const textSchema = z.string().min(1).max(2_000);
const emailAddress = z
  .string()
  .refine((address) => canonicalEmailAddress(address) !== undefined, 'must be an e-mail address');
const authProvider = z.literal(AUTH_PROVIDER, { error: 'unknown auth_provider' });
/** Every body that names its project itself has these fields. */
const projectFields = { project_id: textSchema, auth_provider: authProvider };

/** Answers 400 unless the body fits the schema. */
async function withBody<Schema extends z.ZodType>(
  c: UpstreamContext,
  schema: Schema,
  act: (body: z.output<Schema>) => Response,
): Promise<Response> {
  const parsed = await parseBody(c, schema);
  return parsed.kind === 'refused' ? parsed.response : act(parsed.body);
}

/** Answers 404 unless the project exists and the key may see it. */
function inProject(
  c: UpstreamContext,
  projectId: string,
  act: (project: ProjectState) => Response,
): Response {
  const found = findProject(c, projectId);
  return found instanceof Response ? found : act(found);
}

/** Stores what a command changed, and answers with its value or its refusal. */
function applyOutcome(
  c: UpstreamContext,
  project: ProjectState,
  outcome: AuthOutcome<SdkKeySet | OauthProvider | EmailServer | { readonly id: string } | undefined>,
  status: 200 | 201 | 204,
): Response {
  if (outcome.kind === 'refused') return refusal(c, outcome.status, outcome.message);
  project.auth = outcome.next;
  return outcome.value === undefined
    ? c.body(null, status)
    : c.json(outcome.value, status === 204 ? 200 : status);
}

/** Finds the project of the path. A path that names a branch, too, must name the branch of the integration. */
function inPathProject(c: UpstreamContext, act: (project: ProjectState) => Response): Response {
  return inProject(c, c.req.param('project_id') ?? '', (project) => {
    const branchId = c.req.param('branch_id');
    const isElsewhere = branchId !== undefined && branchId !== project.auth.integration?.branch_id;
    return isElsewhere ? refusal(c, 404, 'auth integration not found') : act(project);
  });
}

const createIntegrationBody = z.object({
  ...projectFields,
  branch_id: textSchema,
  database_name: textSchema.optional(),
  role_name: textSchema.optional(),
});
const branchIntegrationBody = z.object({ auth_provider: authProvider, database_name: textSchema.optional() });
/** The specification takes "the production branch" for an integration, and no other one. */
const NOT_PRODUCTION = 'is not the production branch of the project';
const keysBody = z.object(projectFields);

function addIntegrationRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
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

function addTransferRoute(app: Hono<UpstreamEnv>, { idDice }: AuthRouteDeps): void {
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

const userFields = z.object({
  email: emailAddress,
  // A user name has 1 to 255 characters (specification "Limits").
  name: z.string().min(1).max(255).optional(),
});
const userBody = userFields.extend(projectFields);

function addUserRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
  app.post('/api/v2/projects/auth/user', (c) =>
    withBody(c, userBody, (body) =>
      inProject(c, body.project_id, (project) => {
        const drawing = drawAuthObject(deps);
        return applyOutcome(c, project, commands.createUser(project.auth, body, drawing), 201);
      }),
    ),
  );
  app.post(`${BRANCH_AUTH_PATH}/users`, (c) =>
    withBody(c, userFields, (body) =>
      inPathProject(c, (project) => {
        const drawing = drawAuthObject(deps);
        return applyOutcome(c, project, commands.createUser(project.auth, body, drawing), 201);
      }),
    ),
  );
  for (const path of AUTH_PATHS)
    app.delete(`${path}/users/:auth_user_id`, (c) =>
      inPathProject(c, (project) =>
        applyOutcome(c, project, commands.deleteUser(project.auth, c.req.param('auth_user_id')), 204),
      ),
    );
}

const providerBody = z.object({
  id: textSchema,
  client_id: textSchema.optional(),
  client_secret: textSchema.optional(),
});
const credentialsBody = providerBody.omit({ id: true });

function addProviderRoutes(app: Hono<UpstreamEnv>): void {
  // Deleting answers 204 by the specification; for the newer path, the public contract says 200.
  addProviderRoutesAt(app, `${AUTH_PATH}/oauth_providers`, 204);
  addProviderRoutesAt(app, `${BRANCH_AUTH_PATH}/oauth_providers`, 200);
}

function addProviderRoutesAt(app: Hono<UpstreamEnv>, path: string, deleted: 200 | 204): void {
  app.get(path, (c) =>
    inPathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json({ providers: auth.providers.map(({ id, type }) => ({ id, type })) });
    }),
  );
  app.post(path, (c) =>
    withBody(c, providerBody, (body) =>
      inPathProject(c, (project) => applyOutcome(c, project, commands.addProvider(project.auth, body), 200)),
    ),
  );
  app.patch(`${path}/:oauth_provider_id`, (c) =>
    withBody(c, credentialsBody, (body) =>
      inPathProject(c, (project) => {
        const change = { ...body, id: c.req.param('oauth_provider_id') ?? '' };
        return applyOutcome(c, project, commands.updateProvider(project.auth, change), 200);
      }),
    ),
  );
  app.delete(`${path}/:oauth_provider_id`, (c) =>
    inPathProject(c, (project) =>
      applyOutcome(
        c,
        project,
        commands.deleteProvider(project.auth, c.req.param('oauth_provider_id') ?? ''),
        deleted,
      ),
    ),
  );
}

/** A redirect URI's domain is "an origin with scheme" (specification). */
const origin = z
  .string()
  .refine((text) => canonicalOrigin(text) !== undefined, 'must be an origin with a scheme');
const domainBody = z.object({ domain: origin, auth_provider: authProvider });
const domainsBody = z.object({
  auth_provider: authProvider,
  domains: z.array(z.object({ domain: z.string() })).min(1),
});

function addDomainRoutes(app: Hono<UpstreamEnv>): void {
  for (const path of AUTH_PATHS) addDomainRoutesAt(app, `${path}/domains`);
}

function addDomainRoutesAt(app: Hono<UpstreamEnv>, path: string): void {
  app.get(path, (c) =>
    inPathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json({ domains: auth.domains });
    }),
  );
  app.post(path, (c) =>
    withBody(c, domainBody, (body) =>
      inPathProject(c, (project) =>
        applyOutcome(c, project, commands.addDomain(project.auth, body.domain), 201),
      ),
    ),
  );
  app.delete(path, (c) =>
    withBody(c, domainsBody, ({ domains }) =>
      inPathProject(c, (project) => {
        const names = domains.map(({ domain }) => domain);
        return applyOutcome(c, project, commands.deleteDomains(project.auth, names), 200);
      }),
    ),
  );
}

const emailServerBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('shared') }),
  z.object({
    type: z.literal('standard'),
    host: textSchema,
    port: z.number().int().min(1).max(65_535),
    username: textSchema,
    password: textSchema,
    sender_email: emailAddress,
    sender_name: textSchema,
  }),
]);

function addEmailServerRoutes(app: Hono<UpstreamEnv>): void {
  addEmailServerRoutesAt(app, `${AUTH_PATH}/email_server`);
  addEmailServerRoutesAt(app, `${BRANCH_AUTH_PATH}/email_provider`);
}

function addEmailServerRoutesAt(app: Hono<UpstreamEnv>, path: string): void {
  app.get(path, (c) =>
    inPathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json(auth.emailServer satisfies EmailServer);
    }),
  );
  app.patch(path, (c) =>
    withBody(c, emailServerBody, (body) =>
      inPathProject(c, (project) =>
        applyOutcome(c, project, commands.updateEmailServer(project.auth, body), 200),
      ),
    ),
  );
}
