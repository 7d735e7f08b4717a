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
  readonly table: Pick<Table, 'get'>;
  readonly accountId: string;
  /** Takes a permit of the account's rate limit and resolves to 0, or takes none and says for how long there is none. */
  readonly admit: (clientId: string) => Promise<number>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Whoever asks for a made-up project again and again costs a request in this time, and a new project is found soon. */
export const ANSWER_REMEMBERED_MS = MINUTE_MS;

/** The names take some ten kilobytes. A project that was forgotten is asked for again, with a permit. */
const REMEMBERED_MAX = 1_000;

/** The upstream has no cheaper call that is about one project. */
const TARGET = { id: 'listOperations', call: operationCalls.listOperations, isSecret: false };

type Answer = Exclude<ProjectStanding, { kind: 'no_permit' }>;

/** A record in the table says that the bridge knows the project. Only without one the upstream is asked. */
export function createKnownProjects(deps: KnownProjectsDeps): KnownProjects {
  const { table, accountId, admit, clock } = deps;
  /** The oldest answer comes first. */
  const remembered = new Map<string, { readonly answer: Answer; readonly untilMs: number }>();

  return {
    async standingOf(projectId, request, signal) {
      if ((await table.get(projectKey(accountId, projectId))) !== undefined) return { kind: 'known' };
      const last = remembered.get(projectId);
      if (last !== undefined && clock.now() < last.untilMs) return last.answer;
      const delayMs = await admit(request.caller.client_id);
      if (delayMs > 0) return { kind: 'no_permit', delayMs };
      const answer = await ask(deps, projectId, request, signal);
      if (answer === undefined) return { kind: 'known' };
      remembered.delete(projectId);
      remembered.set(projectId, { answer, untilMs: clock.now() + ANSWER_REMEMBERED_MS });
      const [oldest] = remembered.keys();
      if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
      return answer;
    },
  };
}

/** Resolves to undefined when the upstream did not say whether it has the project. */
async function ask(
  deps: ForwardCallDeps,
  projectId: string,
  { requestId }: CommandRequest,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const call = {
    requestId,
    target: TARGET,
    ids: { project_id: projectId },
    query: { limit: 1 },
    body: undefined,
  };
  const result = await forwardCall(deps, call, { patienceMs: 0, signal });
  if (result.kind === 'unanswered') return undefined;
  const { status } = result.answer;
  if (status === 404) return { kind: 'unknown_project' };
  return status < 300 ? { kind: 'known' } : undefined;
}
