/**
 * Builds the released packages `operations-bridge` and `operations-bridge-events`, each into a folder with the type
 * declarations of its entry, and packs such a folder as npm would publish it.
 */

import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { buildSync } from 'esbuild';
import { thirdPartyLicenses } from './contents.ts';
import { bridgeManifest, EXTERNAL_PACKAGES, eventsManifest, type ProjectManifest, ROOT } from './project.ts';

const TESTING = join(ROOT, 'infra/packages/testing/operations-bridge-testing.ts');
/** Each becomes a file of its own. The others start threads from these by their names. */
const ENTRIES = [
  join(ROOT, 'infra/cli/operations-bridge.ts'),
  TESTING,
  ...['thread', 'api-worker', 'commands-worker', 'notifier-worker', 'poller-worker'].map((name) =>
    join(ROOT, `infra/local/aws/${name}.ts`),
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
  cpSync(join(ROOT, 'docs/examples'), join(folder, 'docs/examples'), { recursive: true });
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(bridgeManifest(project), null, 2)}\n`);
}

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

/**
 * Writes the declarations of the entry, and of the files beside it that they mention, into the folder. Throws when the
 * compiler finds an error, or when a declaration mentions a file of another folder: what a package shows has
 * to be declared with it.
 */
function writeDeclarations(entry: string, folder: string): void {
  const workFolder = mkdtempSync(join(tmpdir(), 'declarations-'));
  try {
    emit(entry, workFolder);
    mkdirSync(folder, { recursive: true });
    const emitted = join(workFolder, dirname(relative(ROOT, entry)));
    for (const name of reachedFrom(basename(entry, '.ts'), emitted)) {
      const text = readFileSync(join(emitted, `${name}.d.ts`), 'utf8');
      writeFileSync(join(folder, `${name}.d.ts`), withJavaScriptNames(text));
    }
  } finally {
    rmSync(workFolder, { recursive: true });
  }
}

function emit(entry: string, outDir: string): void {
  const project = join(outDir, 'tsconfig.json');
  const typeRoots = [join(ROOT, 'node_modules/@types')];
  const compilerOptions = { noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: ROOT };
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { ...compilerOptions, outDir, typeRoots },
      include: [],
      files: [entry],
    }),
  );
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', project], {
    encoding: 'utf8',
  });
  if (status !== 0)
    throw new Error(`The declarations of ${relative(ROOT, entry)} do not compile:\n${stdout}${stderr}`);
}

const RELATIVE_IMPORT = /(?<=(?:\bfrom|\bimport\()\s*['"])(\.[^'"]+)\.ts(?=['"])/g;

function reachedFrom(entryName: string, folder: string): readonly string[] {
  const reached = new Set<string>([entryName]);
  for (const name of reached) {
    const text = readFileSync(join(folder, `${name}.d.ts`), 'utf8');
    for (const [, path = ''] of text.matchAll(RELATIVE_IMPORT)) {
      if (dirname(path) !== '.')
        throw new Error(
          `The declarations of ${name}.ts mention ${path}.ts. Declare in its folder what the package shows.`,
        );
      reached.add(basename(path));
    }
  }
  return [...reached];
}

function withJavaScriptNames(text: string): string {
  return text.replaceAll(RELATIVE_IMPORT, '$1.js');
}

/** Returns the path of the tarball. Throws when npm refuses the package. npm gives every file the same time, so the bytes depend only on the content. */
export function packPackage(folder: string, outputFolder: string): string {
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', outputFolder],
    { cwd: folder, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`npm cannot pack ${folder}:\n${stderr}`);
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[];
  if (packed === undefined) throw new Error(`npm packed nothing from ${folder}`);
  return join(outputFolder, packed.filename);
}
