/** Builds `operations-bridge`, the command and the simulated service for tests, into a folder from which it can be packed. */

import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { writeDeclarations } from './declarations.ts';
import { bridgeManifest, EXTERNAL_PACKAGES, type ProjectManifest } from './manifests.ts';
import { ROOT } from './root.ts';
import { thirdPartyLicenses } from './third-party-licenses.ts';

const TESTING = join(ROOT, 'infra/packages/testing/operations-bridge-testing.ts');
/** Each becomes a file of its own. The others start threads from these by their names. */
const ENTRIES = [
  join(ROOT, 'infra/cli/operations-bridge.ts'),
  TESTING,
  ...['thread', 'api-worker', 'commands-worker', 'notifier-worker', 'poller-worker'].map((name) =>
    join(ROOT, `infra/local/lambda/${name}.ts`),
  ),
];

export function stageBridgePackage(folder: string, project: ProjectManifest): void {
  const dist = join(folder, 'dist');
  mkdirSync(folder, { recursive: true });
  const { metafile } = buildSync({
    entryPoints: ENTRIES,
    outdir: dist,
    entryNames: '[name]',
    absWorkingDir: ROOT,
    bundle: true,
    splitting: true,
    minifySyntax: true,
    minifyWhitespace: true,
    metafile: true,
    // DDSketch loads protobufjs only to write its own binary format, which the bridge does not use.
    external: [...EXTERNAL_PACKAGES, 'protobufjs'],
    platform: 'node',
    format: 'esm',
    target: 'node22',
    // The SDK's module builds are smaller and load faster than the CommonJS ones.
    mainFields: ['module', 'main'],
    // Some dependencies still load Node's own modules by `require`.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    logLevel: 'error',
  });
  writeDeclarations(TESTING, dist);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), thirdPartyLicenses(Object.keys(metafile.inputs)));
  copyFileSync(join(ROOT, 'infra/packages/testing/README.md'), join(folder, 'README.md'));
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(bridgeManifest(project), null, 2)}\n`);
}
