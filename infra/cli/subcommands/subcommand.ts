/** Gives every subcommand the same help: what it does, an example, and what its exit codes mean. */

import { Command } from 'commander';
import { EXIT_CODES } from '../../process/exit-codes.ts';

export interface SubcommandText {
  /** The name with its arguments, such as `run <method> <path>`. */
  readonly usage: string;
  readonly summary: string;
  /** Further sentences for the help of this subcommand. */
  readonly description?: string;
  /** Each line is a command that can be typed as it is. */
  readonly examples: readonly string[];
  /** Says when the subcommand ends with which code. Every subcommand ends with 2 for a command line that it cannot use. */
  readonly exitCodes?: Partial<Readonly<Record<keyof typeof EXIT_CODES, string>>>;
}

const USUAL_CODES = {
  succeeded: 'it did what was asked',
  refused: 'the command line, the settings or the connection must be mended, or the call was refused',
} as const;

export function createSubcommand({
  usage,
  summary,
  description,
  examples,
  exitCodes,
}: SubcommandText): Command {
  const meanings: typeof exitCodes = { ...USUAL_CODES, ...exitCodes };
  const codes = Object.entries(EXIT_CODES).flatMap(([name, code]) => {
    const meaning = meanings[name as keyof typeof EXIT_CODES];
    return meaning === undefined ? [] : [`  ${String(code).padEnd(4)} ${meaning}`];
  });
  const [name = '', ...args] = usage.split(' ');
  const command = new Command(name)
    .summary(summary)
    .description([summary, description].filter((text) => text !== undefined).join('\n\n'));
  for (const argument of args) command.argument(argument);
  return command.addHelpText(
    'after',
    ['', 'Examples:', ...examples.map((line) => `  $ ${line}`), '', 'Exit codes:', ...codes].join('\n'),
  );
}
