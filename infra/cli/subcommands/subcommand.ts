/**
 * Makes subcommands out of data: the help, which says what a subcommand does, an example, and what its exit codes
 * mean; the options; and what is asked of the bridge or done without one.
 */

import { writeFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { withoutOrders } from '../../../shared/runtime/foreign-text.ts';
import { EXIT_CODES, UsageError } from '../../process/command.ts';
import { codeOf } from '../../process/operating-system.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { type BridgeClient, createBridgeClient } from '../bridge-client.ts';
import {
  CONNECTION_OPTIONS,
  type ConnectionValues,
  connectionFinder,
  type FindConnection,
} from '../connection.ts';

interface SubcommandText {
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

/**
 * The flags, what they say, and the value without them: an empty list for an option that can be given several times, and the choices for
 * one that must be given and has no other value.
 */
export type OptionRow = readonly [flags: string, says: string, usual?: string | readonly string[] | symbol];

/** Stands in place of the usual value of an option that must be given. */
export const REQUIRED = Symbol('required');

type JsonValues = ConnectionValues & { readonly json?: true };

export interface Asked<Values> extends Surroundings {
  readonly args: readonly string[];
  readonly values: Values & JsonValues;
  readonly find: () => Promise<FindConnection>;
  readonly connect: () => Promise<BridgeClient>;
  /** Prints the value as JSON with `--json`, and its line otherwise. */
  readonly show: (value: unknown, line: string) => void;
}

type CreateSubcommand = (surroundings: Surroundings) => Command;

interface ActingText<Values> extends SubcommandText {
  readonly options: readonly OptionRow[];
  readonly act: (asked: Asked<Values>) => unknown;
}

/** The options of the connection come before all others, unless they stand among them. */
export function asking<Values>(text: ActingText<Values>): CreateSubcommand {
  const [first] = CONNECTION_OPTIONS;
  const isPlaced = first !== undefined && text.options.includes(first);
  return acting({ ...text, options: isPlaced ? text.options : [...CONNECTION_OPTIONS, ...text.options] });
}

/** Makes a subcommand that needs no bridge. */
export function acting<Values>({ options, act, ...text }: ActingText<Values>): CreateSubcommand {
  return (surroundings) => {
    const command = createSubcommand(text);
    for (const row of options) declare(command, row);
    return command.action(async (...given: unknown[]) => {
      // The command itself comes last, and the values of its options before it.
      const [values, args] = [given.at(-2) as Values & JsonValues, given.slice(0, -2) as string[]];
      const find = () => connectionFinder(values, surroundings);
      await act({
        ...surroundings,
        args,
        values,
        find,
        connect: async () => createBridgeClient(await find(), surroundings),
        note: (line) => surroundings.note(withoutOrders(line)),
        show: (value, line) => surroundings.print(values.json ? JSON.stringify(value) : withoutOrders(line)),
      });
    });
  };
}

function declare(command: Command, [flags, says, usual]: OptionRow): void {
  if (usual === REQUIRED) command.addOption(single(flags, says).makeOptionMandatory());
  else if (!Array.isArray(usual)) command.addOption(single(flags, says).default(usual));
  else if (usual.length > 0) command.addOption(new Option(flags, says).choices(usual).makeOptionMandatory());
  else command.option(flags, `${says}; repeatable`, appended);
}

/** Nobody who gives a value twice expects that the second one silently replaces the first. */
function single(flags: string, says: string): Option {
  const option = new Option(flags, says);
  let isGiven = false;
  return option.argParser((text: string) => {
    if (isGiven) throw new UsageError(`${option.long} is given twice, and takes one value.`);
    isGiven = true;
    return text;
  });
}

function appended(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text];
}

/** Each member is a subcommand of the subcommand. */
export function group(text: SubcommandText, members: readonly CreateSubcommand[]): CreateSubcommand {
  return (surroundings) => {
    const command = createSubcommand(text);
    for (const create of members) command.addCommand(create(surroundings));
    return command;
  };
}

/** Writes the file of `--output`. Throws `UsageError` when it exists, or cannot be written. */
export function writeNewFile(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (cause) {
    const fault =
      codeOf(cause) === 'EEXIST' ? 'exists; remove it, or' : `cannot be written (${codeOf(cause)});`;
    throw new UsageError(`--output is "${path}", which ${fault} name another file.`, { cause });
  }
}
