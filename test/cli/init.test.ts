/** `operations-bridge init` asks and writes a configuration, which the deployment accepts. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseBridgeConfig, refuseIfUseless } from '../../infra/bridge-config.ts';
import { runProgram } from '../../infra/cli/subcommands/program.ts';
import { systemClock } from '../../shared/runtime/clock.ts';

const ROOT = process.cwd();
const KEY = 'arn:aws:secretsmanager:eu-central-1:210987654321:secret:operations-bridge/upstream-key-AbCdEf';
const PEPPER =
  'arn:aws:secretsmanager:eu-central-1:210987654321:secret:operations-bridge/token-pepper-AbCdEf';
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'init-'));
  mkdirSync(join(folder, 'infra'));
  const definition = pathToFileURL(join(ROOT, 'infra/bridge-config.ts')).href;
  writeFileSync(join(folder, 'infra/bridge-config.ts'), `export * from '${definition}';`);
  process.chdir(folder);
});

afterEach(() => {
  process.chdir(ROOT);
  rmSync(folder, { recursive: true });
});

/** Answers the questions in their order. Without answers nobody is at the terminal. */
async function init(args: readonly string[], answers?: readonly string[]): Promise<readonly string[]> {
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return answers?.[asked.length - 1] ?? '';
  };
  await runProgram(['init', ...args], {
    environment: {},
    signal: new AbortController().signal,
    clock: systemClock,
    print: () => {},
    note: () => {},
    isColoured: false,
    readInput: async () => '',
    exitWith: () => {},
    ...(answers && { ask }),
  });
  return asked;
}

test('asks six questions, one of them again after an answer of no use, and writes what can be deployed', async () => {
  const asked = await init([], [KEY, 'no ARN', PEPPER, 'oncall@bridge.test', '', '', '']);

  expect(new Set(asked)).toHaveLength(6);
  expect(asked).toHaveLength(7);
  const { default: source } = await import(pathToFileURL(join(folder, 'bridge.config.ts')).href);
  const config = parseBridgeConfig(source, 'bridge.config.ts');
  expect(() => refuseIfUseless(source, config, 'bridge.config.ts')).not.toThrow();
  expect(config.accounts[0]?.upstream_base_url).toBe('https://console.neon.tech/api/v2');
});

test('asks nothing that an option has answered, and overwrites no file', async () => {
  const options = ['--key-secret', KEY, '--pepper-secret', PEPPER, '--email', 'oncall@bridge.test'];
  await init([...options, '--slack-secret', KEY.replace('upstream-key', 'slack')]);

  expect(readFileSync('bridge.config.ts', 'utf8')).toContain('slack_webhook_secret_arn');
  await expect(init(options)).rejects.toThrow(/bridge\.config\.ts exists already/);
  await expect(init(['--output', 'b.ts'])).rejects.toThrow(
    /no terminal to ask at, so --key-secret must be given; it takes the complete ARN/,
  );
  await expect(init([...options, '--output', 'b.ts', '--name', 'B'])).rejects.toThrow(/--name takes 2 to 31/);
});

test('the example, and a configuration that reaches nobody, cannot be deployed', async () => {
  const { default: example } = await import('../../bridge.config.example.ts');
  const parsed = parseBridgeConfig(example, 'the example');
  expect(() => refuseIfUseless(example, parsed, 'the example')).toThrow(
    /accounts\.0\.upstream_base_url: is a value of the example; put in your own\n.*accounts\.0\.key_secret_arn/,
  );
  const deaf = {
    accounts: [{ account_id: 'a', upstream_base_url: 'https://a.b/api/v2', key_secret_arn: KEY }],
    alerts: { policy: { routes: [] } },
    api: { token_pepper_secret_arn: PEPPER },
  };
  expect(() => refuseIfUseless(deaf, parseBridgeConfig(deaf, 'x'), 'x')).toThrow(
    /alerts: reach nobody.*\n.*alerts\.policy\.routes: is empty/,
  );
});
