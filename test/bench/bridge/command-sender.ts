/**
 * Sends the commands of the workload as the API does: the call to the upstream, then the record of what it has
 * started, with which its events are published. Each request counts against the rate limit that the poller shares.
 */

import { type RecordCommandDeps, recordCommand } from '../../../shared/protocol/record-command.ts';
import { plainOperation } from '../../../shared/upstream/calls/schemas.ts';
import type { RequestBudget } from '../../../shared/upstream/request-budget.ts';
import { createdS, type Workload } from '../world/workload.ts';
import { projectIdOf, type VirtualUpstream } from './virtual-upstream.ts';

export interface CommandSenderDeps {
  readonly recording: RecordCommandDeps;
  /** Counts the requests for the poller. */
  readonly budget: RequestBudget;
  readonly upstream: VirtualUpstream;
  /** Draws how long the call of a command takes, in milliseconds. */
  readonly callMs: () => number;
}

interface PlannedCommand {
  readonly atMs: number;
  readonly project: number;
  readonly place: number;
}

/** Resolves when all commands were sent. */
export async function sendCommands(deps: CommandSenderDeps, workload: Workload): Promise<void> {
  const { clock } = deps.recording;
  for (const command of plannedCommands(workload)) {
    await clock.sleep(command.atMs - clock.now());
    void sendOne(deps, command);
  }
}

async function sendOne(
  { recording, upstream, callMs, budget }: CommandSenderDeps,
  { project, place }: PlannedCommand,
): Promise<void> {
  const project_id = projectIdOf(project);
  const operation = plainOperation(upstream.startCommand(project, place), project_id);
  if (operation === undefined) throw new Error(`The command of ${project_id} started no operation`);
  // The operation begins when half of the call has passed, and the answer takes the other half.
  await recording.clock.sleep(callMs() / 2);
  await budget.take();
  const request_id = `command-${operation.id}`;
  await recordCommand(recording, { project_id, request_id, client_id: 'bench', call: operation.action }, [
    operation,
  ]);
}

/** The earliest command is the first. Commands of the time before the start are history. */
function plannedCommands({ operations, startS, endS }: Workload): readonly PlannedCommand[] {
  return operations
    .flatMap((own, project) =>
      own.flatMap((operation, place) =>
        operation.isCommand ? [{ atMs: Math.ceil(createdS(operation) * 1_000), project, place }] : [],
      ),
    )
    .filter(({ atMs }) => atMs >= startS * 1_000 && atMs < endS * 1_000)
    .toSorted((a, b) => a.atMs - b.atMs);
}
