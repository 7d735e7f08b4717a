/** Reads the version of the package that the running program belongs to. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';

const manifest = z.looseObject({ version: z.string() });

/** The nearest `package.json` above a source file and above its built copy is that of the package. */
export function packageVersion(folder: string = import.meta.dirname): string {
  const file = join(folder, 'package.json');
  if (existsSync(file)) return manifest.parse(JSON.parse(readFileSync(file, 'utf8'))).version;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('No folder above this program has a package.json.');
  return packageVersion(parent);
}
