import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

/** Only this test needs the aws CLI. What it shows of the local AWS, test/local/aws shows with the SDK. */
const hasAwsCli = spawnSync('aws', ['--version']).status === 0;

const script = [...readFileSync('README.md', 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)]
  .map(([, code = '']) => code)
  .find((code) => code.includes('sqs create-queue'));

let bridge: BridgeOnThisMachine;

beforeAll(async () => {
  bridge = await startBridgeOnThisMachine(['--projects', '2', '--seed', '1']);
});

afterAll(() => bridge[Symbol.asyncDispose]());

/** Runs a shell as a person does who has pasted the line of variables. */
async function runScript(text: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const exported = /aws CLI +(export .*)/.exec(bridge.output())?.[1] ?? 'exit 9';
  const environment = {
    ...bridge.environment,
    PATH: `${process.cwd()}/node_modules/.bin:${process.env['PATH']}`,
  };
  const child = spawn('bash', ['-e', '-c', `${exported}\n${text}`], { env: environment });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, output };
}

describe.skipIf(!hasAwsCli)('the lines of the README that try a subscription', () => {
  test('deliver a failed attempt into a queue, as they stand', { timeout: 120_000 }, async () => {
    const { code, output } = await runScript(script ?? 'exit 8');

    expect(output).toContain('"FailedEntryCount": 0');
    expect(output).toMatch(/on the bus, with the source operations-bridge\.test/);
    // An event of the simulated upstream can be the first that arrives.
    expect(output).toMatch(/\\"detail-type\\":\\"Operation State Changed\\".*\\"new_failures\\":[1-9]/);
    expect(code).toBe(0);
  });
});
