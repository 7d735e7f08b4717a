/** Writes the list of subcommands in docs/cli.md from the command itself, so that the page and its help cannot differ. */

import type { Command, Option } from 'commander';
import { createProgram } from '../subcommands/program.ts';
import { type GeneratedFile, withSection } from './generated-section.ts';

/** The page says once what these options mean. */
const COMMON = ['--url', '--token-stdin', '--json'];

/** Nothing runs: the program is only asked for its subcommands. */
export function cliDocs(): readonly GeneratedFile[] {
  const program = createProgram({
    environment: {},
    signal: new AbortController().signal,
    clock: { now: () => 0, sleep: async () => {} },
    print: () => {},
    note: () => {},
    isColoured: false,
    readInput: async () => '',
    exitWith: () => {},
  });
  const shown = new Set<string>();
  const sections = program.commands.flatMap((command) =>
    command.commands.length === 0
      ? [sectionOf(command, shown)]
      : command.commands.map((part) => sectionOf(part, shown)),
  );
  return [withSection('docs/cli.md', 'subcommands', sections.join('\n\n'))];
}

/** A subcommand of a subcommand has both names, as `tokens create`. An option that its sisters have, too, is explained once. */
function sectionOf(command: Command, shown: Set<string>): string {
  const { parent } = command;
  const family = parent?.parent ? `${parent.name()} ` : '';
  const options = command.options.filter(({ long, hidden }) => !hidden && !COMMON.includes(long ?? ''));
  const isShown = (option: Option) => family !== '' && shown.has(family + lineOf(option));
  const repeated = options.filter(isShown).map(({ flags }) => `\`${flags}\``);
  const lines = options.filter((option) => !isShown(option)).map(lineOf);
  for (const line of lines) shown.add(family + line);
  if (repeated.length > 0) lines.push(`- as above: ${repeated.join(', ')}`);
  const args = argumentsOf(command);
  const usage = args === '' ? '' : `\`${family}${command.name()} ${args}\`: `;
  return [`### ${family}${command.name()}`, `${usage}${command.summary()}`, lines.join('\n')]
    .filter((part) => part !== '')
    .join('\n\n');
}

function argumentsOf(command: Command): string {
  return command.registeredArguments.map((argument) => `<${argument.name()}>`).join(' ');
}

function lineOf({ flags, description, defaultValue }: Option): string {
  const preset = defaultValue === undefined || `${defaultValue}` === '' ? '' : ` (default: ${defaultValue})`;
  return `- \`${flags}\`: ${description}${preset}`;
}
