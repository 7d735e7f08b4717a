/**
 * Keeps a session of the console in a cookie: who is signed in, and until when. The cookie is authenticated, and
 * scripts cannot read it; the table keeps which sessions and sign-ins have ended, because their cookies last longer and
 * are refused. Who a person is comes from the claims of an ID token, and what they may do from their role in the
 * configuration now.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { type Caller, SCOPES, scopesNamed } from '../../../../shared/callers/scopes.ts';
import type { SignInSettings } from '../../../../shared/config/api-config.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import { endedSessionKey } from '../../../../shared/store/keys.ts';
import type { Table } from '../../../../shared/store/table.ts';

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

export interface CookieKind {
  readonly name: string;
  /** Over https a cookie of the host has the path `/`, and only `path` on http. */
  readonly path: string;
  /**
   * With `__Host-` no neighbouring subdomain can plant the cookie, and its path must be `/` (RFC 6265bis, 4.1.3.2). With `__Secure-`
   * one can, and the cookie is sent to its path alone.
   */
  readonly prefix: '__Host-' | '__Secure-';
  /**
   * With `Strict` the cookie is not sent when a link of another site is followed. With `Lax` it is, for a GET of a whole
   * page (RFC 6265bis, 5.6.7.1).
   */
  readonly sameSite: 'Strict' | 'Lax';
}

/**
 * Browsers silently drop a cookie of more than 4,096 bytes, with its name and attributes (RFC 6265bis, 5.6). The value
 * must not be longer than this.
 */
export const COOKIE_CHARACTERS_MAX = 3_900;

/**
 * Returns the `Set-Cookie` header. Browsers accept a cookie with either prefix only over https, so a page on http can neither set
 * nor replace it (RFC 6265bis, 4.1.3).
 */
export function setCookie(
  kind: CookieKind,
  value: string,
  { maxAgeSeconds, isHttps }: { readonly maxAgeSeconds: number; readonly isHttps: boolean },
): string {
  const secure = isHttps ? '; Secure' : '';
  const path = isHttps && kind.prefix === '__Host-' ? '/' : kind.path;
  return `${nameOf(kind, isHttps)}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${kind.sameSite}${secure}`;
}

export function removeCookie(kind: CookieKind, isHttps: boolean): string {
  return setCookie(kind, '', { maxAgeSeconds: 0, isHttps });
}

/** `header` is the `Cookie` header of the request. */
export function readCookie(
  kind: CookieKind,
  header: string | undefined,
  isHttps: boolean,
): string | undefined {
  const start = `${nameOf(kind, isHttps)}=`;
  return header
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(start))
    ?.slice(start.length);
}

function nameOf({ name, prefix }: CookieKind, isHttps: boolean): string {
  return isHttps ? `${prefix}${name}` : name;
}

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

/** The function returns undefined when the configuration has no such role, or nobody signs in at a provider. */
export function createRoleCallers(
  settings: SignInSettings | undefined,
): (person: Person) => Caller | undefined {
  if (settings === undefined) return () => undefined;
  const roles = new Map(
    settings.roles.toReversed().map(({ value, scopes, project_ids }) => {
      const allowed = {
        scopes: new Set(scopes.flatMap((name) => scopesNamed(name) ?? [])),
        projectIds: project_ids && new Set(project_ids),
      };
      return [value, allowed] as const;
    }),
  );
  return ({ client_id, email, role }) => {
    const allowed = roles.get(role);
    if (allowed === undefined) return undefined;
    return { client_id, account_id: settings.account_id, ...allowed, ...(email && { email }) };
  };
}

/** The item of an ended session has these attributes. */
export const ENDED_SESSION_ATTRIBUTES = ['ended_at_ms'] as const;

/**
 * The item is kept this long past the end of the session, after which the cookie is refused because it has expired.
 */
const KEPT_LONGER_SECONDS = 3_600;

export interface EndedSessions {
  /** Resolves to false when it had ended before. Of several calls at once, exactly one resolves to true. */
  end(session: { readonly id: string; readonly endsAtMs: number }, nowMs: number): Promise<boolean>;
  isEnded(sessionId: string): Promise<boolean>;
}

export function createEndedSessions(table: Table): EndedSessions {
  return {
    async end({ id, endsAtMs }, nowMs) {
      const expires_at = Math.ceil(endsAtMs / 1_000) + KEPT_LONGER_SECONDS;
      const set = { kind: 'ended_session', ended_at_ms: nowMs, expires_at };
      const condition = { kind: 'absent', name: 'ended_at_ms' } as const;
      return (await table.update({ key: endedSessionKey(id), set, condition })) === 'applied';
    },
    isEnded: async (sessionId) => (await table.get(endedSessionKey(sessionId))) !== undefined,
  };
}
