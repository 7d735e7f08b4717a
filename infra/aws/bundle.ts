/** One function as one file, as it is deployed: also for the tests that load it and the benchmark that times it. */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { type FunctionName, functionDefinitions } from '../functions.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Returns the folder; its `index.mjs` exports `handler`. */
export function bundleFunction(name: FunctionName, outputFolder: string): string {
  const folder = join(outputFolder, name);
  mkdirSync(folder, { recursive: true });
  bundleEntry(join(ROOT, functionDefinitions[name].entry), join(folder, 'index.mjs'), FOR_LAMBDA);
  return folder;
}

/** What stands in another module's place where credentials come in the environment. */
export const FOR_LAMBDA = {
  '@aws-sdk/credential-provider-node': join(import.meta.dirname, 'lambda-credentials.ts'),
} as const;

export function bundleEntry(
  entry: string,
  outfile: string,
  alias: Readonly<Record<string, string>> = {},
): void {
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // The module builds of the SDK: smaller and sooner loaded than the CommonJS ones.
    mainFields: ['module', 'main'],
    // Some dependencies still ask for Node's own modules by `require`.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    alias: { ...alias },
    logLevel: 'error',
  });
}
