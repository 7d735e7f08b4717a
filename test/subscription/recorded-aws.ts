/**
 * Runs a script of the AWS CLI with an `aws` that records each call and answers as AWS would, because no service that
 * runs on this machine has every call of these scripts. `script.test.ts` also runs the real `aws`, where it is
 * installed.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface AwsCall {
  /** The service and its operation, as `events put-rule`. */
  readonly name: string;
  /** The options with their values; a value from `file:///dev/stdin` is the document itself. */
  readonly options: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

export interface ScriptRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly calls: readonly AwsCall[];
}

/** Each answer is what `--query` and `--output text` leave of it. A dollar sign begins the name of an option. */
const ANSWERS: Readonly<Record<string, string>> = {
  'events put-rule': 'arn:aws:events:eu-central-1:111122223333:rule/the-bus/$name',
  'events put-targets': '0',
  'sqs create-queue': 'https://sqs.example/111122223333/$queue-name',
  'sqs get-queue-attributes': 'arn-of:$queue-url',
  'sts get-caller-identity': '111122223333',
  'iam create-role': 'arn:aws:iam::111122223333:role/$role-name',
  'events create-connection': 'arn:aws:events:eu-central-1:111122223333:connection/$name',
  'events create-api-destination': 'arn:aws:events:eu-central-1:111122223333:api-destination/the-destination',
  'sns create-topic': 'arn:aws:sns:eu-central-1:111122223333:$name',
};

export function runScript(
  script: string,
  environment: Readonly<Record<string, string>>,
  answers: Readonly<Record<string, string>> = {},
): ScriptRun {
  const folder = mkdtempSync(join(tmpdir(), 'aws-script-'));
  try {
    const [bin, log] = [join(folder, 'bin'), join(folder, 'calls.jsonl')];
    mkdirSync(bin);
    writeProgram(join(bin, 'aws'), awsProgram(log, { ...ANSWERS, ...answers }));
    writeProgram(join(bin, 'sleep'), '');
    const env = { PATH: `${bin}:/usr/bin:/bin`, ...environment };
    const { status, stdout, stderr } = spawnSync('sh', ['-s'], { input: script, env, encoding: 'utf8' });
    const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
    return { status, stdout, stderr, calls: lines.map((line) => JSON.parse(line) as AwsCall) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function writeProgram(path: string, source: string): void {
  writeFileSync(path, `#!${process.execPath}\n${source}`);
  chmodSync(path, 0o755);
}

function awsProgram(log: string, answers: Readonly<Record<string, string>>): string {
  return `
const { appendFileSync, readFileSync } = require('node:fs');
const [service, operation, ...rest] = process.argv.slice(2);
const name = service + ' ' + operation;
const options = {};
for (let index = 0; index < rest.length; index += 2) {
  if (!rest[index].startsWith('--') || rest[index + 1] === undefined) {
    console.error('aws cannot read ' + rest[index]);
    process.exit(252);
  }
  const value = rest[index + 1];
  options[rest[index].slice(2)] = value === 'file:///dev/stdin' ? readFileSync(0, 'utf8') : value;
}
appendFileSync(${JSON.stringify(log)}, JSON.stringify({ name, options, args: rest }) + '\\n');
const answer = ${JSON.stringify(answers)}[name];
if (answer !== undefined) console.log(answer.replaceAll(/\\$([a-z-]+)/g, (_, option) => options[option]));
`;
}
