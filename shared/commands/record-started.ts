/** Records the operations that a command started, as its answer lists them. */

import { type RecordCommandDeps, recordCommand } from '../protocol/record-command.ts';
import type { Clock } from '../runtime/clock.ts';
import { AppError, toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { ForwardedAnswer } from '../upstream/forward.ts';
import type { CommandRequest } from './command-request.ts';
import { type FoundOperations, operationsInAnswer } from './operations-in-answer.ts';

export interface RecordStartedDeps {
  readonly recording: RecordCommandDeps;
  readonly telemetry: Telemetry;
}

/** The caller gets the answer after this time at the latest; what is not recorded by then is found by the poller. */
export const RECORD_MS_MAX = 5_000;

export interface Started {
  /** The ids are known at once, from the answer. */
  readonly operationIds: readonly string[];
  /** Settles when the command is recorded, or after `RECORD_MS_MAX`. It never rejects. */
  readonly recorded: Promise<void>;
}

/**
 * Begins to record the operations. When recording fails, the answer to the command is right all the same, and the
 * poller finds the operations later. A command without operations is recorded, too, if it belongs to a project: it has
 * come to its end, which is published.
 */
export function recordStarted(
  deps: RecordStartedDeps,
  request: CommandRequest,
  answer: ForwardedAnswer,
): Started {
  const found = operationsInAnswer(answer, requestedProject(request));
  const operationIds = [...found.byProject.values()].flat().map(({ id }) => id);
  return { operationIds, recorded: record(deps, request, found) };
}

async function record(
  { recording, telemetry }: RecordStartedDeps,
  { requestId, caller, target, traceparent }: CommandRequest,
  { byProject, projectId }: FoundOperations,
): Promise<void> {
  const named = { request_id: requestId, client_id: caller.client_id, call: target.id };
  const sent = { ...named, ...(traceparent !== undefined && { traceparent }) };
  const operationsOf = new Map(projectId === undefined ? byProject : [[projectId, []], ...byProject]);
  const recorded = [...operationsOf].map(([project_id, operations]) =>
    recordCommand(recording, { project_id, ...sent }, operations),
  );
  try {
    await within(Promise.all(recorded), RECORD_MS_MAX, recording.clock);
  } catch (error) {
    const reason = error instanceof AppError ? error.code : toError(error).name;
    telemetry.log('error', 'command.not_recorded', { request_id: requestId, reason });
  }
}

/** Some calls of the specification name their project in the body. */
function requestedProject({ ids, body }: CommandRequest): string | undefined {
  const named = ids['project_id'] ?? body?.['project_id'];
  return typeof named === 'string' ? named : undefined;
}

async function within(task: Promise<unknown>, durationMs: number, clock: Clock): Promise<void> {
  const waiting = new AbortController();
  const late = clock.sleep(durationMs, waiting.signal).then(() => {
    throw new AppError('took_too_long', `Recording takes more than ${durationMs} ms`);
  });
  // The one that loses the race must not become an unhandled rejection.
  task.catch(() => {});
  late.catch(() => {});
  await Promise.race([task, late]).finally(() => waiting.abort());
}
