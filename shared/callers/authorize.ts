/** Who a caller is, and whether the caller may send a call. This is decided before the body of a request is read. */

import type { Scope } from './scopes.ts';

export interface Caller {
  /** The name of the caller in commands, events and the audit. */
  readonly client_id: string;
  /** The one account that the caller can reach. */
  readonly account_id: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The projects that the caller may see; undefined: every project of the account. */
  readonly projectIds: ReadonlySet<string> | undefined;
  /** The token was made when the bridge passed on only the calls of its first edition, and its scopes allow no others. */
  readonly isFirstEdition?: true;
  /** When the caller's credentials end, milliseconds since the epoch, if they say so. A session ends with them. */
  readonly endsAtMs?: number;
}

export type Authorization =
  | { readonly kind: 'allowed' }
  /** Answered with a 403 that names the scope, because the caller knows what was asked for. */
  | { readonly kind: 'scope_missing'; readonly scope: Scope }
  /** Answered with a 404, so that unknown and forbidden projects look alike. */
  | { readonly kind: 'project_hidden' };

/** `projectId`: the project that the call is about; undefined when it is about no single project. */
export function authorize(caller: Caller, scope: Scope, projectId: string | undefined): Authorization {
  if (!caller.scopes.has(scope)) return { kind: 'scope_missing', scope };
  if (projectId !== undefined && !maySee(caller, projectId)) return { kind: 'project_hidden' };
  return { kind: 'allowed' };
}

export function maySee({ projectIds }: Caller, projectId: string): boolean {
  return projectIds === undefined || projectIds.has(projectId);
}
