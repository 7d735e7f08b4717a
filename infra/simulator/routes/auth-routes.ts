/**
 * Handles the calls of the auth integration: the integration itself, its users, its OAuth providers, its whitelist of
 * redirect URIs, its e-mail server and its settings.
 */

import * as z from 'zod';
import type { Random } from '../../../shared/runtime/random.ts';
import * as commands from '../world/auth-commands.ts';
import {
  AUTH_PROVIDERS,
  type AuthOutcome,
  canonicalEmailAddress,
  canonicalOrigin,
  type SdkKeySet,
  SPECIFIED_PROVIDER,
} from '../world/auth-commands.ts';
import { findDatabase, findRole } from '../world/database-commands.ts';
import { drawSecret, drawUuid } from '../world/names.ts';
import type { EmailServer, OauthProvider, ProjectState } from '../world/project-state.ts';
import type { World } from '../world/world.ts';
import {
  findProject,
  type Handler,
  type Handlers,
  refusal,
  type UpstreamContext,
  withBody,
} from './requests.ts';

/** The public contract deprecates the calls of the project for those of the branch, which do the same. */
export function authHandlers(deps: AuthRouteDeps): Handlers {
  return {
    ...integrationHandlers(deps),
    ...userHandlers(deps),
    ...providerHandlers,
    ...domainHandlers,
    ...emailServerHandlers,
    ...settingHandlers,
  };
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

const textSchema = z.string().min(1).max(2_000);
const emailAddress = z
  .string()
  .refine((address) => canonicalEmailAddress(address) !== undefined, 'must be an e-mail address');
/** The calls that name a project know the one provider of the specification, and those of a branch all of the public contract. */
const specifiedProvider = z.literal(SPECIFIED_PROVIDER, { error: 'unknown auth_provider' });
const authProvider = z.enum(AUTH_PROVIDERS, { error: 'unknown auth_provider' });
/** Every body that names its project itself has these fields. */
const projectFields = { project_id: textSchema, auth_provider: specifiedProvider };

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
  status: 200 | 201 | 204 = 200,
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
    return isElsewhere ? notFound(c) : act(project);
  });
}

/** Shows a part of the integration of the path. */
function showing(show: (auth: ProjectState['auth']) => object | undefined): Handler {
  return (c) =>
    inPathProject(c, ({ auth }) => {
      const part = auth.integration && show(auth);
      return part === undefined ? notFound(c) : c.json(part);
    });
}

function notFound(c: UpstreamContext): Response {
  return refusal(c, 404, 'auth integration not found');
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

function integrationHandlers(deps: AuthRouteDeps): Handlers {
  const remove: Handler = (c) =>
    inPathProject(c, (project) => {
      const provider = c.req.param('auth_provider') ?? project.auth.integration?.auth_provider;
      if (provider !== project.auth.integration?.auth_provider) return notFound(c);
      return applyOutcome(c, project, commands.deleteIntegration(project.auth));
    });
  return {
    createAuthIntegration: withBody(createIntegrationBody, (c, body) =>
      inProject(c, body.project_id, (project) => create(c, project, body, deps)),
    ),
    createBranchAuth: withBody(branchIntegrationBody, (c, body) =>
      inProject(c, c.req.param('project_id') ?? '', (project) =>
        create(c, project, { ...body, branch_id: c.req.param('branch_id') ?? '' }, deps),
      ),
    ),
    createAuthKeys: withBody(keysBody, (c, body) =>
      inProject(c, body.project_id, (project) =>
        applyOutcome(c, project, commands.createKeys(project.auth, drawAuthObject(deps).drawn), 201),
      ),
    ),
    transferAuthOwnership: withBody(keysBody, (c, body) =>
      inProject(c, body.project_id, (project) => {
        const outcome = commands.startTransfer(project.auth, drawSecret(deps.idDice));
        if (outcome.kind === 'refused') return refusal(c, outcome.status, outcome.message);
        project.auth = outcome.next;
        const { origin: host } = new URL(c.req.url);
        return c.json({ url: `${host}/auth/transfer/${project.id}?code=${outcome.value}` });
      }),
    ),
    listAuthIntegrations: (c) =>
      inPathProject(c, ({ auth }) =>
        c.json({ data: auth.integration === undefined ? [] : [auth.integration] }),
      ),
    getBranchAuth: showing(({ integration }) => integration),
    deleteAuthIntegration: remove,
    deleteBranchAuth: remove,
  };
}

function create(
  c: UpstreamContext,
  project: ProjectState,
  request: z.output<typeof branchIntegrationBody> & {
    readonly branch_id: string;
    readonly role_name?: string | undefined;
  },
  deps: AuthRouteDeps,
): Response {
  const { branch_id, database_name, role_name } = request;
  const branch = project.branches.get(branch_id);
  if (branch === undefined) return refusal(c, 404, 'branch not found');
  if (branch_id !== project.defaultBranchId)
    return refusal(c, 400, `invalid request: branch_id: ${branch_id} ${NOT_PRODUCTION}`);
  const place = { project, branch, nowMs: deps.world.nowMs };
  if (database_name !== undefined && findDatabase(place, database_name) === undefined)
    return refusal(c, 404, 'database not found');
  if (role_name !== undefined && findRole(place, role_name) === undefined)
    return refusal(c, 404, 'role not found');
  const drawing = drawAuthObject(deps);
  return applyOutcome(c, project, commands.createIntegration(project.auth, request, drawing), 201);
}

const userFields = z.object({
  email: emailAddress,
  // A user name has 1 to 255 characters (specification "Limits").
  name: z.string().min(1).max(255).optional(),
});

function userHandlers(deps: AuthRouteDeps): Handlers {
  const addTo = (c: UpstreamContext, project: ProjectState, body: z.output<typeof userFields>) =>
    applyOutcome(c, project, commands.createUser(project.auth, body, drawAuthObject(deps)), 201);
  const remove: Handler = (c) =>
    inPathProject(c, (project) =>
      applyOutcome(c, project, commands.deleteUser(project.auth, c.req.param('auth_user_id') ?? ''), 204),
    );
  return {
    createAuthUser: withBody(userFields.extend(projectFields), (c, body) =>
      inProject(c, body.project_id, (project) => addTo(c, project, body)),
    ),
    createBranchAuthUser: withBody(userFields, (c, body) =>
      inPathProject(c, (project) => addTo(c, project, body)),
    ),
    deleteAuthUser: remove,
    deleteBranchAuthUser: remove,
    updateAuthUserRole: withBody(z.object({ roles: z.array(textSchema) }), (c, { roles }) =>
      inPathProject(c, (project) => {
        const id = c.req.param('auth_user_id') ?? '';
        const isKnown = project.auth.users.some((user) => user.id === id);
        return isKnown ? c.json({ id, roles }) : refusal(c, 404, 'user not found');
      }),
    ),
  };
}

const providerBody = z.object({
  id: textSchema,
  client_id: textSchema.optional(),
  client_secret: textSchema.optional(),
});

const listProviders = showing(({ providers }) => ({
  providers: providers.map(({ id, type }) => ({ id, type })),
}));

const addProvider = withBody(providerBody, (c, body) =>
  inPathProject(c, (project) => applyOutcome(c, project, commands.addProvider(project.auth, body))),
);

const updateProvider = withBody(providerBody.omit({ id: true }), (c, body) =>
  inPathProject(c, (project) => {
    const change = { ...body, id: c.req.param('oauth_provider_id') ?? '' };
    return applyOutcome(c, project, commands.updateProvider(project.auth, change));
  }),
);

/** Deleting answers 204 by the specification; for the newer path, the public contract says 200. */
function deleteProvider(status: 200 | 204): Handler {
  return (c) =>
    inPathProject(c, (project) => {
      const id = c.req.param('oauth_provider_id') ?? '';
      return applyOutcome(c, project, commands.deleteProvider(project.auth, id), status);
    });
}

const providerHandlers: Handlers = {
  listOauthProviders: listProviders,
  listBranchOauthProviders: listProviders,
  addOauthProvider: addProvider,
  addBranchOauthProvider: addProvider,
  updateOauthProvider: updateProvider,
  updateBranchOauthProvider: updateProvider,
  deleteOauthProvider: deleteProvider(204),
  deleteBranchOauthProvider: deleteProvider(200),
};

/** A redirect URI's domain is "an origin with scheme" (specification). */
const origin = z
  .string()
  .refine((text) => canonicalOrigin(text) !== undefined, 'must be an origin with a scheme');

const listDomains = showing(({ domains }) => ({ domains }));

function addDomain(provider: typeof specifiedProvider | typeof authProvider): Handler {
  return withBody(z.object({ domain: origin, auth_provider: provider }), (c, { domain }) =>
    inPathProject(c, (project) => applyOutcome(c, project, commands.addDomain(project.auth, domain), 201)),
  );
}

function deleteDomains(provider: typeof specifiedProvider | typeof authProvider): Handler {
  const domains = z.array(z.object({ domain: z.string() })).min(1);
  return withBody(z.object({ auth_provider: provider, domains }), (c, body) =>
    inPathProject(c, (project) => {
      const names = body.domains.map(({ domain }) => domain);
      return applyOutcome(c, project, commands.deleteDomains(project.auth, names));
    }),
  );
}

const domainHandlers: Handlers = {
  listRedirectDomains: listDomains,
  listTrustedDomains: listDomains,
  addRedirectDomain: addDomain(specifiedProvider),
  addTrustedDomain: addDomain(authProvider),
  deleteRedirectDomains: deleteDomains(specifiedProvider),
  deleteTrustedDomains: deleteDomains(authProvider),
};

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

const getEmailServer = showing(({ emailServer }) => emailServer);

const updateEmailServer = withBody(emailServerBody, (c, body) =>
  inPathProject(c, (project) => applyOutcome(c, project, commands.updateEmailServer(project.auth, body))),
);

const emailServerHandlers: Handlers = {
  getEmailServer,
  getBranchEmailServer: getEmailServer,
  updateEmailServer,
  updateBranchEmailServer: updateEmailServer,
  sendTestEmail: showing(() => ({ success: true })),
  testEmailProvider: showing(() => ({ success: true })),
};

/** Settings that the simulated service keeps and shows, and that have no effect. These are their values in the beginning. */
const SETTINGS = {
  allow_localhost: { allow_localhost: true },
  config: { name: 'auth' },
  email_and_password: {
    enabled: true,
    email_verification_method: 'otp',
    require_email_verification: false,
    auto_sign_in_after_verification: true,
    send_verification_email_on_sign_up: false,
    send_verification_email_on_sign_in: false,
    disable_sign_up: false,
  },
  magic_link: { enabled: false, expires_in: 300, disable_sign_up: false },
  organization: {
    enabled: true,
    organization_limit: 10,
    membership_limit: 100,
    creator_role: 'owner',
    send_invitation_email: false,
  },
  phone_number: { enabled: false, otp_expires_in: 300 },
  webhook: { enabled: false, enabled_events: [], timeout_seconds: 5 },
} as const satisfies Readonly<Record<string, object>>;

type SettingName = keyof typeof SETTINGS;

function settingOf({ settings }: ProjectState['auth'], name: SettingName): object {
  return { ...SETTINGS[name], ...settings[name] };
}

function shown(name: SettingName): Handler {
  return showing((auth) => settingOf(auth, name));
}

function changed(name: SettingName): Handler {
  return withBody(z.looseObject({}), (c, change) =>
    inPathProject(c, (project) => {
      const { auth } = project;
      if (auth.integration === undefined) return notFound(c);
      const setting = { ...settingOf(auth, name), ...change };
      project.auth = { ...auth, settings: { ...auth.settings, [name]: setting } };
      return c.json(setting);
    }),
  );
}

const settingHandlers: Handlers = {
  getLocalhostAccess: shown('allow_localhost'),
  updateLocalhostAccess: changed('allow_localhost'),
  updateBranchAuthConfig: changed('config'),
  getPasswordSignIn: shown('email_and_password'),
  updatePasswordSignIn: changed('email_and_password'),
  getPhonePlugin: shown('phone_number'),
  updatePhonePlugin: changed('phone_number'),
  updateMagicLinkPlugin: changed('magic_link'),
  updateOrganizationPlugin: changed('organization'),
  getAuthWebhook: shown('webhook'),
  setAuthWebhook: changed('webhook'),
  getAuthPlugins: showing((auth) => ({
    organization: settingOf(auth, 'organization'),
    magic_link: settingOf(auth, 'magic_link'),
    phone_number: settingOf(auth, 'phone_number'),
    email_and_password: settingOf(auth, 'email_and_password'),
    email_provider: auth.emailServer,
    oauth_providers: auth.providers.map(({ id, type }) => ({ id, type })),
    ...settingOf(auth, 'allow_localhost'),
  })),
};
