/** Finds the package that the running program belongs to, and reads its version. */

import { existsSync, readFileSync } from 'node:fs';
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
