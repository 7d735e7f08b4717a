/** Makes subcommands out of data: the help, the options, and what is asked of the bridge or done without one. */

import type { Command } from 'commander';
import type { Surroundings } from '../../process/surroundings.ts';
import { type BridgeClient, createBridgeClient } from '../connection/bridge-client.ts';
import {
  CONNECTION_OPTIONS,
  type ConnectionValues,
  connectionFinder,
  type FindConnection,
} from '../connection/find-connection.ts';
import { createSubcommand, type SubcommandText } from './subcommand.ts';

/** The flags, what they say, and the value without them: a list for an option that can be given several times. */
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
        show: (value, line) => surroundings.print(values.json ? JSON.stringify(value) : line),
      });
    });
  };
}

function declare(command: Command, [flags, says, usual]: OptionRow): void {
  if (usual === REQUIRED) command.requiredOption(flags, says);
  else if (Array.isArray(usual))
    command.option(flags, says, (text: string, before: readonly string[]) => [...before, text], usual);
  else command.option(flags, says, usual as string | undefined);
}

/** Each member is a subcommand of the subcommand. */
export function group(text: SubcommandText, members: readonly CreateSubcommand[]): CreateSubcommand {
  return (surroundings) => {
    const command = createSubcommand(text);
    for (const create of members) command.addCommand(create(surroundings));
    return command;
  };
}

/** The largest page of the bridge. */
const PAGE_MAX = 100;

/**
 * Reads pages until `most` rows were shown, or `pagesMax` pages were read: a page with filters may be empty. Resolves to the
 * number of rows, and to whether there are more.
 */
export async function showPages<Row>(
  { most, pagesMax }: { readonly most: number; readonly pagesMax: number },
  read: (part: object) => Promise<{ readonly rows: readonly Row[]; readonly cursor: string | undefined }>,
  show: (row: Row) => void,
): Promise<{ readonly count: number; readonly hasMore: boolean }> {
  let [count, cursor]: [number, string | undefined] = [0, undefined];
  for (let pages = 0; pages < pagesMax && count < most; pages++) {
    const page = await read({ limit: Math.min(most, PAGE_MAX), cursor });
    for (const row of page.rows.slice(0, most - count)) show(row);
    [count, cursor] = [count + page.rows.length, page.cursor];
    if (cursor === undefined) break;
  }
  return { count, hasMore: cursor !== undefined };
}
