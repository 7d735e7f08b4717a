/** Decides whether a caller may send a call, before the body of the request is read. */

import type { Scope } from './scopes.ts';

export interface Caller {
  /** Commands, events and the audit name the caller by this. */
  readonly client_id: string;
  /** This is the address of a person who signed in at the company's provider. People read it; nothing is allowed by it. */
  readonly email?: string;
  /** The caller can reach this account and no other. */
  readonly account_id: string;
  /**
   * The caller belongs to this life of the account. It is undefined before the account was looked up, for a person or a
   * program to whom the configuration gives the account, whichever life it has.
   */
  readonly generation?: number;
  readonly scopes: ReadonlySet<Scope>;
  /** The caller may see these projects. It is undefined when the caller may see every project of the account. */
  readonly projectIds: ReadonlySet<string> | undefined;
  /**
   * It is true when the token was made while the bridge passed on only the calls of its first edition, and its scopes
   * allow no others.
   */
  readonly isFirstEdition?: true;
  /** The caller's commands wait for locks, and are answered when their operations have ended. */
  readonly settles?: true;
  /**
   * The caller's credentials end at this time in milliseconds since the epoch, if they say so. A session ends with
   * them.
   */
  readonly endsAtMs?: number;
}

export type Authorization =
  | { readonly kind: 'allowed' }
  /** The answer is a 403 that names the scope, because the caller knows what was asked for. */
  | { readonly kind: 'scope_missing'; readonly scope: Scope }
  /** The answer is a 404, so that unknown and forbidden projects look alike. */
  | { readonly kind: 'project_hidden' };

/** `projectId` is the project that the call is about. It is undefined when the call is about no single project. */
export function authorize(caller: Caller, scope: Scope, projectId: string | undefined): Authorization {
  if (!caller.scopes.has(scope)) return { kind: 'scope_missing', scope };
  if (projectId !== undefined && !maySee(caller, projectId)) return { kind: 'project_hidden' };
  return { kind: 'allowed' };
}

export function maySee({ projectIds }: Caller, projectId: string): boolean {
  return projectIds === undefined || projectIds.has(projectId);
}
