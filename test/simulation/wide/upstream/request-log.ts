/** Records the upstream's traffic, which is part of the truth that the checker reads. */

type Route = 'projects' | 'operations' | 'operation' | 'computes' | 'command' | 'unknown';

export interface LoggedRequest {
  readonly atMs: number;
  /** Names the process that sent the request. */
  readonly by: string;
  readonly isCommand: boolean;
  /** Names what was asked for, also when a fault refused the request before it was looked at. */
  readonly path: string;
  readonly route: Route;
  readonly projectId: string | undefined;
  readonly operationId: string | undefined;
  readonly key: string;
  /** The request asked for this number of rows, from this cursor on. Both are undefined for a list of projects. */
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
  /** Holds the status of the answer, or 0 when none was given. */
  status: number;
  /** Says why the answer differs from what the client asked for. */
  reason: string;
  /** Lists the projects that the page showed, with a row or only by name. */
  shownIds: readonly string[];
  withheldIds: readonly string[];
  unavailableIds: readonly string[];
  /** Lists the operations that have a row on the page. */
  rowIds: readonly string[];
  /** Counts the rows of operations that could not be parsed. */
  malformedCount: number;
  /** Says whether the client received the whole answer. */
  isDelivered: boolean;
}

export function loggedRequest(
  parts: Pick<LoggedRequest, 'atMs' | 'by' | 'isCommand' | 'path' | 'key'>,
): LoggedRequest {
  return {
    ...parts,
    route: 'unknown',
    projectId: undefined,
    operationId: undefined,
    limit: undefined,
    cursor: undefined,
    status: 0,
    reason: '',
    shownIds: [],
    withheldIds: [],
    unavailableIds: [],
    rowIds: [],
    malformedCount: 0,
    isDelivered: false,
  };
}
