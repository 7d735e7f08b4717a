/**
 * Puts the subcommands together to the `operations-bridge` command, and runs it as this process: with its streams,
 * its signals and its exit code.
 */

import { Command, CommanderError } from 'commander';
import { EXIT_CODES, type ExitCode, runCommand, UsageError } from '../../process/command.ts';
import { packageVersion } from '../../process/package.ts';
import { processSurroundings, type Surroundings } from '../../process/surroundings.ts';
import { accountsSubcommand } from './accounts.ts';
import { alertsSubcommand } from './alerts.ts';
import { approvalsSubcommand } from './approvals.ts';
import { auditSubcommand } from './audit.ts';
import { completionSubcommand } from './completion.ts';
import { doctorSubcommand } from './doctor.ts';
import { freezeSubcommand } from './freeze.ts';
import { incidentsSubcommand } from './incidents.ts';
import { initSubcommand } from './init.ts';
import { listenSubcommand } from './listen.ts';
import { mutesSubcommand } from './mutes.ts';
import { redriveSubcommand } from './redrive.ts';
import { replaySubcommand } from './replay.ts';
import { runSubcommand } from './run.ts';
import { startSubcommand } from './start.ts';
import { subscribeSubcommand } from './subscribe.ts';
import { testConsumerSubcommand } from './test-consumer.ts';
import { tokensSubcommand } from './tokens.ts';
import { triggerSubcommand } from './trigger.ts';
import { upstreamSubcommand } from './upstream.ts';
import { verifySubcommand } from './verify.ts';
import { waitSubcommand } from './wait.ts';

export function createProgram(surroundings: Surroundings): Command {
  const program = new Command('operations-bridge')
    .description('Events for the asynchronous operations of a control plane that can only be polled.')
    .usage('<subcommand> [options]')
    .version(packageVersion(), '-V, --version', 'prints the version of the package')
    .addHelpText('after', HELP_AFTER);
  for (const create of SUBCOMMANDS) program.addCommand(create(surroundings));
  forEachCommand(program, (command) => {
    command.exitOverride().showSuggestionAfterError();
    command.configureOutput({
      writeOut: (text) => surroundings.print(text.trimEnd()),
      // A fault is thrown as one sentence, which is printed once.
      writeErr: () => {},
      getOutHelpWidth: () => HELP_COLUMNS,
    });
  });
  return program;
}

const SUBCOMMANDS = [
  startSubcommand,
  upstreamSubcommand,
  listenSubcommand,
  runSubcommand,
  waitSubcommand,
  tokensSubcommand,
  accountsSubcommand,
  auditSubcommand,
  approvalsSubcommand,
  freezeSubcommand,
  incidentsSubcommand,
  mutesSubcommand,
  testConsumerSubcommand,
  triggerSubcommand,
  alertsSubcommand,
  subscribeSubcommand,
  initSubcommand,
  doctorSubcommand,
  verifySubcommand,
  redriveSubcommand,
  replaySubcommand,
  completionSubcommand,
];

/** The help has the same lines in every terminal and in the documentation. */
const HELP_COLUMNS = 110;

const HELP_AFTER = `
Every subcommand has --help with an example and its exit codes.

Examples:
  $ operations-bridge start
  $ operations-bridge listen --forward http://127.0.0.1:3000/hook`;

/** Rejects with `UsageError` when the arguments cannot be used, and with what the subcommand rejects with. */
export async function runProgram(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const program = createProgram(surroundings);
  try {
    if (args.length === 0) return program.outputHelp();
    const running = program.parseAsync([...args], { from: 'user' });
    const endsItself = ORDERLY.has(args[0] ?? '');
    await (endsItself ? running : Promise.race([running, secondAfterCtrlC(surroundings)]));
  } catch (error) {
    // Ctrl-C ends what is under way with an error, which is no news to the person who pressed it.
    if (surroundings.signal.aborted) return surroundings.exitWith(EXIT_CODES.interrupted);
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw new UsageError(faultOf(error, program, args), { cause: error });
  }
}

/** These close servers and finish requests in progress, and print a summary. */
const ORDERLY: ReadonlySet<string> = new Set(['start', 'upstream']);

/** A person who has pressed Ctrl-C does not want to wait for an answer that is no longer needed. */
const AFTER_CTRL_C_MS = 800;

/** Rejects soon after Ctrl-C, whatever is still under way. The process ends then. */
function secondAfterCtrlC({ signal }: Surroundings): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = () => setTimeout(() => reject(new Error('stopped by the user')), AFTER_CTRL_C_MS).unref();
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
}

/** The library answers a group without a subcommand, such as `tokens`, by its help, and says nothing that can be shown. */
function faultOf(error: CommanderError, program: Command, args: readonly string[]): string {
  if (error.code !== 'commander.help') return sentenceOf(error);
  const group = program.commands.find((command) => command.name() === args[0]);
  const names = group?.commands.map((command) => command.name()).join(', ');
  return `"${args[0]}" takes one of the subcommands ${names}; --help after it shows an example.`;
}

/** The library's message begins with "error: " in lower case, and can have a suggestion in a second line. */
function sentenceOf({ message }: CommanderError): string {
  const text = message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function forEachCommand(command: Command, act: (command: Command) => void): void {
  act(command);
  for (const child of command.commands) forEachCommand(child, act);
}

export async function runOnThisProcess(args: readonly string[]): Promise<void> {
  let exitCode: ExitCode = EXIT_CODES.succeeded;
  const exitWith = (code: ExitCode) => {
    exitCode = code;
  };
  await runCommand(
    (signal) => runProgram(args, processSurroundings(signal, exitWith)),
    () => exitCode,
  );
}
