/** Records the operations that a command started, as its answer lists them. */

import type { Operation } from '../core/records/operation.ts';
import { type RecordCommandDeps, recordCommand } from '../protocol/record-command.ts';
import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { operationSchema } from '../upstream/calls/operation-row.ts';
import { parseRows } from '../upstream/calls/schemas.ts';
import type { ForwardedAnswer } from '../upstream/forward.ts';
import type { CommandRequest } from './command-request.ts';

export interface RecordStartedDeps {
  readonly recording: RecordCommandDeps;
  readonly telemetry: Telemetry;
}

/** The caller gets the answer after this time at the latest; what is not recorded by then is found by the poller. */
export const RECORD_MS_MAX = 5_000;

/**
 * Returns the ids of the operations, also when recording them failed. The answer to the command is right all the
 * same, and the poller finds the operations later.
 */
export async function recordStarted(
  { recording, telemetry }: RecordStartedDeps,
  { requestId, caller, target, ids, traceparent }: CommandRequest,
  answer: ForwardedAnswer,
): Promise<readonly string[]> {
  const operations = operationsIn(answer, ids['project_id']);
  const [first] = operations;
  if (first === undefined) return [];
  const command = {
    project_id: first.project_id,
    request_id: requestId,
    client_id: caller.client_id,
    call: target.id,
    ...(traceparent !== undefined && { traceparent }),
  };
  try {
    await within(recordCommand(recording, command, operations), RECORD_MS_MAX, recording.clock);
  } catch (error) {
    telemetry.log('error', 'command.not_recorded', { request_id: requestId, reason: toError(error).name });
  }
  return operations.map(({ id }) => id);
}

/** Returns only operations of one project. A row that cannot be read is left to the poller. */
function operationsIn({ body }: ForwardedAnswer, project: string | undefined): readonly Operation[] {
  try {
    const parsed = JSON.parse(new TextDecoder().decode(body)) as { operations?: unknown } | null;
    if (!Array.isArray(parsed?.operations)) return [];
    const [first] = parsed.operations as readonly { project_id?: unknown }[];
    const projectId = project ?? (typeof first?.project_id === 'string' ? first.project_id : '');
    const { rows } = parseRows(parsed.operations, operationSchema(projectId));
    return rows.filter(({ project_id }) => project_id === projectId);
  } catch {
    return [];
  }
}

async function within(task: Promise<void>, durationMs: number, clock: Clock): Promise<void> {
  const waiting = new AbortController();
  const late = clock.sleep(durationMs, waiting.signal).then(() => {
    throw new Error('Recording takes too long');
  });
  // The one that loses the race must not become an unhandled rejection.
  task.catch(() => {});
  late.catch(() => {});
  await Promise.race([task, late]).finally(() => waiting.abort());
}
