/**
 * Runs the shell blocks of the README, of the tutorial and of the how-tos as they stand, in a fresh copy of the project, against
 * what `npm start` starts. A block for AWS (`sh on-aws`) is only parsed.
 */

import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const hasJq = spawnSync('jq', ['--version']).status === 0;
const hasAwsCli = spawnSync('aws', ['--version']).status === 0;

function blocksOf(page: string, language: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(/^ *```(.*)\n([\s\S]*?)^ *```$/gm)];
  return blocks.filter(([, info]) => info === language).map(([, , code = '']) => code);
}

let bridge: BridgeOnThisMachine;
let folder: string;

beforeAll(async () => {
  folder = copyOfTheProject();
  bridge = await startBridgeOnThisMachine([]);
}, 180_000);

afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Holds what a clone has, with the packages that `npm ci` has installed here. */
function copyOfTheProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'bridge-clone-'));
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  const files = listed.stdout.split('\0').filter((file) => file !== '' && existsSync(join(ROOT, file)));
  for (const file of files) {
    mkdirSync(join(copy, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(copy, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  // A runner has the command by `npm install --global`.
  mkdirSync(join(copy, 'bin'));
  symlinkSync(join(copy, 'infra/cli/operations-bridge.ts'), join(copy, 'bin/operations-bridge'));
  chmodSync(join(copy, 'infra/cli/operations-bridge.ts'), 0o755);
  return copy;
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a shell as a person does who has set the variables that the page names. */
async function run(script: string, more: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const exported = /aws CLI +(export .*)/.exec(bridge.output())?.[1] ?? 'exit 9';
  const env = {
    ...bridge.environment,
    PATH: `${join(folder, 'bin')}:${join(folder, 'node_modules/.bin')}:${process.env['PATH']}`,
    PROJECT: 'icy-hat-70322459',
    ...more,
  };
  const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', `${exported}\n${script}`], { cwd: folder, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  const code = await new Promise<number | null>((done) => child.on('close', done));
  return { code, output };
}

function settings(): Readonly<Record<string, string>> {
  return { OPERATIONS_BRIDGE_URL: bridge.url, OPERATIONS_BRIDGE_TOKEN: bridge.token };
}

describe('as it stands,', { timeout: 300_000 }, () => {
  test('the first block of the README is what starts the bridge', () => {
    expect(blocksOf('README.md', 'sh')[0]).toBe('npm ci\nnpm start\n');
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(manifest.scripts.start).toBe('node infra/cli/operations-bridge.ts start');
    expect(bridge.output()).toContain('simulated, seed 1, 25 projects, calm');
  });

  test('the second block of the README makes a branch, shows its event, writes a subscription and finds no problem', async () => {
    const { code, output } = await run(blocksOf('README.md', 'sh')[1] ?? 'exit 8');

    expect(output).toContain('"current_state": "init"');
    expect(output).toMatch(/icy-hat-70322459 +branch +ready/);
    expect(readFileSync(join(folder, 'failures.yaml'), 'utf8')).toContain('AWS::SQS::QueuePolicy');
    expect(output).toMatch(/^ok +bus operations-bridge/m);
    expect(code, output).toBe(0);
  });

  test('the README has two shell blocks, and 120 lines at most', () => {
    expect(blocksOf('README.md', 'sh')).toHaveLength(2);
    expect(readFileSync(join(ROOT, 'README.md'), 'utf8').split('\n').length).toBeLessThanOrEqual(121);
  });

  test.each(blocksOf('docs/tutorial.md', 'sh').map((script, place) => [place + 1, script] as const))(
    'block %i of the tutorial runs',
    async (_place, script) => {
      if (script.includes('aws sqs') && !hasAwsCli) return;
      const { code, output } = await run(script);

      expect(code, output).toBe(0);
      if (script.includes('run.mjs')) expect(output).toMatch(/^Branch br-\S+ of \S+ is ready$/m);
      if (script.includes('receive-message'))
        expect(output).toMatch(/\\"detail-type\\":\\"Operation State Changed\\".*\\"new_failures\\":[1-9]/);
    },
  );

  test.each(blocksOf('docs/how-to.md', 'sh').map((script, place) => [place + 1, script] as const))(
    'block %i of the how-tos runs',
    async (_place, script) => {
      const { code, output } = await run(script, settings());

      expect(code, output).toBe(0);
    },
  );

  test('the Python program of the bindings gets the events of this machine', async () => {
    const script = blocksOf('docs/bindings.md', 'sh').find((block) => block.includes('main.py')) ?? 'exit 8';
    const { code, output } = await run(script, settings());

    expect(code, output).toBe(0);
    expect(output.match(/^[a-z_]+ (scheduling|running|finished|failed)$/gm)).toHaveLength(3);
  });

  test.skipIf(!hasJq)(
    'the workflow creates a branch, names it to the steps that follow, and deletes it',
    async () => {
      const [workflow = ''] = blocksOf('docs/how-to.md', 'yaml');
      const { steps } = parse(workflow).jobs.test as { steps: { name?: string; run?: string }[] };
      const script = (name: string) => steps.find((step) => step.name === name)?.run ?? 'exit 8';
      const file = join(folder, 'github-env');
      const created = await run(script('create'), { ...settings(), GITHUB_ENV: file });
      expect(created.code, created.output).toBe(0);
      const [, BRANCH = ''] = /^BRANCH=(br-\S+)$/m.exec(readFileSync(file, 'utf8')) ?? [];

      const deleted = await run(script('delete'), { ...settings(), BRANCH });
      expect(deleted.code, deleted.output).toBe(0);
      expect(deleted.output).toContain('succeeded');
    },
  );

  const AWS_PAGES = ['docs/tutorial.md', 'docs/deploy/deploy.md'];

  test.each(AWS_PAGES.flatMap((page) => blocksOf(page, 'sh on-aws')))(
    'a block for AWS is a script',
    (script) => {
      expect(spawnSync('bash', ['-n', '-c', script]).status).toBe(0);
    },
  );
});
