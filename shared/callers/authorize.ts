/** Whether a caller may send a call, before anything of its body is read. */

import type { Scope } from './scopes.ts';

export interface Caller {
  /** The name under which commands, events and the audit know it. */
  readonly client_id: string;
  /** The account on whose behalf it calls: one caller, one account. */
  readonly account_id: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Undefined: every project of the bridge. */
  readonly projectIds: ReadonlySet<string> | undefined;
  /** When its credentials end, if it came with ones that say so: a session ends with them. */
  readonly endsAtMs?: number;
}

export type Authorization =
  | { readonly kind: 'allowed' }
  /** 403, naming the scope: the caller knows what it asked for. */
  | { readonly kind: 'scope_missing'; readonly scope: Scope }
  /** 404: unknown and forbidden projects look alike. */
  | { readonly kind: 'project_hidden' };

/** `projectId`: the one that the call is about; undefined when it is about no single project. */
export function authorize(caller: Caller, scope: Scope, projectId: string | undefined): Authorization {
  if (!caller.scopes.has(scope)) return { kind: 'scope_missing', scope };
  if (projectId !== undefined && !maySee(caller, projectId)) return { kind: 'project_hidden' };
  return { kind: 'allowed' };
}

export function maySee({ projectIds }: Caller, projectId: string): boolean {
  return projectIds === undefined || projectIds.has(projectId);
}
