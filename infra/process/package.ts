/**
 * Finds the package that the running program belongs to, reads its version, and keeps its compiled modules on disk,
 * so that the next start of the command, or of one of its threads, takes about half the processor time.
 */

import { existsSync, readFileSync } from 'node:fs';
import nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import * as z from 'zod';

const MANIFEST = 'package.json';

const manifest = z.looseObject({ version: z.string() });

export function packageVersion(): string {
  return manifest.parse(JSON.parse(readFileSync(join(packageFolder(), MANIFEST), 'utf8'))).version;
}

/** The nearest `package.json` above a source file and above its built copy is that of the package. */
export function packageFolder(folder: string = import.meta.dirname): string {
  if (existsSync(join(folder, MANIFEST))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error(`No folder above this program has a ${MANIFEST}.`);
  return packageFolder(parent);
}

/**
 * Holds for modules that are imported afterwards, so an entry calls this first and imports the rest dynamically. The
 * folder is inside the package and not in the machine's folder for temporary files, where another user could put code.
 * Node goes on without it when it cannot be written, and prefers the folder of `NODE_COMPILE_CACHE` when that is set
 * (Node.js documentation, "Module compile cache").
 */
export function keepCompiledModules(): void {
  nodeModule.enableCompileCache(join(packageFolder(), 'node_modules', '.cache', 'operations-bridge'));
}
