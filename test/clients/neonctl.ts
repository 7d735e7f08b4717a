/** Runs the vendor's command line unmodified, as a person does: another host and another key are all that it is given. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

const require = createRequire(import.meta.url);
const PROGRAM = require.resolve('neonctl/bin/cli.js');
const GUARD = new URL('./loopback-only.ts', import.meta.url).href;

/** Compiled code that the starts share makes each of them a third cheaper. */
const COMPILE_CACHE = mkdtempSync(join(tmpdir(), 'neonctl-compiled-'));
afterAll(() => rmSync(COMPILE_CACHE, { recursive: true, force: true }));

/** A start takes about a second of a free core, and a busy machine takes several times as long. */
const RUN_MS_MAX = 60_000;

interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Neonctl {
  /** The program runs in this empty folder, which is also its home. */
  readonly folder: string;
  run(...args: readonly string[]): Promise<Outcome>;
  /** Runs a command that must succeed, and reads its JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  json(...args: readonly string[]): Promise<any>;
  /** Runs a command that must succeed, and returns the table that a person sees. */
  table(...args: readonly string[]): Promise<string>;
}

export function openNeonctl({ baseUrl, key }: { readonly baseUrl: string; readonly key: string }): Neonctl {
  const folder = mkdtempSync(join(tmpdir(), 'neonctl-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const environment = {
    HOME: folder,
    PATH: process.env['PATH'],
    NO_COLOR: '1',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    NODE_OPTIONS: `--import=${GUARD}`,
    NEON_API_HOST: baseUrl,
    NEON_API_KEY: key,
  };
  const run = (...args: readonly string[]) =>
    new Promise<Outcome>((resolve) => {
      const options = { cwd: folder, env: environment, timeout: RUN_MS_MAX };
      execFile(process.execPath, [PROGRAM, ...args], options, (error, stdout, stderr) => {
        resolve({ exitCode: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  const succeed = async (args: readonly string[]) => {
    const { exitCode, stdout, stderr } = await run(...args, '--no-analytics');
    if (exitCode === 0 && !stderr.includes('loopback-only:')) return stdout;
    throw new Error(`neonctl ${args.join(' ')} ended with ${exitCode}: ${stderr}${stdout}`);
  };
  return {
    folder,
    run,
    json: async (...args) => JSON.parse(await succeed([...args, '--output', 'json'])),
    table: (...args) => succeed([...args, '--output', 'table']),
  };
}
