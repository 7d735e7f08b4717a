/**
 * Takes the task of a workflow that waits for a command (`Bridge-Callback`): keeps it before the command is sent, and
 * notes afterwards what became of that. The worker tells the end.
 */

import { inLife, seal } from '../../../shared/callers/seal.ts';
import {
  type Callback,
  type Callbacks,
  TASK_TOKEN_CHARACTERS_MAX,
  tokenSeal,
} from '../../../shared/commands/callbacks.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { type CommandRequest, namedProjectOf } from '../../../shared/upstream/forward.ts';
import { invalid, Problem } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';
import { isQueued, isReadyAwaited } from '../serving/waiting.ts';

export interface CallbackDeps {
  /** The configuration names state machines whose tasks the bridge may end. */
  readonly takesCallbacks: boolean;
  readonly queueKey: () => Promise<Secret>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/** Returns undefined when the request names no callback. Throws `Problem` when it names none that can be told the end. */
export function taskTokenOf(
  { 'bridge-callback': text }: ApiRequest['headers'],
  { takesCallbacks }: CallbackDeps,
  isRead: boolean,
): string | undefined {
  if (text === undefined) return undefined;
  const field = 'header.bridge-callback';
  if (isRead) throw invalid([{ field, reason: 'a read has no end to wait for; send it with a command' }]);
  if (!takesCallbacks)
    throw new Problem('call-closed', {
      detail:
        'This bridge ends no tasks of Step Functions. Its operators name the state machines with callbacks.state_machine_arns in bridge.config.ts. Nothing was sent.',
    });
  const token = /^sfn:([\x21-\x7e]+)$/.exec(text)?.[1] ?? '';
  if (token !== '' && token.length <= TASK_TOKEN_CHARACTERS_MAX) return token;
  const reason = `takes "sfn:" and the task token of the workflow ($$.Task.Token), which has 1 to ${TASK_TOKEN_CHARACTERS_MAX} visible characters and no space`;
  throw invalid([{ field, reason }]);
}

/** Whatever becomes of the request from here on, its task gets an end, if it names one. */
export async function withCallback(
  { queueKey, clock, telemetry }: CallbackDeps,
  callbacks: Callbacks,
  named: { token: string | undefined; command: CommandRequest; prefer: string | undefined },
  pass: () => Promise<ApiAnswer>,
): Promise<ApiAnswer> {
  const { token, command, prefer } = named;
  if (token === undefined) return pass();
  const { requestId, caller, target } = command;
  const projectId = namedProjectOf(command);
  const added = {
    request_id: requestId,
    call: target.id,
    project_ids: projectId === undefined ? [] : [projectId],
    is_queued: isQueued(target.call, prefer),
    awaits_branch: isReadyAwaited(prefer),
    task_token: seal(token, tokenSeal(await queueKey(), inLife(caller.generation, requestId))),
  };
  await callbacks.add(added, clock.now()).catch((cause: unknown) => {
    const detail = 'The bridge could not keep the callback, so it sent nothing. Ask again.';
    throw new Problem('internal', { detail, cause, provesNoWork: true });
  });
  /** A note that is lost costs time: the worker then finds the end in the records. */
  const note = (found: Partial<Callback>) =>
    callbacks.change(requestId, { ...found, noted_until_ms: undefined }).catch((error: unknown) => {
      telemetry.log('warn', 'callback.not_noted', { request_id: requestId, reason: toError(error).name });
    });
  try {
    const answer = await pass();
    return { ...answer, recorded: Promise.all([note(noteOf(answer)), answer.recorded]).then(() => {}) };
  } catch (thrown) {
    await note(noteOfProblem(thrown));
    throw thrown;
  }
}

/** A command that has started nothing has ended with its answer. */
function noteOf({ status, command }: ApiAnswer): Partial<Callback> {
  if (command !== undefined)
    return { command_id: command.id, project_ids: [...command.projectIds], is_queued: command.isQueued };
  if (status < 300) return { outcome: 'succeeded' };
  const reason = `The upstream answered with status ${status}.`;
  return { outcome: status < 500 ? 'refused' : 'unknown', reason };
}

/** The text of a problem has no value of the request in it. */
function noteOfProblem(thrown: unknown): Partial<Callback> {
  if (!(thrown instanceof Problem)) return { outcome: 'unknown', reason: 'The bridge failed.' };
  const { type, provesNoWork, detail: reason, members } = thrown;
  // The first request with the key was carried out, and only its answer was not kept.
  if (type === 'secret-already-issued' && members['operation_ids'] !== undefined)
    return { command_id: String(members['first_request_id']), project_ids: [String(members['project_id'])] };
  if (type === 'secret-already-issued') return { outcome: 'succeeded' };
  return { outcome: provesNoWork && type !== 'outcome-unknown' ? 'refused' : 'unknown', reason };
}
