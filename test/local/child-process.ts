/** Runs commands as a person does: in a process of their own, with signals. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { aFolder } from './a-folder.ts';

export interface Command {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  output(): string;
  errors(): string;
  /** Resolves once the output matches; rejects when the command ends without a match. */
  until(pattern: RegExp): Promise<void>;
  /** Resolves with the exit code, or with the signal's name. */
  ended(): Promise<number | string>;
}

function runCommand(script: string, args: readonly string[], env: Record<string, string> = {}): Command {
  return runProgram(process.execPath, [script, ...args], env);
}

/** Runs the `operations-bridge` command. Its home is a folder of its own, so no setting of the machine is read. */
export function runBridgeCommand(args: readonly string[], env: Record<string, string> = {}): Command {
  const home = env['HOME'] ?? aFolder();
  return runCommand('infra/cli/operations-bridge.ts', args, { HOME: home, ...env });
}

/** Kills only this process when the test ends, if it still runs. */
export function runProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Command {
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exit = once(child, 'close') as Promise<[number | null, string | null]>;
  onTestFinished(() => void child.kill('SIGKILL'));

  return {
    child,
    output: () => output,
    errors: () => errors,
    async until(pattern) {
      while (!pattern.test(output)) {
        const hasEnded = await Promise.race([exit.then(() => true), nextOutput(child.stdout)]);
        if (hasEnded && !pattern.test(output))
          throw new Error(
            `The command ended before its output matched ${String(pattern)}: ${output}${errors}`,
          );
      }
    },
    async ended() {
      const [code, signal] = await exit;
      return code ?? signal ?? 'unknown';
    },
  };
}

function nextOutput(stream: Readable): Promise<false> {
  return new Promise((resolve) => stream.once('data', () => resolve(false)));
}
