/**
 * Keeps compiled modules on disk, so that the next start of the command, or of one of its threads, takes about half the
 * processor time: Node then neither strips types nor compiles what has not changed.
 */

import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { packageFolder } from './package-version.ts';

/**
 * Holds for modules that are imported afterwards, so an entry calls this first and imports the rest dynamically. The
 * folder is inside the package and not in the machine's folder for temporary files, where another user could put code.
 * Node goes on without it when it cannot be written, and prefers the folder of `NODE_COMPILE_CACHE` when that is set
 * (Node.js documentation, "Module compile cache").
 */
export function keepCompiledModules(): void {
  enableCompileCache(join(packageFolder(), 'node_modules', '.cache', 'operations-bridge'));
}
