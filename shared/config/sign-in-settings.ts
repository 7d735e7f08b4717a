/** Defines how people sign in to the console at their company's OpenID provider, and what their roles allow. */

import * as z from 'zod';
import { scopesNamed } from '../callers/scopes.ts';

/** The roles stand in a file beside the code, and a page that shows why a person has no role stays readable. */
export const ROLES_MAX = 50;

/** A session finds its role again with each page, and the projects of a role are compared with those of every page. */
export const ROLE_PROJECTS_MAX = 200;

const TEXT_CHARACTERS_MAX = 200;

const text = z.string().min(1).max(TEXT_CHARACTERS_MAX);

const scopeName = z.string().refine((name) => scopesNamed(name) !== undefined, {
  error: 'is no scope, no bundle and no wildcard of docs/api.md',
});

/** A person has the role when the claim has this value, or contains it. */
const signInRole = z.strictObject({
  value: text,
  /** These are names of scopes, bundles such as `operator`, or wildcards such as `computes:*`. */
  scopes: z.array(scopeName).min(1).max(100),
  /** Without this list the role is good for every project of the account. */
  project_ids: z.array(z.string().min(1).max(63)).min(1).max(ROLE_PROJECTS_MAX).optional(),
});

/**
 * The configuration file and the function share these settings. They differ in how they name the secret, and in the
 * addresses that they accept.
 */
export const signInShape = {
  client_id: text,
  /** The person's commands use this account. */
  account_id: z.string().min(1).max(63),
  /** The ID token has the person's roles in this claim: a text or a list of texts. */
  roles_claim: text.default('groups'),
  /** The first role of this list that a person has is the one that counts. */
  roles: z.array(signInRole).min(1).max(ROLES_MAX),
  /** The provider is asked for these scopes of OpenID Connect. Some providers put the groups into the ID token only for `groups`. */
  request_scope: z
    .string()
    .max(TEXT_CHARACTERS_MAX)
    .regex(/(^| )openid( |$)/, { error: 'must contain openid' })
    .default('openid email'),
  /** The default is `client_secret_basic`, as in OpenID Connect Core, section 9. It matters only with a secret. */
  client_authentication: z.enum(['client_secret_basic', 'client_secret_post']).default('client_secret_basic'),
} as const;

export const signInSettings = z.strictObject({
  ...signInShape,
  issuer: z.url().refine(isSafeAddress, { error: 'must begin with https://, except on this machine' }),
  /** Browsers reach the console here, when it is not the address that the request names. */
  base_url: z
    .url()
    .refine(isSafeAddress, { error: 'must begin with https://, except on this machine' })
    .optional(),
  /** The secret with the client's secret has this name or ARN. A public client has none. */
  client_secret_id: z.string().min(1).optional(),
});

export type SignInSettings = z.output<typeof signInSettings>;

/** Codes and tokens travel to these addresses, so plain http is accepted on the loopback interface alone. */
function isSafeAddress(address: string): boolean {
  const url = URL.parse(address);
  if (url?.protocol === 'http:') return /^(127\.0\.0\.1|\[::1\]|localhost)$/.test(url.hostname);
  return url?.protocol === 'https:';
}
