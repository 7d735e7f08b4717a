/**
 * Defines the calls of the auth integration, its OAuth providers, its redirect-URI whitelist and its e-mail server.
 */

import * as z from 'zod';
import { defineCall } from './call.ts';
import { branchId, idSchemas } from './ids.ts';
import { projectId, secret } from './schemas.ts';

const { auth_provider, oauth_provider_id } = idSchemas;
const text = z.string().min(1).max(2_000);
const nothing = z.undefined();

/** The specification describes this as "SDK key set". */
const sdkKeySet = z.looseObject({
  auth_provider: z.string(),
  auth_provider_project_id: z.string(),
  pub_client_key: z.string(),
  secret_server_key: secret,
  jwks_url: z.string(),
  schema_name: z.string(),
  table_name: z.string(),
});

/** The specification describes this as "Auth integration (list item)". */
const integration = z.looseObject({
  auth_provider: z.string(),
  auth_provider_project_id: z.string(),
  branch_id: z.string(),
  db_name: z.string(),
  created_at: z.string(),
  owned_by: z.string(),
  jwks_url: z.string(),
});

/** The specification describes this as "OAuth provider". The public contract may show credentials in lists, too. */
const oauthProvider = z.looseObject({
  id: z.string(),
  type: z.string(),
  client_id: z.string().optional(),
  client_secret: secret.optional(),
});

/**
 * The specification describes this as "Email server configuration". When `type` is `shared`, the rest may be absent.
 */
const emailServer = z.looseObject({
  type: z.string(),
  host: z.string().optional(),
  port: z.number().int().optional(),
  username: z.string().optional(),
  password: secret.optional(),
  sender_email: z.string().optional(),
  sender_name: z.string().optional(),
});

/** The upstream judges the spelling. 64 bytes before the @ and 255 behind it are the most that there can be (RFC 5321). */
const emailAddress = z
  .string()
  .regex(/^.{1,64}@.{1,255}$/, { error: 'must be an e-mail address, like ada@example.com' });

const ofProvider = { project_id: projectId, auth_provider };

/** The specification describes this as "Redirect-URI whitelist domain". It is an origin with its scheme. */
const domain = z.string().regex(/^[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/?#]{1,255}$/i, {
  error: 'must be an origin with its scheme, like https://app.example.com',
});

export const authCalls = {
  /**
   * Provisions an auth project and returns its SDK keys, which are secrets. It must not be repeated, because it would
   * make another one.
   *
   * The specification describes it in "Auth integration". The upstream refuses it with 409 when there is one, 404 for
   * an unknown project or branch.
   */
  createAuthIntegration: defineCall({
    method: 'POST',
    path: '/projects/auth/create',
    scope: 'auth:create',
    reach: 'named_project',
    summary: 'Create an auth integration',
    section: 'Auth integration',
    body: z.looseObject({
      ...ofProvider,
      branch_id: branchId,
      database_name: text.optional(),
      role_name: text.optional(),
    }),
    answer: sdkKeySet,
    status: 201,
  }),
  /**
   * Lists the auth integrations of a project, without their keys.
   *
   * The specification describes it in "Auth integration". The upstream refuses it with 404 for an unknown project.
   */
  listAuthIntegrations: defineCall({
    method: 'GET',
    path: '/projects/{project_id}/auth/integrations',
    scope: 'auth:read',
    reach: 'path_project',
    summary: 'List auth integrations',
    section: 'Auth integration',
    answer: z.looseObject({ data: z.array(integration) }),
    status: 200,
  }),
  /**
   * Issues new SDK keys. It must not be repeated, because each call issues others.
   *
   * The specification describes it in "Auth integration". The upstream refuses it with 404 without an integration.
   */
  createAuthKeys: defineCall({
    method: 'POST',
    path: '/projects/auth/keys',
    scope: 'auth:keys',
    reach: 'named_project',
    summary: 'Create SDK keys',
    section: 'Auth integration',
    body: z.looseObject(ofProvider),
    answer: sdkKeySet,
    status: 201,
  }),
  /**
   * Creates a user, who is synchronized into the users table. A name has 1 to 255 characters ("Limits").
   *
   * The specification describes it in "Auth integration". The upstream refuses it with 404 without an integration,
   * 409 for an address that is there.
   */
  createAuthUser: defineCall({
    method: 'POST',
    path: '/projects/auth/user',
    scope: 'auth:users',
    reach: 'named_project',
    summary: 'Create an auth user',
    section: 'Auth integration',
    body: z.looseObject({
      ...ofProvider,
      email: emailAddress,
      name: z.string().min(1).max(255).optional(),
    }),
    answer: z.looseObject({ id: z.string() }),
    status: 201,
  }),
  /**
   * Removes a user. The answer has no body.
   *
   * The specification describes it in "Auth integration". The upstream refuses it with 404 for an unknown user.
   */
  deleteAuthUser: defineCall({
    method: 'DELETE',
    path: '/projects/{project_id}/auth/users/{auth_user_id}',
    scope: 'auth:users',
    reach: 'path_project',
    summary: 'Delete an auth user',
    section: 'Auth integration',
    answer: nothing,
    status: 204,
  }),
  /**
   * Begins a transfer. The person who opens the returned URL and confirms there becomes the owner.
   *
   * The specification describes it in "Auth integration". The upstream refuses it with 404 without an integration.
   */
  transferAuthOwnership: defineCall({
    method: 'POST',
    path: '/projects/auth/transfer_ownership',
    scope: 'auth:transfer',
    reach: 'named_project',
    summary: 'Start a transfer of ownership of the auth project',
    section: 'Auth integration',
    body: z.looseObject(ofProvider),
    answer: z.looseObject({ url: secret }),
    status: 200,
  }),
  /**
   * Removes the integration. The bridge does not show what the upstream answers.
   *
   * The specification describes it in "Auth integration". The upstream refuses it with 404 without an integration.
   */
  deleteAuthIntegration: defineCall({
    method: 'DELETE',
    path: '/projects/{project_id}/auth/integration/{auth_provider}',
    scope: 'auth:delete',
    reach: 'path_project',
    summary: 'Delete an auth integration',
    section: 'Auth integration',
    body: z.looseObject({ delete_data: z.boolean().optional() }),
    isBodyOptional: true,
    answer: nothing,
    status: 200,
  }),
  /**
   * Lists the OAuth providers of a project. Credentials, if an answer shows any, are secrets.
   *
   * The specification describes it in "OAuth providers". The upstream refuses it with 404 without an integration.
   */
  listOauthProviders: defineCall({
    method: 'GET',
    path: '/projects/{project_id}/auth/oauth_providers',
    scope: 'auth:read',
    reach: 'path_project',
    summary: 'List OAuth providers',
    section: 'OAuth providers',
    answer: z.looseObject({ providers: z.array(oauthProvider) }),
    status: 200,
  }),
  /**
   * Adds a provider. Without `client_id` and `client_secret` it uses the keys of the service (`shared`).
   *
   * The specification describes it in "OAuth providers". The upstream refuses it with 404 without an integration, 409
   * when it is there.
   */
  addOauthProvider: defineCall({
    method: 'POST',
    path: '/projects/{project_id}/auth/oauth_providers',
    scope: 'auth:providers',
    reach: 'path_project',
    summary: 'Add an OAuth provider',
    section: 'OAuth providers',
    body: z.looseObject({
      id: oauth_provider_id,
      client_id: text.optional(),
      client_secret: text.optional(),
      microsoft_tenant_id: text.optional(),
    }),
    answer: oauthProvider,
    status: 200,
  }),
  /**
   * Replaces the credentials of a provider.
   *
   * The specification describes it in "OAuth providers". The upstream refuses it with 404 for an unknown provider.
   */
  updateOauthProvider: defineCall({
    method: 'PATCH',
    path: '/projects/{project_id}/auth/oauth_providers/{oauth_provider_id}',
    scope: 'auth:providers',
    reach: 'path_project',
    summary: 'Update an OAuth provider',
    section: 'OAuth providers',
    body: z.looseObject({
      client_id: text.optional(),
      client_secret: text.optional(),
      microsoft_tenant_id: text.optional(),
    }),
    answer: oauthProvider,
    status: 200,
  }),
  /**
   * Removes a provider. The specification says that the answer is a 204 without a body.
   *
   * The specification describes it in "OAuth providers". The upstream refuses it with 404 for an unknown provider.
   */
  deleteOauthProvider: defineCall({
    method: 'DELETE',
    path: '/projects/{project_id}/auth/oauth_providers/{oauth_provider_id}',
    scope: 'auth:providers',
    reach: 'path_project',
    summary: 'Delete an OAuth provider',
    section: 'OAuth providers',
    answer: nothing,
    status: 204,
    otherStatus: 200,
  }),
  /**
   * Lists the origins to which the auth provider may redirect.
   *
   * The specification describes it in "Redirect-URI whitelist". The upstream refuses it with 404 without an
   * integration.
   */
  listRedirectDomains: defineCall({
    method: 'GET',
    path: '/projects/{project_id}/auth/domains',
    scope: 'auth:read',
    reach: 'path_project',
    summary: 'List redirect-URI domains',
    section: 'Redirect-URI whitelist',
    answer: z.looseObject({
      domains: z.array(z.looseObject({ domain: z.string(), auth_provider: z.string() })),
    }),
    status: 200,
  }),
  /**
   * Adds an origin with its scheme.
   *
   * The specification describes it in "Redirect-URI whitelist". The upstream refuses it with 404 without an
   * integration, 409 when it is there.
   */
  addRedirectDomain: defineCall({
    method: 'POST',
    path: '/projects/{project_id}/auth/domains',
    scope: 'auth:redirects',
    reach: 'path_project',
    summary: 'Add a redirect-URI domain',
    section: 'Redirect-URI whitelist',
    body: z.looseObject({ domain, auth_provider }),
    answer: nothing,
    status: 201,
  }),
  /**
   * Removes origins.
   *
   * The specification describes it in "Redirect-URI whitelist". The upstream refuses it with 404 for an unknown
   * domain.
   */
  deleteRedirectDomains: defineCall({
    method: 'DELETE',
    path: '/projects/{project_id}/auth/domains',
    scope: 'auth:redirects',
    reach: 'path_project',
    summary: 'Delete redirect-URI domains',
    section: 'Redirect-URI whitelist',
    body: z.looseObject({
      auth_provider,
      domains: z.array(z.looseObject({ domain })).min(1).max(100),
    }),
    answer: nothing,
    status: 200,
  }),
  /**
   * Shows the e-mail server, whose password is a secret.
   *
   * The specification describes it in "Email server". The upstream refuses it with 404 without an integration.
   */
  getEmailServer: defineCall({
    method: 'GET',
    path: '/projects/{project_id}/auth/email_server',
    scope: 'auth:read',
    reach: 'path_project',
    summary: 'Get the e-mail server',
    section: 'Email server',
    answer: emailServer,
    status: 200,
  }),
  /**
   * Changes the e-mail server. The type `shared` takes no other field, and `standard` needs every field.
   *
   * The specification describes it in "Email server". The upstream refuses it with 404 without an integration, 400
   * when a field is missing.
   */
  updateEmailServer: defineCall({
    method: 'PATCH',
    path: '/projects/{project_id}/auth/email_server',
    scope: 'auth:email',
    reach: 'path_project',
    summary: 'Update the e-mail server',
    section: 'Email server',
    body: z
      .looseObject({
        type: z.enum(['shared', 'standard']),
        host: text.optional(),
        port: z.number().int().min(1).max(65_535).optional(),
        username: text.optional(),
        password: text.optional(),
        sender_email: emailAddress.optional(),
        sender_name: text.optional(),
      })
      .check(({ value, issues }) => {
        if (value.type !== 'standard') return;
        for (const name of STANDARD_FIELDS) {
          if (value[name] !== undefined) continue;
          issues.push({
            code: 'custom',
            input: value,
            path: [name],
            message: 'is required when type is standard',
          });
        }
      }),
    answer: emailServer,
    status: 200,
  }),
} as const;

const STANDARD_FIELDS = ['host', 'port', 'username', 'password', 'sender_email', 'sender_name'] as const;
