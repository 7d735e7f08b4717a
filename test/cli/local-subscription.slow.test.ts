import { spawn, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

/** Only these tests need the aws CLI. What they show of the local AWS, test/local/aws shows with the SDK. */
const hasAwsCli = spawnSync('aws', ['--version']).status === 0;

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

/** Writes a subscription with the command, and runs it. */
async function subscribe(target: string): Promise<string> {
  const args = ['subscribe', '--commands', '--to', target, '--as', 'cli', '--name', `settled-${target}`];
  const file = await bridge.run(args);
  // Test events have a source of their own.
  const own = file.output.replace('"operations-bridge"]', '"operations-bridge.test"]');
  const { output } = await runScript(own);
  return output;
}

describe.skipIf(!hasAwsCli)('with the aws CLI', { timeout: 180_000 }, () => {
  test('a subscription to a queue that the command has written delivers', async () => {
    expect(await subscribe('sqs')).toMatch(/The rule settled-sqs delivers\.\n$/);
    await bridge.run(['trigger', 'command-settled']);
    const receive = 'aws sqs receive-message --queue-url settled-sqs --wait-time-seconds 20';

    expect((await runScript(receive)).output).toMatch(/\\"detail-type\\":\\"Command Settled\\"/);
  });
});
