/** Asks the upstream to carry out one command, and says what became of it. */

import type { CommandRequest } from '../../../shared/commands/command-request.ts';
import { type QueuedCommand, SENDING_MS_MAX } from '../../../shared/commands/queue/queued-command.ts';
import { sendUnkeyed } from '../../../shared/commands/send-command.ts';
import type { Sent } from '../../../shared/commands/send-once.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { LineDeps } from './line-deps.ts';
import { decideSentOutcome, type SentOutcome } from './sent-outcome.ts';

export interface Delivery {
  readonly outcome: SentOutcome;
  /** This is undefined when the bridge failed and not the upstream. */
  readonly sent: Sent | undefined;
}

/** No request of a line repeats itself: a refusal is waited out in the line, where it costs nothing. */
const NO_PATIENCE = { patienceMs: 0 } as const;

const FAILED = 'The bridge failed while it sent the command. The command may have been carried out.';

/** A secret that cannot be read at the moment may be readable then. */
const SECRET_PAUSE_MS = 10_000;

/**
 * The request leaves only in the first half of the time that the command is `sent`: a process that was frozen in between
 * must not send what another process has already given up.
 */
export async function deliver(
  deps: LineDeps,
  command: QueuedCommand,
  request: CommandRequest,
): Promise<Delivery> {
  const { account, clock, telemetry } = deps;
  const lastMs = (command.sent_until_ms ?? 0) - SENDING_MS_MAX / 2;
  let hasLeft = false;
  const maySend = () => {
    const isInTime = clock.now() < lastMs;
    hasLeft ||= isInTime;
    return isInTime;
  };
  const guarded = { ...account, upstream: { ...account.upstream, maySend } };
  try {
    const sent = await sendUnkeyed(telemetry, guarded, request, NO_PATIENCE);
    if (sent.kind === 'answered') await sent.recorded;
    return { outcome: decideSentOutcome(sent, hasLeft, clock.now()), sent };
  } catch (error) {
    const { command_id, project_id } = command;
    telemetry.log('error', 'command.not_sent', { project_id, command_id, reason: toError(error).name });
    return { outcome: outcomeOfFailure(hasLeft), sent: undefined };
  }
}

/** Before the request has left, only a secret can be missing. */
function outcomeOfFailure(hasLeft: boolean): SentOutcome {
  if (hasLeft) return { kind: 'ended', state: 'unknown', reason: FAILED };
  return { kind: 'held', waitingFor: [], pauseMs: SECRET_PAUSE_MS, isLocked: false };
}
