/** Builds `operations-bridge-events` into a folder, from which it can be packed. */

import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { writeDeclarations } from './declarations.ts';
import { eventsManifest, type ProjectManifest } from './manifests.ts';
import { ROOT } from './root.ts';

const SOURCES = join(ROOT, 'infra/packages/events');
const ENTRY = join(SOURCES, 'operations-bridge-events.ts');

export function stageEventsPackage(folder: string, project: ProjectManifest): void {
  const dist = join(folder, 'dist');
  mkdirSync(folder, { recursive: true });
  buildSync({
    // The check of signatures is a file of its own, which a bundler leaves out where it is not used.
    entryPoints: [ENTRY, join(SOURCES, 'verify-signature.ts')],
    outdir: dist,
    absWorkingDir: ROOT,
    bundle: true,
    splitting: true,
    minifyWhitespace: true,
    packages: 'external',
    format: 'esm',
    platform: 'neutral',
    target: 'node22',
    logLevel: 'error',
  });
  writeDeclarations(ENTRY, dist);
  writeSchemas(join(folder, 'schemas'));
  copyFileSync(join(SOURCES, 'README.md'), join(folder, 'README.md'));
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(eventsManifest(project), null, 2)}\n`);
}

/** The package has the schemas without white space, which is a quarter of them. */
function writeSchemas(folder: string): void {
  const source = join(ROOT, 'docs/schemas');
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(source)) {
    const schema: unknown = JSON.parse(readFileSync(join(source, name), 'utf8'));
    writeFileSync(join(folder, name), `${JSON.stringify(schema)}\n`);
  }
}
