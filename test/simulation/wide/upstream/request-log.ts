/** What the upstream remembers of its own traffic: part of the truth that the checker reads. */

export type Route = 'projects' | 'operations' | 'operation' | 'command' | 'unknown';

export interface LoggedRequest {
  readonly atMs: number;
  /** The process that sent it. */
  readonly by: string;
  readonly isCommand: boolean;
  readonly route: Route;
  readonly projectId: string | undefined;
  readonly operationId: string | undefined;
  readonly key: string;
  /** 0: no answer was given. */
  status: number;
  /** Why, when it is not what the client asked for. */
  reason: string;
  /** Project ids with a row, or only by name. */
  shownIds: readonly string[];
  withheldIds: readonly string[];
  unavailableIds: readonly string[];
  /** Rows of operations that could not be parsed. */
  malformedCount: number;
  /** The answer reached the client, whole. */
  isDelivered: boolean;
}

export function loggedRequest(
  parts: Pick<LoggedRequest, 'atMs' | 'by' | 'isCommand' | 'key'>,
): LoggedRequest {
  return {
    ...parts,
    route: 'unknown',
    projectId: undefined,
    operationId: undefined,
    status: 0,
    reason: '',
    shownIds: [],
    withheldIds: [],
    unavailableIds: [],
    malformedCount: 0,
    isDelivered: false,
  };
}
