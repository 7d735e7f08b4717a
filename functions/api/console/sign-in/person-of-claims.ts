/** Decides from the claims of an ID token who a person is, and which role of the bridge they have. */

import * as z from 'zod';
import type { SignInSettings } from '../../../../shared/config/sign-in-settings.ts';
import type { Person } from '../session/session.ts';

export type IdTokenClaims = Readonly<Record<string, unknown>>;

export type PersonDecision =
  | { readonly kind: 'person'; readonly person: Person }
  /** The ID token does not have the claim that should contain the roles, or it is neither a text nor a list of texts. */
  | { readonly kind: 'claim-missing'; readonly name: string | undefined }
  /** The claim has none of the values that the configuration gives a role. */
  | { readonly kind: 'no-role'; readonly name: string | undefined };

/** A subject has at most 255 ASCII characters (OpenID Connect Core, section 2). */
const subject = z.string().regex(/^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/);

/** A path of RFC 5321, section 4.5.3.1.3, has 256 characters with its brackets. Pages and the audit show the address. */
const address = z.string().regex(/^[^\s<>@]{1,64}@[^\s<>@]{1,189}$/);

/** Groups that a person has beyond this number are not looked at. Providers themselves leave out claims with more than 200. */
export const GROUPS_MAX = 1_000;

/** Returns undefined when the ID token names no subject, which a provider must not do. */
export function personOf(claims: IdTokenClaims, settings: SignInSettings): PersonDecision | undefined {
  const sub = subject.safeParse(claims['sub']);
  if (!sub.success) return undefined;
  const email = emailOf(claims);
  const name = email ?? sub.data;
  const values = valuesOf(claims, settings.roles_claim);
  if (values === undefined) return { kind: 'claim-missing', name };
  const role = settings.roles.find(({ value }) => values.includes(value));
  if (role === undefined) return { kind: 'no-role', name };
  // Names of the bridge's own clients have no colon, so a person never has the name of such a client.
  const client_id = `oidc:${new URL(settings.issuer).host}:${sub.data}`;
  return { kind: 'person', person: { client_id, role: role.value, ...(email && { email }) } };
}

/** The address is only shown. Nothing is allowed by it, so an address that the provider has not verified is left out. */
function emailOf(claims: IdTokenClaims): string | undefined {
  if (claims['email_verified'] === false) return undefined;
  const email = address.safeParse(claims['email'] ?? claims['preferred_username']);
  return email.success ? email.data : undefined;
}

function valuesOf(claims: IdTokenClaims, name: string): readonly unknown[] | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.slice(0, GROUPS_MAX) : undefined;
}
