/** Runs programs with the system's Python beside the example consumer. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../../../infra/release/project.ts';

export const EXAMPLES = join(ROOT, 'docs/examples');

const succeeds = (program: string) => spawnSync('python3', ['-c', program]).status === 0;

/** Why nothing can be checked here, or undefined. */
export const pythonIsMissing = succeeds('') ? undefined : 'not checked: this machine has no python3';

/** Lambda's Python has boto3; this machine may lack it. */
export const boto3IsMissing = succeeds('import boto3')
  ? undefined
  : 'not checked: the Python of this machine has no boto3';

export interface PythonRun {
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
  readonly errors: string;
}

/** The program finds the consumer as `consumer`, and what it is given as `input`. */
export async function runPython(
  program: string,
  input: unknown,
  environment: Readonly<Record<string, string>> = {},
): Promise<PythonRun> {
  const script = `import json, sys\nimport bridge_consumer as consumer\ninput = json.load(sys.stdin)\n${program}`;
  const child = spawn('python3', ['-B', '-c', script], {
    cwd: EXAMPLES,
    env: { ...process.env, ...environment },
  });
  child.stdin.on('error', () => undefined).end(JSON.stringify(input));
  const [output, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null, string | null]>,
  ]);
  return { code, signal, output, errors };
}

/** Returns the JSON that the program prints. Throws with its errors when it fails. */
export async function python(
  program: string,
  input: unknown,
  environment?: Readonly<Record<string, string>>,
): Promise<unknown> {
  const { code, output, errors } = await runPython(program, input, environment);
  if (code !== 0) throw new Error(errors);
  return JSON.parse(output);
}
