/**
 * Bundles one function, as it is deployed: one file for its start, and files beside it for what is loaded when it is asked for.
 * Tests load the bundle and a benchmark times it.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { type FunctionName, functionDefinitions } from '../functions.ts';
import { mergeStart } from './merge-start.ts';

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
