/**
 * Keeps a sign-in between the start at the console and the return from the provider: sealed in a cookie, so that only
 * the browser that began it can end it, and no page or script can read it.
 */

import * as z from 'zod';
import { seal, unseal } from '../../../../shared/callers/seal.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { CookieKind } from '../session/cookie.ts';

const pendingSignIn = z.strictObject({
  id: z.string().max(60),
  /** The provider returns this text, by which the answer is matched to the question (RFC 6749, section 10.12). */
  state: z.string().max(200),
  /** The provider puts this text into the ID token (OpenID Connect Core, section 3.1.2.1). */
  nonce: z.string().max(200),
  /** Only the holder of this text can exchange the code (RFC 7636). */
  verifier: z.string().max(200),
  /** The browser goes to this page in the end. */
  next: z.string().max(2_000),
  ends_at_ms: z.number(),
});

export type PendingSignIn = z.output<typeof pendingSignIn>;

/** A person types a password and a second factor in this time. The provider's own page has a shorter bound. */
export const SIGN_IN_MS_MAX = 10 * 60_000;

/** The return from the provider is a link of another site, with which a `Strict` cookie would not be sent. */
export const PENDING_COOKIE: CookieKind = {
  name: 'bridge_sign_in',
  path: '/console/sign-in',
  prefix: '__Host-',
  sameSite: 'Lax',
};

const sealing = (pepper: Secret) => ({ key: pepper, purpose: 'sign-in', boundTo: 'pending' }) as const;

export function sealPending(pending: PendingSignIn, pepper: Secret): string {
  return seal(JSON.stringify(pending), sealing(pepper));
}

/** Returns undefined when the cookie was changed or made up, or the sign-in took too long. */
export function openPending(sealed: string, pepper: Secret, nowMs: number): PendingSignIn | undefined {
  const text = unseal(sealed, sealing(pepper));
  const parsed = text === undefined ? undefined : pendingSignIn.safeParse(JSON.parse(text));
  return parsed?.success === true && nowMs < parsed.data.ends_at_ms ? parsed.data : undefined;
}
