/** Emits the type declarations of a package's entry, for consumers who have no sources. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { ROOT } from './root.ts';

/**
 * Writes the declarations of the entry, and of the files beside it that they mention, into the folder. Throws when the
 * compiler finds an error, or when a declaration mentions a file of another folder: what a package shows has
 * to be declared with it.
 */
export function writeDeclarations(entry: string, folder: string): void {
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
