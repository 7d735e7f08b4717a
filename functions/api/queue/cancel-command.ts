/** Withdraws a command while it is queued. */

import { leaveLine } from '../../../shared/commands/queue/queued-command.ts';
import type { Wakes } from '../../../shared/commands/queue/wakes.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { Problem } from '../serving/problem.ts';
import type { AccountQueue } from './account-queue.ts';
import type { FoundCommand } from './command-view.ts';

export interface CancelDeps {
  readonly wakes: Wakes;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly newId: () => string;
}

/**
 * The write that cancels is the one that the worker's own first write competes with, so a cancelled command was not sent
 * and is not sent. The worker then takes the entry out of the line and publishes the end. Throws `Problem` `not-in-line`.
 */
export async function cancelCommand(
  { wakes, clock, telemetry, newId }: CancelDeps,
  { store }: AccountQueue,
  { command }: FoundCommand,
): Promise<FoundCommand> {
  const cancelled = leaveLine(command, { state: 'cancelled' }, clock.now());
  const isQueued = command.state === 'queued';
  if (!isQueued || (await store.changeCommand(cancelled)) === 'conflict') throw notInLine();
  const { account_id, project_id, command_id } = command;
  await wakes.send([{ account_id, project_id, id: newId() }]).catch((error: unknown) => {
    telemetry.log('error', 'wake.not_sent', { project_id, command_id, reason: toError(error).name });
  });
  return { command: cancelled, record: undefined, line: undefined };
}

function notInLine(): Problem {
  return new Problem('not-in-line', {
    detail: 'The command was sent, or has ended. Look at its state; what was sent cannot be withdrawn.',
  });
}
