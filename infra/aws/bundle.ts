/**
 * Bundles one function, as it is deployed: one file for its start, and files beside it for what is loaded when it is asked for.
 * Tests load the bundle and a benchmark times it.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync, type Metafile } from 'esbuild';
import { type FunctionName, functionDefinitions } from '../functions.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Returns the folder, whose `index.mjs` exports `handler`. */
export function bundleFunction(name: FunctionName, outputFolder: string): string {
  const folder = join(outputFolder, name);
  mkdirSync(folder, { recursive: true });
  bundleEntry(join(ROOT, functionDefinitions[name].entry), join(folder, 'index.mjs'), FOR_LAMBDA);
  return folder;
}

interface Bundling {
  readonly alias?: Readonly<Record<string, string>>;
  /** What is imported with `import()` becomes a file of its own, whose name says its content. */
  readonly splitting?: boolean;
}

/** Replaces the SDK's chain of credential providers, because Lambda passes credentials in the environment, and builds schemas later. */
export const FOR_LAMBDA: Bundling = {
  alias: {
    '@aws-sdk/credential-provider-node': join(import.meta.dirname, 'lambda-credentials.ts'),
    zod: join(import.meta.dirname, 'lambda-schemas.ts'),
    // The replacement itself imports zod under this name.
    'zod/v4': fileURLToPath(import.meta.resolve('zod/v4')),
  },
  splitting: true,
};

export function bundleEntry(entry: string, outfile: string, { alias = {}, splitting }: Bundling = {}): void {
  const { metafile } = buildSync({
    entryPoints: [{ in: entry, out: basename(outfile, extname(outfile)) }],
    outdir: dirname(outfile),
    outExtension: { '.js': extname(outfile) },
    splitting: splitting === true,
    metafile: true,
    chunkNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // The SDK's module builds are smaller and load faster than the CommonJS ones.
    mainFields: ['module', 'main'],
    alias: { ...alias },
    // DDSketch loads this package only to write its own binary format, which the bridge does not use.
    external: ['protobufjs'],
    logLevel: 'error',
  });
  for (const file of Object.keys(metafile.outputs)) provideRequire(file);
  if (splitting === true) mergeStart(dirname(outfile), basename(outfile), metafile);
}

const REQUIRE = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);\n";

/** The bundler puts a function with this message into each file in which code calls `require` for something that is not bundled. */
const CALLS_REQUIRE = 'Dynamic require of';

/** Some dependencies still load Node's own modules by `require`, which a module does not have. Each one that is made costs a start a tenth of a millisecond. */
function provideRequire(file: string): void {
  const code = readFileSync(file, 'utf8');
  if (code.includes(CALLS_REQUIRE)) writeFileSync(file, REQUIRE + code);
}

/** Keyed by file names in the folder of the bundle. */
type Outputs = ReadonlyMap<string, Metafile['outputs'][string]>;

/**
 * What is loaded on demand then imports from the entry what it shares with the start. The entry is loaded already at that
 * time, so nothing is evaluated twice.
 */
function mergeStart(folder: string, entry: string, metafile: Metafile): void {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, each]) => [basename(path), each]));
  const start = filesOfStart(outputs, entry);
  const shared = [...start].filter((file) => file !== entry);
  if (shared.length === 0) return;
  const onDemand = [...outputs.keys()].filter((file) => !start.has(file));
  writeEntry(folder, entry, { outputs, shared, onDemand });
  for (const file of onDemand) importFromEntry(join(folder, file), entry, shared);
  for (const file of shared) rmSync(join(folder, file));
}

/** Returns the entry and all files that it imports, directly or not, but for those of `import()`. */
function filesOfStart(outputs: Outputs, file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { path, kind } of outputs.get(file)?.imports ?? [])
    if (kind === 'import-statement' && outputs.has(basename(path)))
      filesOfStart(outputs, basename(path), seen);
  return seen;
}

interface Files {
  readonly outputs: Outputs;
  readonly shared: readonly string[];
  readonly onDemand: readonly string[];
}

function writeEntry(folder: string, entry: string, { outputs, shared, onDemand }: Files): void {
  const exported = shared.flatMap((file, place) => {
    const names = (outputs.get(file)?.exports ?? []).map((name) => `${name} as ${exportedAs(place, name)}`);
    return names.length === 0 ? [] : [`export { ${names.join(', ')} } from './${file}';`];
  });
  buildSync({
    stdin: { contents: [`export * from './${entry}';`, ...exported].join('\n'), resolveDir: folder },
    absWorkingDir: folder,
    outfile: join(folder, entry),
    allowOverwrite: true,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    external: ['protobufjs', ...onDemand.map((file) => `./${file}`)],
    logLevel: 'error',
  });
}

/** Two files may export different things under one name. */
function exportedAs(place: number, name: string): string {
  return `s${place}_${name}`;
}

/** The bundler writes each import of another file as one statement of this form. */
const IMPORT = /import(?:\{([^}]*)\}from)?"\.\/([\w.-]+\.mjs)"/g;

function importFromEntry(path: string, entry: string, shared: readonly string[]): void {
  const text = readFileSync(path, 'utf8').replaceAll(IMPORT, (statement, names: string | undefined, file) => {
    const place = shared.indexOf(file);
    if (place === -1) return statement;
    if (names === undefined) return `import"./${entry}"`;
    const renamed = names.split(',').map((each) => {
      const [name = '', local = name] = each.trim().split(' as ');
      return `${exportedAs(place, name)} as ${local}`;
    });
    return `import{${renamed.join(',')}}from"./${entry}"`;
  });
  const left = shared.find((file) => text.includes(`"./${file}"`));
  if (left !== undefined) throw new Error(`${basename(path)} imports ${left} in a form that is not known`);
  writeFileSync(path, text);
}
