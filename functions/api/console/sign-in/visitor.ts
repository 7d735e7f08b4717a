/**
 * Finds out who looks at a page, from the session in the cookie; reads what the browser sends; and records what the
 * visitor did.
 */

import type { Context } from 'hono';
import type { PerAccount } from '../../../../shared/accounts/account-directory.ts';
import type { Caller } from '../../../../shared/callers/scopes.ts';
import { cursorSealOf } from '../../../../shared/callers/seal.ts';
import { type AuditLog, reportAuditFailure } from '../../../../shared/commands/audit.ts';
import { isoTimeOf } from '../../../../shared/records/time.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import { type ReadModel, sealedReadModel } from '../../read-model/read-model.ts';
import type { Authenticator } from '../../serving/admission.ts';
import { readCapped } from '../../serving/read-request.ts';
import {
  type Asker,
  lifeOf,
  noteAccess,
  noteRefusal,
  type RefusalReason,
} from '../../serving/request-audit.ts';
import {
  callerIn,
  type EndedSessions,
  open,
  type Person,
  readCookie,
  SESSION_COOKIE,
  type Session,
} from './session.ts';

export interface VisitorDeps {
  readonly readModels: PerAccount<ReadModel>;
  readonly authenticator: Authenticator;
  /** Returns what the person may do, and undefined when their role exists no more. */
  readonly callerOfPerson: (person: Person) => Caller | undefined;
  readonly endedSessions: EndedSessions;
  /** The pepper keys the seals of sessions and cursors. */
  readonly pepper: () => Promise<Secret>;
  readonly clock: Clock;
}

export interface Visitor {
  readonly caller: Caller;
  readonly session: Session;
  readonly pepper: Secret;
  /** The model shows the caller's account and seals the caller's cursors. */
  readonly model: ReadModel;
}

/** Resolves to undefined when there is no session, or it is over, or its token or its account exists no more. */
export async function visitorOf(deps: VisitorDeps, c: Context): Promise<Visitor | undefined> {
  const pepper = await deps.pepper();
  const cookie = readCookie(SESSION_COOKIE, c.req.header('cookie'), isHttps(c)) ?? '';
  const session = open(cookie, pepper, deps.clock.now());
  if (session === undefined || (await deps.endedSessions.isEnded(session.id))) return undefined;
  const caller = await callerOf(deps, session);
  const model = caller && deps.readModels.get(caller.account_id);
  if (caller === undefined || model === undefined) return undefined;
  return { session, caller, pepper, model: sealedReadModel(model, cursorSealOf(caller, pepper)) };
}

async function callerOf(deps: VisitorDeps, session: Session): Promise<Caller | undefined> {
  if ('token_id' in session) return deps.authenticator.holderOf(session.token_id);
  const caller = 'person' in session ? deps.callerOfPerson(session.person) : callerIn(session);
  return caller && deps.authenticator.living(caller);
}

/**
 * Returns whether the form comes from this origin, or from the configured address, when a proxy shows the bridge another host. A browser
 * always names the origin of a form, so a request without an `Origin` header comes from no page of another site.
 */
export function isOwnOrigin(c: Context, { consoleBaseUrl = '' }: RefusalDeps): boolean {
  const origin = c.req.header('origin');
  if (origin === undefined) return true;
  const host = URL.parse(origin)?.host;
  const asked = c.req.header('host') ?? new URL(c.req.url).host;
  return host !== undefined && (host === asked || host === URL.parse(consoleBaseUrl)?.host);
}

/**
 * Without a configured address it is that of the request. A made-up `Host` gains nothing: the provider refuses every
 * address that the operators have not registered there.
 */
export function baseUrlOf(c: Context, configured: string | undefined): string {
  return configured ?? new URL(c.req.url).origin;
}

/**
 * Returns the start of the sign-in at the configured address when the browser is at another one: the provider sends it back there, so
 * the cookie has to be made there. A proxy may show the bridge another host than that of the browser, so the browser is moved only once.
 */
export function startElsewhere(c: Context, base: string | undefined, next: string): string | undefined {
  if (base === undefined || c.req.query('moved') !== undefined) return undefined;
  const there = new URL('/console/sign-in/start', base);
  there.search = new URLSearchParams({ next, moved: '1' }).toString();
  return there.host === new URL(c.req.url).host ? undefined : there.href;
}

/**
 * Returns whether a person has followed a link of another site, such as a mail in the browser (W3C Fetch Metadata). The
 * browser then holds back the cookie of the session.
 */
export function isLinkOfAnotherSite(c: Context): boolean {
  const isNavigation = c.req.method === 'GET' && c.req.header('sec-fetch-mode') === 'navigate';
  return isNavigation && c.req.header('sec-fetch-site') === 'cross-site';
}

export function isHttps(c: Context): boolean {
  return new URL(c.req.url).protocol === 'https:';
}

/**
 * Returns whether a path leads to a page of the console, and to no other site. A browser sends every address in the form of the URL
 * standard, so an address in another form comes from elsewhere. Some clients take `//` or `;url=` for the beginning of a second address.
 */
export function isOwnPath(path: string): boolean {
  const { pathname = '', search = '' } = URL.parse(path, 'https://console.invalid') ?? {};
  return `${pathname}${search}` === path && /^\/console(\/|$)/.test(pathname) && !/\/\/|[\\;]/.test(path);
}

/**
 * The longest form holds a token of an issuer, which usually has at most two kilobytes. Many servers refuse eight.
 */
const FORM_BYTES_MAX = 16_000;

/** Resolves to undefined when the body is too large, or is no form. */
export async function formOf(c: Context): Promise<URLSearchParams | undefined> {
  const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') return undefined;
  const bytes = await readCapped(c.req.raw, FORM_BYTES_MAX);
  return bytes.byteLength > FORM_BYTES_MAX ? undefined : new URLSearchParams(new TextDecoder().decode(bytes));
}

export interface RefusalDeps {
  readonly telemetry: Telemetry;
  readonly newId: () => string;
  /** Browsers reach the console here, when that is not the address of the request. */
  readonly consoleBaseUrl: string | undefined;
}

export interface SessionTraceDeps extends RefusalDeps {
  readonly audit: AuditLog;
  readonly clock: Clock;
}

/** These fields describe the holder of a session. Whether a page is shown to them is decided elsewhere. */
export type SessionHolder = Pick<Visitor, 'caller' | 'session'>;

/** `call` names the page, or what was asked for on it. */
export function noteVisitorRefusal(
  deps: RefusalDeps,
  visitor: SessionHolder,
  reason: RefusalReason,
  call: string,
): void {
  noteRefusal(deps.telemetry, reason, askerOf(deps, visitor, call));
}

/** Notes the beginning or the end of a session with one log line, one count, and one record of the audit. */
export async function noteSession(
  deps: SessionTraceDeps,
  visitor: SessionHolder,
  kind: 'signed-in' | 'signed-out',
): Promise<void> {
  const { telemetry, audit, clock } = deps;
  const call = kind === 'signed-in' ? 'consoleSignIn' : 'consoleSignOut';
  const asker = askerOf(deps, visitor, call);
  noteAccess(telemetry, kind, asker);
  const { request_id } = asker;
  const { client_id, account_id, email } = visitor.caller;
  const received_at = isoTimeOf(clock.now());
  const intent = {
    request_id,
    client_id,
    email,
    account_id,
    ...lifeOf(visitor.caller),
    call,
    received_at,
    resource: {},
    project_id: undefined,
  };
  await audit
    .end(intent, { outcome: 'done', status: 303, duration_ms: 0 })
    .catch((error: unknown) => reportAuditFailure(telemetry, intent, error));
}

function askerOf({ newId }: RefusalDeps, { caller, session }: SessionHolder, call: string): Asker {
  return {
    request_id: newId(),
    call,
    client_id: caller.client_id,
    account_id: caller.account_id,
    token_id: 'token_id' in session ? session.token_id : undefined,
  };
}
