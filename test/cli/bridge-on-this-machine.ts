/** Runs `operations-bridge start` for the tests of one file, and other subcommands in this process beside it. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../../infra/cli/subcommands/program.ts';
import { EXIT_CODES } from '../../infra/process/command.ts';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { startBridgeCommand } from '../crash/listen/bridge-command.ts';

export interface Ran {
  readonly code: number;
  readonly output: string;
  readonly notes: string;
  /** The output, parsed as one JSON document. */
  readonly json: () => unknown;
}

export interface RunSettings {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly onNote?: (line: string) => void;
}

/** Runs one subcommand in this process. Rejects with what it rejects with. */
export async function runSubcommand(args: readonly string[], settings: RunSettings = {}): Promise<Ran> {
  const output: string[] = [];
  const notes: string[] = [];
  let code: number = EXIT_CODES.succeeded;
  await runProgram(args, {
    environment: settings.environment ?? {},
    signal: settings.signal ?? new AbortController().signal,
    clock: settings.clock ?? systemClock,
    print: (line) => void output.push(line),
    note(line) {
      notes.push(line);
      settings.onNote?.(line);
    },
    isColoured: false,
    readInput: async () => settings.input ?? '',
    exitWith: (chosen) => {
      code = chosen;
    },
  });
  return {
    code,
    output: output.join('\n'),
    notes: notes.join('\n'),
    json: () => JSON.parse(output.join('\n')),
  };
}

export interface BridgeOnThisMachine extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Everything that `start` has printed. */
  readonly output: () => string;
  run(args: readonly string[], settings?: RunSettings): Promise<Ran>;
}

/** The bridge announces itself within seconds; a machine that is busy with other tests takes longer. */
const READY_MS_MAX = 120_000;

export async function startBridgeOnThisMachine(
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<BridgeOnThisMachine> {
  const home = mkdtempSync(join(tmpdir(), 'bridge-home-'));
  const environment = { HOME: home };
  const command = startBridgeCommand(['start', ...args], { ...variables, ...environment });
  const untilMs = Date.now() + READY_MS_MAX;
  const announced = () => {
    try {
      const file = join(home, '.local/state/operations-bridge/local-run.json');
      return JSON.parse(readFileSync(file, 'utf8')) as { readonly url: string; readonly token: string };
    } catch {
      return undefined;
    }
  };
  while (announced() === undefined) {
    if (Date.now() > untilMs || command.child.exitCode !== null)
      throw new Error(`The bridge did not start: ${command.output()}`);
    await systemClock.sleep(100);
  }
  const { url = '', token = '' } = announced() ?? {};
  return {
    url,
    token,
    environment,
    output: () => command.output(),
    run: (subcommand, settings = {}) =>
      runSubcommand(subcommand, { ...settings, environment: { ...environment, ...settings.environment } }),
    async [Symbol.asyncDispose]() {
      await command.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
