/**
 * Defines the calls of the auth integration, its OAuth providers, its redirect-URI whitelist and its e-mail server.
 */

import * as z from 'zod';
import { specified } from './call.ts';
import { branchId, idSchemas, projectIdSchema, secret } from './schemas.ts';

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

const ofProvider = { project_id: projectIdSchema, auth_provider };

/** The specification describes this as "Redirect-URI whitelist domain". It is an origin with its scheme. */
const domain = z.string().regex(/^[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/?#]{1,255}$/i, {
  error: 'must be an origin with its scheme, like https://app.example.com',
});

export const authCalls = {
  createAuthIntegration: specified('POST /projects/auth/create | auth:create | Create an auth integration', {
    reach: 'named_project',
    section: 'Auth integration',
    body: z.looseObject({
      ...ofProvider,
      branch_id: branchId,
      database_name: text.optional(),
      role_name: text.optional(),
    }),
    answer: sdkKeySet,
    status: 201,
    shows: 'issued',
  }),
  listAuthIntegrations: specified(
    'GET /projects/{project_id}/auth/integrations | auth:read | List auth integrations',
    { section: 'Auth integration', answer: z.looseObject({ data: z.array(integration) }) },
  ),
  createAuthKeys: specified('POST /projects/auth/keys | auth:keys | Create SDK keys', {
    reach: 'named_project',
    section: 'Auth integration',
    body: z.looseObject(ofProvider),
    answer: sdkKeySet,
    status: 201,
    shows: 'issued',
  }),
  createAuthUser: specified('POST /projects/auth/user | auth:users | Create an auth user', {
    reach: 'named_project',
    section: 'Auth integration',
    body: z.looseObject({ ...ofProvider, email: emailAddress, name: z.string().min(1).max(255).optional() }),
    answer: z.looseObject({ id: z.string() }),
    status: 201,
  }),
  deleteAuthUser: specified(
    'DELETE /projects/{project_id}/auth/users/{auth_user_id} | auth:users | Delete an auth user',
    { section: 'Auth integration', answer: nothing, status: 204 },
  ),
  transferAuthOwnership: specified(
    'POST /projects/auth/transfer_ownership | auth:transfer | Start a transfer of ownership of the auth project',
    {
      reach: 'named_project',
      section: 'Auth integration',
      body: z.looseObject(ofProvider),
      answer: z.looseObject({ url: secret }),
      shows: 'issued',
    },
  ),
  deleteAuthIntegration: specified(
    'DELETE /projects/{project_id}/auth/integration/{auth_provider} | auth:delete | Delete an auth integration',
    {
      section: 'Auth integration',
      body: z.looseObject({ delete_data: z.boolean().optional() }),
      isBodyOptional: true,
      answer: nothing,
    },
  ),
  listOauthProviders: specified(
    'GET /projects/{project_id}/auth/oauth_providers | auth:read | List OAuth providers',
    { section: 'OAuth providers', answer: z.looseObject({ providers: z.array(oauthProvider) }) },
  ),
  addOauthProvider: specified(
    'POST /projects/{project_id}/auth/oauth_providers | auth:providers | Add an OAuth provider',
    {
      section: 'OAuth providers',
      body: z.looseObject({
        id: oauth_provider_id,
        client_id: text.optional(),
        client_secret: text.optional(),
        microsoft_tenant_id: text.optional(),
      }),
      answer: oauthProvider,
      shows: 'issued',
    },
  ),
  updateOauthProvider: specified(
    'PATCH /projects/{project_id}/auth/oauth_providers/{oauth_provider_id} | auth:providers | Update an OAuth provider',
    {
      section: 'OAuth providers',
      body: z.looseObject({
        client_id: text.optional(),
        client_secret: text.optional(),
        microsoft_tenant_id: text.optional(),
      }),
      answer: oauthProvider,
      shows: 'issued',
    },
  ),
  deleteOauthProvider: specified(
    'DELETE /projects/{project_id}/auth/oauth_providers/{oauth_provider_id} | auth:providers | Delete an OAuth provider',
    { section: 'OAuth providers', answer: nothing, status: 204, otherStatus: 200 },
  ),
  listRedirectDomains: specified(
    'GET /projects/{project_id}/auth/domains | auth:read | List redirect-URI domains',
    {
      section: 'Redirect-URI whitelist',
      answer: z.looseObject({
        domains: z.array(z.looseObject({ domain: z.string(), auth_provider: z.string() })),
      }),
    },
  ),
  addRedirectDomain: specified(
    'POST /projects/{project_id}/auth/domains | auth:redirects | Add a redirect-URI domain',
    {
      section: 'Redirect-URI whitelist',
      body: z.looseObject({ domain, auth_provider }),
      answer: nothing,
      status: 201,
    },
  ),
  deleteRedirectDomains: specified(
    'DELETE /projects/{project_id}/auth/domains | auth:redirects | Delete redirect-URI domains',
    {
      section: 'Redirect-URI whitelist',
      body: z.looseObject({ auth_provider, domains: z.array(z.looseObject({ domain })).min(1).max(100) }),
      answer: nothing,
    },
  ),
  getEmailServer: specified(
    'GET /projects/{project_id}/auth/email_server | auth:read | Get the e-mail server',
    { section: 'Email server', answer: emailServer },
  ),
  updateEmailServer: specified(
    'PATCH /projects/{project_id}/auth/email_server | auth:email | Update the e-mail server',
    {
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
      shows: 'issued',
    },
  ),
} as const;

const STANDARD_FIELDS = ['host', 'port', 'username', 'password', 'sender_email', 'sender_name'] as const;
