/** Who looks at a page, and what they are shown when they may not. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import type { Scope } from '../../../shared/callers/scopes.ts';
import { cursorSealOf } from '../../../shared/callers/sealed-cursor.ts';
import type { AuditLog } from '../../../shared/commands/audit-log.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { ReadModel } from '../bridge/read-model.ts';
import { sealedReadModel } from '../bridge/sealed-read-model.ts';
import type { Authenticator } from '../serving/authenticate.ts';
import { type Asker, noteAccess, noteAuditFailure, noteRefusal } from '../serving/traces.ts';
import type { ToldAlert } from './alert-history.ts';
import type { EndedSessions } from './ended-sessions.ts';
import { type Frame, page } from './layout.ts';
import type { Html } from './parts.ts';
import { isHttps } from './request-parts.ts';
import { callerIn, cookieOf, formKey, open, type Session } from './session.ts';
import { signInPage } from './sign-in-page.ts';
import type { UpstreamViewDeps } from './upstream-view.ts';

export interface ConsoleDeps extends UpstreamViewDeps {
  readonly readModels: ReadonlyMap<string, ReadModel>;
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  /** Sentences about alert channels that take nothing. */
  readonly deafChannels: () => Promise<readonly string[]>;
  readonly alertsOf: (record: OperationRecord) => Promise<readonly ToldAlert[]>;
  readonly authenticator: Authenticator;
  readonly endedSessions: EndedSessions;
  readonly pepper: () => Promise<Secret>;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly busName: string;
  readonly telemetry: Telemetry;
  readonly audit: AuditLog;
}

export interface SignedIn {
  readonly caller: Caller;
  readonly session: Session;
  readonly pepper: Secret;
  readonly model: ReadModel;
}

export type Page = Omit<Frame, 'who' | 'live'> & {
  readonly about?: string;
  readonly status?: 200 | 403 | 404;
};

export type Visitors = ReturnType<typeof createVisitors>;

export function createVisitors(deps: ConsoleDeps) {
  const { clock } = deps;

  const whoIs = async (c: Context): Promise<SignedIn | undefined> => {
    const pepper = await deps.pepper();
    const session = open(cookieOf(c.req.header('cookie'), isHttps(c)) ?? '', pepper, clock.now());
    if (session === undefined || (await deps.endedSessions.isEnded(session.id))) return undefined;
    const caller = await callerOf(session);
    const model = caller && deps.readModels.get(caller.account_id);
    if (caller === undefined || model === undefined) return undefined;
    return { session, caller, pepper, model: sealedReadModel(model, cursorSealOf(caller, pepper)) };
  };

  const signIn = (c: Context, problem?: string) => {
    const { pathname, search } = new URL(c.req.url);
    const next = c.req.method === 'GET' ? `${pathname}${search}` : '/console';
    return c.html(page({ title: 'Sign in', content: signInPage({ next, problem }) }), 401);
  };

  const shown = async (
    c: Context,
    { caller, session, pepper, model }: SignedIn,
    { about, status = 200, ...frame }: Page,
  ) => {
    const live = about === undefined ? undefined : { about, cursor: model.feed.start('now') };
    const mayAudit = caller.scopes.has('audit:read');
    const who = { clientId: caller.client_id, formKey: formKey(session, pepper), mayAudit };
    return c.html(page({ ...frame, who, live }), status);
  };

  const message = (title: string, sentence: string, status: 403 | 404): Page => ({
    title,
    content: simple(title, sentence),
    status,
  });

  /** A page for whoever is signed in; others get the form, with the way back in it. */
  const get = (app: Hono, path: string, build: (c: Context, who: SignedIn) => Promise<Page>) =>
    app.get(path, async (c) => {
      const who = await whoIs(c);
      return who === undefined ? signIn(c) : shown(c, who, await build(c, who));
    });

  const mayRead = (who: SignedIn, accountId: string, projectId?: string): boolean => {
    const { caller } = who;
    const mayReadAny = caller.scopes.has('operations:read');
    const isOwn = caller.account_id === accountId && (projectId === undefined || maySee(caller, projectId));
    if (!mayReadAny || !isOwn)
      noteRefusal(
        deps.telemetry,
        mayReadAny ? 'project-hidden' : 'scope-missing',
        askerOf(who, 'consolePage'),
      );
    return mayReadAny && isOwn;
  };

  const hasScope = (who: SignedIn, scope: Scope, call: string): boolean => {
    const has = who.caller.scopes.has(scope);
    if (!has) noteRefusal(deps.telemetry, 'scope-missing', askerOf(who, call));
    return has;
  };

  const askerOf = ({ caller, session }: Pick<SignedIn, 'caller' | 'session'>, call: string): Asker => ({
    request_id: deps.newId(),
    call,
    client_id: caller.client_id,
    account_id: caller.account_id,
    token_id: 'token_id' in session ? session.token_id : undefined,
  });

  /** Another site may have sent the form, or a page that is older than the session. */
  const refuseForm = (who: SignedIn, call: string) =>
    noteRefusal(deps.telemetry, 'form-refused', askerOf(who, call));

  /** One line, one count, and a record of the audit. */
  const noteSession = async (who: Pick<SignedIn, 'caller' | 'session'>, kind: 'signed-in' | 'signed-out') => {
    const call = kind === 'signed-in' ? 'consoleSignIn' : 'consoleSignOut';
    const asker = askerOf(who, call);
    noteAccess(deps.telemetry, kind, asker);
    const { request_id } = asker;
    const { client_id, account_id } = who.caller;
    const received_at = new Date(clock.now()).toISOString();
    const intent = {
      request_id,
      client_id,
      account_id,
      call,
      received_at,
      resource: {},
      project_id: undefined,
    };
    await deps.audit
      .end(intent, { outcome: 'done', status: 303, duration_ms: 0 })
      .catch((error: unknown) => noteAuditFailure(deps.telemetry, intent, error));
  };

  const nothing = message('Nothing here', 'There is no such page, or your token may not see it.', 404);

  return { whoIs, signIn, shown, message, get, mayRead, hasScope, refuseForm, noteSession, nothing };

  async function callerOf(session: Session): Promise<Caller | undefined> {
    return 'token_id' in session ? deps.authenticator.holderOf(session.token_id) : callerIn(session);
  }
}

export function simple(title: string, sentence: string): Html {
  return html`<h1>${title}</h1><p class="empty">${sentence}</p>`;
}
