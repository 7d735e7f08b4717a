/** Runs the `operations-bridge` command as processes that can be killed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface BridgeCommand {
  readonly child: ChildProcess;
  /** Everything that the process has written. */
  output(): string;
  /** Kills the process at once. */
  kill(): Promise<void>;
  /** Ends the process as Ctrl-C does; resolves to its exit code. */
  stop(): Promise<number | null>;
}

export function startBridgeCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): BridgeCommand {
  const child = spawn(process.execPath, ['infra/cli/operations-bridge.ts', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      written += text;
    });
  const end = async (signal: 'SIGKILL' | 'SIGINT') => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const closed = once(child, 'close') as Promise<[number | null]>;
    child.kill(signal);
    const [code] = await closed;
    return code;
  };
  return {
    child,
    output: () => written,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGINT'),
  };
}
