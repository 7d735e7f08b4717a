/** Starts processes of the engine, and ends them all at once. */

import { spawn } from 'node:child_process';
import { PLAN_VARIABLE } from './plan.ts';

const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutation/engine/vitest.config.ts'];

/** Only the end of a long output says why a process failed. */
const OUTPUT_CHARACTERS_MAX = 20_000;

const running = new Set<number>();

/** Resolves to the end of what the process has printed. Each process leads a group of its own, which ends with it. */
export function runProcess(planFile: string): Promise<string> {
  const env = { ...process.env, [PLAN_VARIABLE]: planFile, NO_COLOR: '1', VITEST: undefined };
  const child = spawn(process.execPath, VITEST, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_CHARACTERS_MAX);
    });
  return new Promise((done, failed) => {
    child.on('error', failed);
    child.on('close', () => {
      if (pid !== undefined) running.delete(pid);
      done(output);
    });
  });
}

export function endProcesses(): void {
  for (const pid of running) process.kill(-pid, 'SIGKILL');
}
