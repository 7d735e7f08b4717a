/** Routes of the auth integration, OAuth providers, redirect-URI whitelist and e-mail server. */

import type { Hono } from 'hono';
import * as z from 'zod';
import type { Random } from '../../../shared/runtime/random.ts';
import * as commands from '../world/auth-commands.ts';
import type { EmailServer, OauthProvider } from '../world/auth-state.ts';
import { drawSecret, drawUuid } from '../world/names.ts';
import type { ProjectState } from '../world/project-state.ts';
import type { World } from '../world/world.ts';
import { findProject } from './find-project.ts';
import { parseBody } from './request-body.ts';
import { refusal, type UpstreamContext, type UpstreamEnv } from './upstream-context.ts';

export interface AuthRouteDeps {
  readonly world: World;
  /** For ids and keys of its own: projects live as they would have. */
  readonly idDice: Random;
}

const text = z.string().min(1).max(2_000);
const authProvider = z.literal(commands.AUTH_PROVIDER, { error: 'unknown auth_provider' });
const ofProvider = { project_id: text, auth_provider: authProvider };

const createIntegrationBody = z.object({
  ...ofProvider,
  branch_id: text,
  database_name: text.optional(),
  role_name: text.optional(),
});
const keysBody = z.object(ofProvider);
const userBody = z.object({
  ...ofProvider,
  email: z.email(),
  // Specification "Limits": user name 1 to 255 characters.
  name: z.string().min(1).max(255).optional(),
});
const providerBody = z.object({ id: text, client_id: text.optional(), client_secret: text.optional() });
const credentialsBody = providerBody.omit({ id: true });

/** "An origin with scheme": nothing behind the host and port. */
const origin = z.string().refine((value) => {
  const url = URL.parse(value);
  return (
    url !== null && url.host !== '' && (value === url.origin || value === `${url.protocol}//${url.host}`)
  );
}, 'must be an origin with a scheme');
const domainBody = z.object({ domain: origin, auth_provider: authProvider });
const domainsBody = z.object({
  auth_provider: authProvider,
  domains: z.array(z.object({ domain: z.string() })).min(1),
});
const emailServerBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('shared') }),
  z.object({
    type: z.literal('standard'),
    host: text,
    port: z.number().int().min(1).max(65_535),
    username: text,
    password: text,
    sender_email: z.email(),
    sender_name: text,
  }),
]);

export function addAuthRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
  const { world, idDice } = deps;
  const createdAt = () => new Date(world.nowMs).toISOString();
  const draw = () => ({
    id: drawUuid(idDice),
    secret: `ssk_${drawSecret(idDice)}`,
    publicKey: `pck_${drawSecret(idDice)}`,
  });

  app.post('/api/v2/projects/auth/create', (c) =>
    withBody(c, createIntegrationBody, (body) =>
      inProject(c, body.project_id, (project) => {
        if (!project.branchIds.has(body.branch_id)) return refusal(c, 404, 'branch not found');
        const drawing = { drawn: draw(), createdAt: createdAt() };
        return settle(c, project, commands.createIntegration(project.auth, body, drawing), 201);
      }),
    ),
  );
  app.post('/api/v2/projects/auth/keys', (c) =>
    withBody(c, keysBody, (body) =>
      inProject(c, body.project_id, (project) =>
        settle(c, project, commands.createKeys(project.auth, draw()), 201),
      ),
    ),
  );
  app.post('/api/v2/projects/auth/user', (c) =>
    withBody(c, userBody, (body) =>
      inProject(c, body.project_id, (project) => {
        const drawing = { drawn: draw(), createdAt: createdAt() };
        return settle(c, project, commands.createUser(project.auth, body, drawing), 201);
      }),
    ),
  );
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

  const base = '/api/v2/projects/:project_id/auth';
  const pathProject = (c: UpstreamContext, act: (project: ProjectState) => Response) =>
    inProject(c, c.req.param('project_id') ?? '', act);

  app.get(`${base}/integrations`, (c) =>
    pathProject(c, ({ auth }) => c.json({ data: auth.integration === undefined ? [] : [auth.integration] })),
  );
  app.delete(`${base}/integration/:auth_provider`, (c) =>
    pathProject(c, (project) => {
      if (c.req.param('auth_provider') !== commands.AUTH_PROVIDER)
        return refusal(c, 404, 'auth integration not found');
      return settle(c, project, commands.deleteIntegration(project.auth), 200);
    }),
  );
  app.delete(`${base}/users/:auth_user_id`, (c) =>
    pathProject(c, (project) =>
      settle(c, project, commands.deleteUser(project.auth, c.req.param('auth_user_id')), 204),
    ),
  );

  app.get(`${base}/oauth_providers`, (c) =>
    pathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json({ providers: auth.providers.map(({ id, type }) => ({ id, type })) });
    }),
  );
  app.post(`${base}/oauth_providers`, (c) =>
    withBody(c, providerBody, (body) =>
      pathProject(c, (project) => settle(c, project, commands.addProvider(project.auth, body), 200)),
    ),
  );
  app.patch(`${base}/oauth_providers/:oauth_provider_id`, (c) =>
    withBody(c, credentialsBody, (body) =>
      pathProject(c, (project) => {
        const change = { ...body, id: c.req.param('oauth_provider_id') };
        return settle(c, project, commands.updateProvider(project.auth, change), 200);
      }),
    ),
  );
  app.delete(`${base}/oauth_providers/:oauth_provider_id`, (c) =>
    pathProject(c, (project) =>
      settle(c, project, commands.deleteProvider(project.auth, c.req.param('oauth_provider_id')), 204),
    ),
  );

  app.get(`${base}/domains`, (c) =>
    pathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json({ domains: auth.domains });
    }),
  );
  app.post(`${base}/domains`, (c) =>
    withBody(c, domainBody, (body) =>
      pathProject(c, (project) => settle(c, project, commands.addDomain(project.auth, body.domain), 201)),
    ),
  );
  app.delete(`${base}/domains`, (c) =>
    withBody(c, domainsBody, ({ domains }) =>
      pathProject(c, (project) => {
        const names = domains.map(({ domain }) => domain);
        return settle(c, project, commands.deleteDomains(project.auth, names), 200);
      }),
    ),
  );

  app.get(`${base}/email_server`, (c) =>
    pathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json(auth.emailServer satisfies EmailServer);
    }),
  );
  app.patch(`${base}/email_server`, (c) =>
    withBody(c, emailServerBody, (body) =>
      pathProject(c, (project) => settle(c, project, commands.updateEmailServer(project.auth, body), 200)),
    ),
  );
}

async function withBody<Schema extends z.ZodType>(
  c: UpstreamContext,
  schema: Schema,
  act: (body: z.output<Schema>) => Response,
): Promise<Response> {
  const parsed = await parseBody(c, schema);
  return parsed.kind === 'refused' ? parsed.response : act(parsed.body);
}

function inProject(
  c: UpstreamContext,
  projectId: string,
  act: (project: ProjectState) => Response,
): Response {
  const found = findProject(c, projectId);
  return found instanceof Response ? found : act(found);
}

function settle(
  c: UpstreamContext,
  project: ProjectState,
  outcome: commands.AuthOutcome<
    commands.SdkKeySet | OauthProvider | EmailServer | { readonly id: string } | undefined
  >,
  status: 200 | 201 | 204,
): Response {
  if (outcome.kind === 'refused') return refusal(c, outcome.status, outcome.message);
  project.auth = outcome.next;
  return outcome.value === undefined
    ? c.body(null, status)
    : c.json(outcome.value, status === 204 ? 200 : status);
}
