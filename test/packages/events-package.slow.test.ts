/**
 * Packs `operations-bridge-events`, installs it into an empty project outside of the repository, and compiles, bundles
 * and runs a consumer there, with every Node and every way of resolving modules that the package promises.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { buildSync } from 'esbuild';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { packPackage, stageEventsPackage } from '../../infra/release/packages.ts';
import type { ProjectManifest } from '../../infra/release/project.ts';
import { ROOT } from '../../infra/release/project.ts';
import { createEmptyProject, typescript5, typescript7 } from './empty-project.ts';
import { hoverIn } from './hover.ts';
import { findNode22 } from './node-22.ts';

const CONSUMER = readFileSync(join(ROOT, 'test/packages/consumers/consumer.ts.txt'), 'utf8');
const SAID = readFileSync(join(ROOT, 'test/packages/consumers/consumer.output.txt'), 'utf8');
// A compiler that reads zod's types takes a busy machine a while.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

/** The tarball is about a quarter of it. */
const UNPACKED_BYTES_MAX = 64_000;

const workFolder = mkdtempSync(join(tmpdir(), 'events-package-'));
const project = createEmptyProject();
const staged = join(workFolder, 'staged');
let tarball = '';

beforeAll(() => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as ProjectManifest;
  stageEventsPackage(staged, manifest);
  mkdirSync(join(workFolder, 'packed'));
  tarball = packPackage(staged, join(workFolder, 'packed'));
  project.install([tarball], ['zod', 'standardwebhooks', '@stablelib/base64', 'fast-sha256']);
  project.write('consumer.ts', CONSUMER);
});

afterAll(() => {
  project[Symbol.dispose]();
  rmSync(workFolder, { recursive: true });
});

const strictest = {
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  target: 'es2022',
  // The declarations must not need Node's types. Those of zod need a global `URL`.
  lib: ['es2023', 'dom'],
  types: [],
};

describe.each([
  ['TypeScript 7', typescript7],
  ['TypeScript 5', typescript5],
])('%s', (_name, typescript) => {
  test.each([
    ['nodenext', { module: 'nodenext' }],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }],
  ])('compiles a consumer that resolves modules by %s', (name, resolution) => {
    project.compile({ ...strictest, ...resolution, outDir: `built-${name}` }, typescript);

    expect(statSync(join(project.folder, `built-${name}/consumer.js`)).size).toBeGreaterThan(0);
  });
});

test('refuses a field that an event does not have', () => {
  project.write(
    'mistaken.ts',
    `import type { CommandSettled } from 'operations-bridge-events';\nexport const of = (settled: CommandSettled) => settled.sequence;\n`,
  );

  try {
    expect(() => project.compile({ ...strictest, module: 'nodenext', noEmit: true })).toThrow(
      /Property 'sequence' does not exist on type 'CommandSettled'/,
    );
  } finally {
    rmSync(join(project.folder, 'mistaken.ts'));
  }
});

describe.each(['Node 24', 'Node 22'])('%s', (version) => {
  const found =
    version === 'Node 24' ? ({ kind: 'found', program: process.execPath } as const) : findNode22();

  test('runs the compiled consumer', ({ skip }) => {
    if (found.kind === 'missing') return skip(`not checked: ${found.reason}`);
    project.compile({ ...strictest, module: 'nodenext', outDir: 'built' });

    expect(project.run(found.program, ['--version'])).toMatch(version.replace('Node ', 'v'));
    expect(project.run(found.program, ['built/consumer.js'])).toBe(SAID);
  });

  test.each(['esm', 'cjs'] as const)(
    'runs the consumer as esbuild bundles it for Lambda, as %s',
    (format) => {
      if (found.kind === 'missing') return;
      const outfile = join(project.folder, `bundle.${format === 'esm' ? 'mjs' : 'cjs'}`);
      const banner = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";
      buildSync({
        entryPoints: [join(project.folder, 'consumer.ts')],
        outfile,
        bundle: true,
        minify: true,
        platform: 'node',
        target: 'node22',
        format,
        logLevel: 'error',
        ...(format === 'esm' && { banner: { js: banner } }),
      });

      expect(project.run(found.program, [basename(outfile)])).toBe(SAID);
    },
  );
});

test('a bundle without the check of signatures does not have its library', () => {
  const entry = project.write(
    'parse-only.mjs',
    `export { parseBridgeEvent } from 'operations-bridge-events';\n`,
  );
  const { metafile } = buildSync({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  const kept = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0),
  );

  expect(kept.filter(([path]) => /standardwebhooks|fast-sha256/.test(path))).toEqual([]);
  expect(kept.some(([path]) => path.includes('node_modules/zod'))).toBe(true);
});

test.each([
  ['status);', '(property) OperationStateChanged.status: string', /treat an unknown status as not terminal/],
  ['detail.status', '(property) detail: OperationStateChanged', /^$/],
  ['parseBridgeEvent(1', 'parseBridgeEvent(event: unknown', /Returns undefined when it is not an event/],
])('an editor shows at "%s" a type that people can read, and its meaning', (text, type, meaning) => {
  const file = project.write(
    'hover.ts',
    `import { parseBridgeEvent } from 'operations-bridge-events';
const event = parseBridgeEvent(1);
if (event?.detailType === 'Operation State Changed') console.log(event.detail.status);
`,
  );

  const hover = hoverIn(file, text);

  expect(hover.type).toContain(type);
  expect(hover.documentation).toMatch(meaning);
  rmSync(file);
});

test('the examples of the README compile', () => {
  const readme = readFileSync(join(staged, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const paths = examples.map((text, place) => project.write(`readme-${place}.ts`, text));
  const typeRoots = [join(ROOT, 'node_modules/@types')];

  expect(examples).toHaveLength(2);
  project.compile({
    ...strictest,
    types: ['node'],
    typeRoots,
    skipLibCheck: true,
    module: 'nodenext',
    noEmit: true,
  });
  for (const path of paths) rmSync(path);
});

test('the schemas can be read from the package', () => {
  project.write(
    'schemas.mjs',
    `import schema from 'operations-bridge-events/schemas/operation-state-changed.schema.json' with { type: 'json' };\nconsole.log(schema.title);\n`,
  );

  expect(project.run(process.execPath, ['schemas.mjs'])).toBe('Operation State Changed\n');
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

  // Node 10 and its way of resolving modules knew no `exports`. Node 22 and newer load the package by `require`, too.
  expect(kinds).toEqual(['NoResolution in node10', 'CJSResolvesToESM in node16-cjs']);
});

test(`the package has less than ${UNPACKED_BYTES_MAX / 1_000} kB when it is installed`, () => {
  const installed = join(project.folder, 'node_modules/operations-bridge-events');
  const sizes = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(installed, name)))
    .map((stats) => (stats.isFile() ? stats.size : 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);

  expect(total).toBeGreaterThan(UNPACKED_BYTES_MAX / 2);
  expect(total).toBeLessThan(UNPACKED_BYTES_MAX);
});
