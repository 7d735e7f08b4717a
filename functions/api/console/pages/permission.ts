/** Decides whether a visitor may see a page. A refusal leaves a log line and a count. */

import { maySee } from '../../../../shared/callers/authorize.ts';
import type { Scope } from '../../../../shared/callers/scopes.ts';
import type { Visitor } from '../session/visitor.ts';
import { noteVisitorRefusal, type RefusalDeps } from '../session/visitor-traces.ts';

/** `projectId` names the project that the page is about. Without it the page is about the account. */
export function checkReading(
  deps: RefusalDeps,
  visitor: Visitor,
  accountId: string,
  projectId?: string,
): boolean {
  const { caller } = visitor;
  const mayReadAny = caller.scopes.has('operations:read');
  const isOwn = caller.account_id === accountId && (projectId === undefined || maySee(caller, projectId));
  if (mayReadAny && isOwn) return true;
  noteVisitorRefusal(deps, visitor, mayReadAny ? 'project-hidden' : 'scope-missing', 'consolePage');
  return false;
}

/** `call` names the page or the action that needs the scope. */
export function checkScope(deps: RefusalDeps, visitor: Visitor, scope: Scope, call: string): boolean {
  if (visitor.caller.scopes.has(scope)) return true;
  noteVisitorRefusal(deps, visitor, 'scope-missing', call);
  return false;
}
