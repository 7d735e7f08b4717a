/**
 * Packs `operations-bridge`, installs it into an empty project outside of the repository, and uses it there as other people
 * do: the command on both versions of Node, and the simulated service in a test of vitest.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type BridgeEvent, parseBridgeEvent } from '../../infra/packages/events/delivered-event.ts';
import { verifySignature } from '../../infra/packages/events/verify-signature.ts';
import { packPackage, stageBridgePackage } from '../../infra/release/packages.ts';
import type { ProjectManifest } from '../../infra/release/project.ts';
import { ROOT } from '../../infra/release/project.ts';
import { createEmptyProject, withDependencies } from './empty-project.ts';
import { findNode22 } from './node-22.ts';

// A busy machine takes its time to build, to install and to start several processes.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;
/** It was 78 MB while the package was the repository. */
const INSTALLED_BYTES_MAX = 20_000_000;

const workFolder = mkdtempSync(join(tmpdir(), 'bridge-package-'));
const project = createEmptyProject();
const staged = join(workFolder, 'staged');
let tarball = '';

beforeAll(() => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as ProjectManifest;
  stageBridgePackage(staged, manifest);
  mkdirSync(join(workFolder, 'packed'));
  tarball = packPackage(staged, join(workFolder, 'packed'));
  project.install([tarball], withDependencies(['dynalite']));
});

afterAll(() => {
  project[Symbol.dispose]();
  rmSync(workFolder, { recursive: true });
});

/** Starts the installed command with a home of its own, and stops it after the test. */
function startCommand(program: string, home: string, args: readonly string[]): ChildProcess {
  const command = join(project.folder, 'node_modules/.bin/operations-bridge');
  const child = spawn(program, [command, ...args], {
    cwd: project.folder,
    env: { HOME: home, OPERATIONS_BRIDGE_SIGNING_SECRET: SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    const closed = once(child, 'close');
    child.kill('SIGINT');
    await closed;
  });
  return child;
}

/**
 * Resolves when the output has the text. Rejects when the process ends before. The output is read on to its end, because
 * a process whose output is closed fails at its next line.
 */
function outputWith(child: ChildProcess, wanted: string): Promise<void> {
  let output = '';
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (part) => {
      output += String(part);
      if (output.includes(wanted)) resolve();
    });
    child.once('close', () => reject(new Error(`The command ended without "${wanted}":\n${output}`)));
  });
}

/** Serves a hook, and resolves to the first event that it accepts. */
async function startHook() {
  const { promise: firstEvent, resolve, reject } = Promise.withResolvers<BridgeEvent | undefined>();
  const accept = async (request: IncomingMessage) =>
    parseBridgeEvent(verifySignature(await text(request), request.headers, SECRET));
  const server = createServer((request, response) => {
    accept(request).then((event) => {
      response.writeHead(204).end();
      resolve(event);
    }, reject);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, firstEvent };
}

describe.each(['Node 24', 'Node 22'])('%s', (version) => {
  const found =
    version === 'Node 24' ? ({ kind: 'found', program: process.execPath } as const) : findNode22();

  test('runs the bridge, whose first event arrives at a server of mine, signed', async ({ skip }) => {
    if (found.kind === 'missing') return skip(`not checked: ${found.reason}`);
    const home = mkdtempSync(join(workFolder, 'home-'));
    const { url, firstEvent } = await startHook();
    const bridge = startCommand(found.program, home, ['start', '--projects', '5', '--api-port', '0']);
    await outputWith(bridge, 'console');

    const listening = startCommand(found.program, home, ['listen', '--forward', url, '--since', 'beginning']);
    listening.stdout?.resume();

    expect((await firstEvent)?.detail.account_id).toBe('main');
  });

  test('imports the simulated service for tests', ({ skip }) => {
    if (found.kind === 'missing') return skip(`not checked: ${found.reason}`);
    project.write(
      'testing.mjs',
      `import { startUpstream } from 'operations-bridge/testing';
const upstream = await startUpstream({ projects: 2 });
const response = await fetch(upstream.baseUrl + '/projects', { headers: { authorization: 'Bearer ' + upstream.apiKey } });
console.log(response.status, (await response.json()).projects.length);
await upstream.close();
`,
    );

    expect(project.run(found.program, ['testing.mjs'])).toBe('200 2\n');
  });
});

describe('the vitest example of the README', () => {
  const example = () =>
    /```ts\n([\s\S]*?)```/.exec(readFileSync(join(staged, 'README.md'), 'utf8'))?.[1] ?? '';

  test('passes in the empty project', () => {
    project.write('example.test.ts', example());
    symlinkSync(join(ROOT, 'node_modules/vitest'), join(project.folder, 'node_modules/vitest'));

    const report = project.run(process.execPath, [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--maxWorkers',
      '1',
    ]);

    expect(report).toMatch(/2 passed/);
  });

  test.each([
    ['nodenext', { module: 'nodenext' }],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }],
  ])('compiles with modules resolved by %s', (_name, resolution) => {
    project.write('example.test.ts', example());
    const typeRoots = [join(ROOT, 'node_modules/@types')];

    project.compile({
      ...resolution,
      target: 'es2024',
      strict: true,
      noEmit: true,
      types: ['node'],
      typeRoots,
      skipLibCheck: true,
    });
  });
});

test('publint finds nothing to correct', async () => {
  const { messages } = await publint({ pkgDir: staged, strict: true });

  expect(messages).toEqual([]);
});

test('are-the-types-wrong finds only that CommonJS loads the package by import() or as Node 22 does', async () => {
  const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
  if (!analysis.types) throw new Error('The package has no types');
  const kinds = analysis.problems.map((problem) =>
    'resolutionKind' in problem ? `${problem.kind} in ${problem.resolutionKind}` : problem.kind,
  );

  expect(kinds).toEqual(['NoResolution in node10', 'CJSResolvesToESM in node16-cjs']);
});

test(`the package and all that it needs have less than ${INSTALLED_BYTES_MAX / 1_000_000} MB`, () => {
  const files = readdirSync(join(project.folder, 'node_modules'), {
    recursive: true,
    encoding: 'utf8',
    withFileTypes: true,
  });
  const sizes = files
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => statSync(join(parentPath, name)).size);

  expect(sizes.length).toBeGreaterThan(100);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(INSTALLED_BYTES_MAX);
});

test('no file of the package names the folder in which it was built', () => {
  const files = readdirSync(staged, { recursive: true, encoding: 'utf8', withFileTypes: true }).filter(
    (file) => file.isFile(),
  );

  expect(files.length).toBeGreaterThan(10);
  expect(
    files
      .filter(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').includes(ROOT))
      .map(({ name }) => name),
  ).toEqual([]);
});
