/**
 * Keeps a session of the console in a cookie: who is signed in, and until when. The cookie is authenticated, and
 * only the console's own pages look at it.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import type { Caller } from '../../../../shared/callers/authorize.ts';
import { SCOPES } from '../../../../shared/callers/scopes.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { CookieKind } from './cookie.ts';

const sessionSchema = z.union([
  /** This session began with a token of the bridge. The token is looked up for every page. */
  z.strictObject({ id: z.string().max(60), token_id: z.string().max(40), ends_at_ms: z.number() }),
  /** This session began with a token of the issuer. It keeps what the token said at that time. */
  z.strictObject({
    id: z.string().max(60),
    caller: z.strictObject({
      client_id: z.string(),
      account_id: z.string(),
      generation: z.number().optional(),
      scopes: z.array(z.enum(SCOPES)),
      project_ids: z.array(z.string()).optional(),
    }),
    ends_at_ms: z.number(),
  }),
  /** This session began at the company's provider. What the role allows is looked up for every page. */
  z.strictObject({
    id: z.string().max(60),
    person: z.strictObject({
      client_id: z.string(),
      role: z.string(),
      email: z.string().optional(),
    }),
    ends_at_ms: z.number(),
  }),
]);

export type Session = z.output<typeof sessionSchema>;

/** A person who signed in at the company's provider, with the role that the provider gave them. */
export type Person = Extract<Session, { readonly person: object }>['person'];

/** An hour is long enough for an incident, and short enough for a laptop that was left open. */
const SESSION_MS = 3_600_000;

/**
 * With `Strict` the cookie is not sent when a link of another site is followed. Such a page is asked for once more from
 * the console itself.
 */
export const SESSION_COOKIE: CookieKind = {
  name: 'bridge_session',
  path: '/console',
  prefix: '__Host-',
  sameSite: 'Strict',
};

/**
 * `id` is random, and the session can be ended by it. The session never lasts longer than the credentials that it
 * began with.
 */
export function sessionOf(
  caller: Caller,
  {
    id,
    tokenId,
    nowMs,
  }: { readonly id: string; readonly tokenId: string | undefined; readonly nowMs: number },
): Session {
  const ends_at_ms = Math.min(nowMs + SESSION_MS, caller.endsAtMs ?? Number.POSITIVE_INFINITY);
  if (tokenId !== undefined) return { id, token_id: tokenId, ends_at_ms };
  const { client_id, account_id, generation, scopes, projectIds } = caller;
  return {
    id,
    caller: {
      client_id,
      account_id,
      ...(generation !== undefined && { generation }),
      scopes: [...scopes],
      ...(projectIds && { project_ids: [...projectIds] }),
    },
    ends_at_ms,
  };
}

/** `id` is random, as in every session. The provider does not say how long a person may stay, so it is always an hour. */
export function personSession(person: Person, id: string, nowMs: number): Session {
  return { id, person, ends_at_ms: nowMs + SESSION_MS };
}

/** Returns the caller of a session that began with a token of the issuer, and undefined for another session. */
export function callerIn(session: Session): Caller | undefined {
  if (!('caller' in session)) return undefined;
  const { client_id, account_id, generation, scopes, project_ids } = session.caller;
  return {
    client_id,
    account_id,
    ...(generation !== undefined && { generation }),
    scopes: new Set(scopes),
    projectIds: project_ids && new Set(project_ids),
  };
}

export function seal(session: Session, pepper: Secret): string {
  const payload = Buffer.from(JSON.stringify(session)).toString('base64url');
  return `${payload}.${macOf('session', payload, pepper)}`;
}

/** Returns undefined when the cookie was changed or made up, or when the session is over. */
export function open(sealed: string, pepper: Secret, nowMs: number): Session | undefined {
  const [payload = '', mac = ''] = sealed.split('.');
  if (!isSame(mac, macOf('session', payload, pepper))) return undefined;
  const parsed = sessionSchema.safeParse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  return parsed.success && nowMs < parsed.data.ends_at_ms ? parsed.data : undefined;
}

/**
 * Returns the key that stands in every form of the session. Another site cannot know it, so a form with it comes from
 * a page of the session.
 */
export function formKey(session: Session, pepper: Secret): string {
  return macOf('form', JSON.stringify(session), pepper);
}

export function isFormKey(presented: unknown, session: Session, pepper: Secret): boolean {
  return typeof presented === 'string' && isSame(presented, formKey(session, pepper));
}

function macOf(purpose: string, text: string, pepper: Secret): string {
  return createHmac('sha256', pepper.reveal()).update(`console ${purpose}\n${text}`).digest('hex');
}

function isSame(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}
