/** What the table says about one call of the public API that the specification does not describe. */

import type { Scope } from '../../callers/scopes.ts';
import type { Method, Reach } from '../calls/call.ts';

/** A call without a scope does not compile, so no call is open by mistake. */
export interface PublicCall {
  /** The method, and the path under the base URL with `{name}` for each id. */
  readonly request: `${Method} /${string}`;
  readonly scope: Scope;
  /** One line for documentation. */
  readonly summary: string;
  /** Absent: the call stays within the project of its path if there is one, and reaches the whole account if there is none. */
  readonly reach?: Reach;
  /** The names of the query parameters, separated by spaces. */
  readonly query?: string;
  /**
   * The fields of the body, separated by spaces: `branch.name`, `endpoints[].type` within a list, and `settings.*` for a map of plain
   * values. A caller who is limited to projects may send only these fields, so none of them may name a project.
   */
  readonly fields?: string;
  /** The status of a success. Default: 200. */
  readonly status?: 201 | 202 | 204;
  /** A second status of a success: `DELETE` of a thing that is already gone is a 204. */
  readonly otherStatus?: 204;
  /** What a success answers with: nothing, or the bytes of a file. Absent: JSON. */
  readonly answer?: 'nothing' | 'file';
  /**
   * Which secrets an answer may hold. `connection`: connection strings and passwords, which callers with `connection:read` see. `issued`:
   * what the call exists to hand out, which every caller sees who may send the call. Absent: none that the bridge knows of.
   */
  readonly shows?: 'connection' | 'issued';
  /** The call hands out or revokes keys that the bridge cannot limit: it is closed unless the configuration opens it by name. */
  readonly isClosed?: true;
}

export type PublicCalls = Readonly<Record<string, PublicCall>>;
