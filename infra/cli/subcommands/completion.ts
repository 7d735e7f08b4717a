/** `operations-bridge completion` prints what a shell needs to complete the subcommands and their flags, out of the program itself. */

import type { Command } from 'commander';
import { UsageError } from '../../process/command.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { createSubcommand } from './subcommand.ts';

export function completionSubcommand({ print }: Surroundings): Command {
  const command = createSubcommand({
    usage: 'completion <shell>',
    summary: 'Prints the completion of subcommands and flags for bash, zsh or fish.',
    examples: [
      'operations-bridge completion bash > ~/.local/share/bash-completion/completions/operations-bridge',
      'operations-bridge completion fish > ~/.config/fish/completions/operations-bridge.fish',
    ],
  });
  return command
    .option('--json', 'prints the words behind each subcommand as JSON')
    .action((shell: string, { json }: { readonly json?: true }) => {
      const write = SCRIPTS[shell];
      if (write === undefined)
        throw new UsageError(`"${shell}" is no shell with a completion; there are bash, zsh and fish.`);
      const places = command.parent === null ? [] : placesIn(command.parent);
      const words = places.map(
        ({ path, offered }) => [path.join(' '), offered.map(({ word }) => word)] as const,
      );
      print(json ? JSON.stringify(Object.fromEntries(words)) : write(places));
    });
}

/** Behind this path of subcommands, these words are offered. */
interface Place {
  readonly path: readonly string[];
  readonly offered: readonly { readonly word: string; readonly says: string; readonly takesValue: boolean }[];
}

function placesIn(command: Command, path: readonly string[] = []): readonly Place[] {
  const names = command.commands.map((child) => ({
    word: child.name(),
    says: child.summary(),
    takesValue: false,
  }));
  const flags = command.options.map(({ long, description, required }) => ({
    word: long ?? '',
    says: description,
    takesValue: required,
  }));
  const children = command.commands.flatMap((child) => placesIn(child, [...path, child.name()]));
  return [{ path, offered: [...names, ...flags] }, ...children];
}

const SCRIPTS: Readonly<Record<string, (places: readonly Place[]) => string>> = {
  bash: bashScript,
  zsh: (places) =>
    `#compdef operations-bridge\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(places)}`,
  fish: (places) => places.flatMap(fishLines).join('\n'),
};

function bashScript(places: readonly Place[]): string {
  const groups = places.filter(
    ({ path }, index) => path.length === 1 && places[index + 1]?.path.length === 2,
  );
  return `_operations_bridge() {
  local place="" words=""
  if [ "$COMP_CWORD" -gt 1 ]; then place="\${COMP_WORDS[1]}"; fi
  case "$place" in
    ${groups.map(({ path }) => path.join('')).join('|')}) if [ "$COMP_CWORD" -gt 2 ]; then place="$place \${COMP_WORDS[2]}"; fi ;;
  esac
  case "$place" in
${places.map(({ path, offered }) => `    "${path.join(' ')}") words="${offered.map(({ word }) => word).join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _operations_bridge operations-bridge`;
}

function fishLines({ path, offered }: Place): readonly string[] {
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ');
  const others = offered.filter(({ word }) => !word.startsWith('--')).map(({ word }) => word);
  const unseen = others.length === 0 ? '' : `not __fish_seen_subcommand_from ${others.join(' ')}`;
  const when = [seen, unseen].filter((part) => part !== '').join('; and ');
  return offered.map(({ word, says, takesValue }) => {
    const what = word.startsWith('--') ? `-l ${word.slice(2)}${takesValue ? ' -r' : ''}` : `-f -a ${word}`;
    return `complete -c operations-bridge -n '${when}' ${what} -d '${says.replaceAll("'", "\\'")}'`;
  });
}
