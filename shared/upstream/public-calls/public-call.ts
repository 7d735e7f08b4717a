/** Defines what the table says about one call of the public API that the specification does not describe. */

import type { Scope } from '../../callers/scopes.ts';
import type { Method, Reach } from '../calls/call.ts';

/** A call without a scope does not compile, so no call is open by mistake. */
export interface PublicCall {
  /** The path stands under the base URL and has `{name}` for each id. */
  readonly request: `${Method} /${string}`;
  readonly scope: Scope;
  /** The documentation shows this line. */
  readonly summary: string;
  /** When it is absent, the call stays within the project of its path if there is one, and reaches the whole account if there is none. */
  readonly reach?: Reach;
  /** The query has these parameters, separated by spaces. */
  readonly query?: string;
  /**
   * The body has these fields, separated by spaces: `branch.name`, `endpoints[].type` within a list, and `settings.*` for a map of plain
   * values. A caller who is limited to projects may send only these fields, so none of them may name a project.
   */
  readonly fields?: string;
  /** A success has this status, or 200. */
  readonly status?: 201 | 202 | 204;
  /** A `DELETE` of a thing that is already gone succeeds with this status. */
  readonly otherStatus?: 204;
  /** A success answers with nothing, with the bytes of a file, or with JSON when this is absent. */
  readonly answer?: 'nothing' | 'file';
  /**
   * An answer may hold secrets. `connection` stands for connection strings and passwords, which callers with
   * `connection:read` see; `issued` for what the call exists to hand out, which every caller sees who may send the call.
   */
  readonly shows?: 'connection' | 'issued';
  /** The call hands out or revokes keys that the bridge cannot limit: it is closed unless the configuration opens it by name. */
  readonly isClosed?: true;
}

export type PublicCalls = Readonly<Record<string, PublicCall>>;
