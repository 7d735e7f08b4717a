/** `operations-bridge wait` waits for the end of what others started. */

import { within } from '../../process/deadline.ts';
import { EXIT_CODES } from '../../process/exit-codes.ts';
import { parseDuration, UsageError } from '../../process/option-values.ts';
import { type BridgeClient, createBridgeClient } from '../connection/bridge-client.ts';
import { askForBranch, askForCommand, askForOperation } from '../waiting/ask-bridge.ts';
import { exitCodeOf, type Outcome } from '../waiting/outcome.ts';
import { LAST_ANSWER_MS, waitUntil } from '../waiting/wait-until.ts';
import { type Asked, asking } from './asking.ts';

interface WaitValues {
  readonly project?: string;
  readonly timeout: string;
}

export const OUTCOME_CODES = {
  succeeded: 'it succeeded',
  failed: 'it failed',
  refused: 'it was refused, or was withdrawn or expired before it was sent; or see the message',
  unknown: 'it is not known whether the upstream carried it out',
  timed_out: 'it had not ended when the time was over',
  interrupted: 'Ctrl-C came before it ended',
} as const;

export const waitSubcommand = asking<WaitValues>({
  usage: 'wait <kind> <id>',
  summary: 'Waits for the end of an operation, a branch or a command that others started.',
  description:
    'The kind is operation, branch or command. Operations and branches need --project. ' +
    'An operation that failed is waited for, because the upstream may try again. ' +
    'What the bridge does not know yet is waited for, too.',
  examples: [
    'operations-bridge wait operation d6ad21e4-725d-493f-a495-43867ad88d09 --project icy-hat-70322459',
    'operations-bridge wait branch br-yellow-dawn-a5qftt8g --project icy-hat-70322459 --timeout 5m',
  ],
  exitCodes: OUTCOME_CODES,
  options: [
    ['--project <id>', 'the project of the operation, the branch or the command'],
    ['--timeout <d>', 'waits at most this long', '10m'],
    ['--json', 'prints the outcome as JSON'],
  ],
  act: waitForEnd,
});

async function waitForEnd(asked: Asked<WaitValues>): Promise<void> {
  const {
    args: [kind = '', id = ''],
    values,
    clock,
    note,
  } = asked;
  const timeoutMs = parseDuration('timeout', values.timeout);
  const find = await asked.find();
  const onProgress = (sentence: string) => note(`${kind} ${id}: ${sentence}`);
  const outcome = await within(timeoutMs + LAST_ANSWER_MS, asked, (signal) => {
    const client = createBridgeClient(find, { ...asked, signal });
    const ask = questionOf(client, { kind, id, project: values.project });
    return waitUntil({ ask, timeoutMs, clock, signal, onProgress });
  });
  reportOutcome(outcome, asked);
}

function questionOf(
  client: BridgeClient,
  { kind, id, project }: { readonly kind: string; readonly id: string; readonly project: string | undefined },
) {
  if (kind === 'command') return askForCommand(client, id, project);
  if (kind !== 'operation' && kind !== 'branch')
    throw new UsageError(`"${kind}" cannot be waited for; the kind is operation, branch or command.`);
  if (project === undefined)
    throw new UsageError(`--project is missing; it takes the project of the ${kind}.`);
  return kind === 'operation' ? askForOperation(client, project, id) : askForBranch(client, project, id);
}

/** Prints the outcome, and sets the exit code. */
function reportOutcome(outcome: Outcome, { show, signal, exitWith }: Asked<unknown>): void {
  const { kind, state, seen } = outcome;
  show({ outcome: kind, state, seen }, `${kind}: ${state}`);
  const wasInterrupted = kind === 'pending' && signal.aborted;
  exitWith(wasInterrupted ? EXIT_CODES.interrupted : exitCodeOf(outcome));
}
