/**
 * Keeps the ID token of a person for the time of a session, so that the provider knows which of its sessions to end
 * when the person signs out there (OpenID Connect RP-Initiated Logout 1.0, section 2).
 */

import { seal, unseal } from '../../../../shared/callers/seal.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import { COOKIE_CHARACTERS_MAX, type CookieKind } from '../session/cookie.ts';

/** The cookie is sent to the way out only, because it is long. It gives no access to anything, so who plants one gains nothing. */
export const PROVIDER_SESSION_COOKIE: CookieKind = {
  name: 'bridge_id_token',
  path: '/console/sign-out',
  prefix: '__Secure-',
  sameSite: 'Strict',
};

const sealing = (pepper: Secret) => ({ key: pepper, purpose: 'sign-in', boundTo: 'id-token' }) as const;

/** Returns undefined when the ID token is too long to be kept. The provider then asks the person whom to sign out. */
export function sealIdToken(idToken: string, pepper: Secret): string | undefined {
  const sealed = seal(idToken, sealing(pepper));
  return sealed.length > COOKIE_CHARACTERS_MAX ? undefined : sealed;
}

export function openIdToken(sealed: string | undefined, pepper: Secret): string | undefined {
  return sealed === undefined ? undefined : unseal(sealed, sealing(pepper));
}
