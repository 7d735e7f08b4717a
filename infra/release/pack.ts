/** Packs a staged package as npm would publish it. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

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
