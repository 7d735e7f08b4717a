/** Runs the bridge as `npm start` does, kills and restarts it, and records when it was down. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Outage } from './lateness.ts';

export interface BridgeProcess {
  /** Kills the running process and starts the next one at once. */
  killAndRestart(): Promise<void>;
  /** Stops as Ctrl-C does; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Each outage lasts from a start or a kill to the moment at which the bridge polls. */
  readonly outages: readonly Outage[];
  /** These are the lines of its error output: sentences and stack traces. */
  readonly errors: readonly string[];
  /** Processes that the test did not kill ended with these exit codes. */
  readonly unexpectedEnds: readonly (number | null)[];
  /** Returns the time at which one of the processes had read every project, and infinity until then. */
  readyMs(): number;
}

export interface BridgeProcessOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly dataDir: string;
}

/** Matches the last line before the poller is invoked for the first time. */
const POLLS = /^time +project/;

const ALL_ARE_READ = /(\d+) of \1 projects read/;

export function startBridgeProcess(options: BridgeProcessOptions): BridgeProcess {
  const outages: Outage[] = [];
  const errors: string[] = [];
  const unexpectedEnds: (number | null)[] = [];
  let isStopping = false;
  let readyMs = Number.POSITIVE_INFINITY;
  let child = start();

  return { killAndRestart, stop, outages, errors, unexpectedEnds, readyMs: () => readyMs };

  async function killAndRestart(): Promise<void> {
    const ended = once(child, 'exit');
    const wasRunning = child.exitCode === null && child.signalCode === null;
    child.kill('SIGKILL');
    if (wasRunning) await ended;
    child = start();
  }

  async function stop(): Promise<number | null> {
    isStopping = true;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const ended = once(child, 'close') as Promise<[number | null]>;
    child.kill('SIGINT');
    const [code] = await ended;
    return code;
  }

  function start(): ChildProcess {
    const outage = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    outages.push(outage);
    const { baseUrl, apiKey, dataDir } = options;
    const args = ['infra/cli/operations-bridge.ts', 'start', '--upstream', baseUrl, '--data', dataDir];
    const next = spawn(process.execPath, args, {
      env: { PATH: process.env['PATH'] ?? '', UPSTREAM_API_KEY: apiKey },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    createInterface({ input: next.stdout }).on('line', (line) => {
      if (POLLS.test(line)) outage.toMs = Date.now();
      if (ALL_ARE_READ.test(line)) readyMs = Math.min(readyMs, Date.now());
    });
    createInterface({ input: next.stderr }).on('line', (line) => errors.push(line));
    next.once('exit', (code, signal) => {
      outage.toMs = Math.min(outage.toMs, Date.now());
      if (signal !== 'SIGKILL' && !isStopping) unexpectedEnds.push(code);
    });
    return next;
  }
}
