/** Writes docs/cli.md from the help of the command, so that the page and the help cannot differ. */

import type { Command } from 'commander';
import { createProgram } from '../subcommands/program.ts';
import type { GeneratedFile } from './event-docs.ts';
import { withSection } from './generated-section.ts';

/** Nothing runs: the program is only asked for its help. */
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
  return [withSection('docs/cli.md', 'subcommands', subcommandsOf(program).map(sectionOf).join('\n\n'))];
}

/** The helper that the library adds itself has no page of its own. */
function subcommandsOf(program: Command): readonly Command[] {
  return program.commands.flatMap((command) =>
    command.commands.length === 0 ? [command] : command.commands,
  );
}

function sectionOf(command: Command): string {
  return `### ${titleOf(command)}\n\n\`\`\`text\n${helpOf(command).trim()}\n\`\`\``;
}

/** A subcommand of a subcommand has both names, as `tokens create`. */
function titleOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
}

/** The part of the help after the options is written, and not returned, by the library. */
function helpOf(command: Command): string {
  const lines: string[] = [];
  command.configureOutput({ writeOut: (text) => void lines.push(text) });
  command.outputHelp();
  return lines.join('');
}
