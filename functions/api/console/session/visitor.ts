/** Finds out who looks at a page, from the session in the cookie. */

import type { Context } from 'hono';
import type { PerAccount } from '../../../../shared/accounts/per-account.ts';
import type { Caller } from '../../../../shared/callers/authorize.ts';
import { cursorSealOf } from '../../../../shared/callers/sealed-cursor.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { Authenticator } from '../../identity/authenticate.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import { sealedReadModel } from '../../read-model/sealed-read-model.ts';
import { isHttps } from './browser-form.ts';
import { readCookie } from './cookie.ts';
import type { EndedSessions } from './ended-sessions.ts';
import { callerIn, open, type Person, SESSION_COOKIE, type Session } from './session.ts';

export interface VisitorDeps {
  readonly readModels: PerAccount<ReadModel>;
  readonly authenticator: Pick<Authenticator, 'holderOf' | 'living'>;
  /** Returns what the person may do, and undefined when their role exists no more. */
  readonly callerOfPerson: (person: Person) => Caller | undefined;
  readonly endedSessions: Pick<EndedSessions, 'isEnded'>;
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
