/** Knows whether the upstream has a project, so that no command waits in line for one that does not exist. */

import type { CommandRequest } from '../../../shared/commands/command-request.ts';
import { type ForwardCallDeps, forwardCall } from '../../../shared/commands/forward-call.ts';
import { MINUTE_MS } from '../../../shared/core/time/durations.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import { operationCalls } from '../../../shared/upstream/calls/operations.ts';

export type ProjectStanding =
  /** The upstream has the project, or could not say whether it has. */
  | { readonly kind: 'known' }
  | { readonly kind: 'unknown_project' }
  /** The bridge does not know the project, and the caller has no permit with which the upstream could be asked. */
  | { readonly kind: 'no_permit'; readonly delayMs: number };

export interface KnownProjects {
  /** The upstream is asked with a permit of the caller. Rejects when the table does. */
  standingOf(projectId: string, request: CommandRequest, signal: AbortSignal): Promise<ProjectStanding>;
}

export interface KnownProjectsDeps extends ForwardCallDeps {
  readonly table: Table;
  readonly accountId: string;
  /** Takes a permit of the account's rate limit and resolves to 0, or takes none and says for how long there is none. */
  readonly admit: (clientId: string) => Promise<number>;
  readonly clock: Clock;
}

/**
 * A project that the upstream has is asked for once in this time. That it has none is not remembered: a replica that lags says so of a new
 * project, and each question takes a permit of its caller.
 */
export const KNOWN_MS = MINUTE_MS;

/** The names take some ten kilobytes. A project that was forgotten is asked for again, with a permit. */
const REMEMBERED_MAX = 1_000;

/** The upstream has no cheaper call that is about one project. */
const TARGET = { id: 'listOperations', call: operationCalls.listOperations, isSecret: false };

/** A record in the table says that the bridge knows the project. Only without one the upstream is asked. */
export function createKnownProjects(deps: KnownProjectsDeps): KnownProjects {
  const { table, accountId, admit, clock } = deps;
  /** The oldest answer comes first. */
  const knownUntilMs = new Map<string, number>();

  const remember = (projectId: string) => {
    knownUntilMs.delete(projectId);
    knownUntilMs.set(projectId, clock.now() + KNOWN_MS);
    const [oldest] = knownUntilMs.keys();
    if (knownUntilMs.size > REMEMBERED_MAX && oldest !== undefined) knownUntilMs.delete(oldest);
  };

  return {
    async standingOf(projectId, request, signal) {
      if ((await table.get(projectKey(accountId, projectId))) !== undefined) return { kind: 'known' };
      if (clock.now() < (knownUntilMs.get(projectId) ?? 0)) return { kind: 'known' };
      const delayMs = await admit(request.caller.client_id);
      if (delayMs > 0) return { kind: 'no_permit', delayMs };
      const status = await statusOf(deps, projectId, request, signal);
      if (status === 404) return { kind: 'unknown_project' };
      if (status !== undefined && status < 300) remember(projectId);
      return { kind: 'known' };
    },
  };
}

/** Resolves to the status of the upstream's answer, or to undefined when there was none. */
async function statusOf(
  deps: ForwardCallDeps,
  projectId: string,
  { requestId }: CommandRequest,
  signal: AbortSignal,
): Promise<number | undefined> {
  const call = {
    requestId,
    target: TARGET,
    ids: { project_id: projectId },
    query: { limit: 1 },
    body: undefined,
  };
  const result = await forwardCall(deps, call, { patienceMs: 0, signal });
  return result.kind === 'unanswered' ? undefined : result.answer.status;
}
