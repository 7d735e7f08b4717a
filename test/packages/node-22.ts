/**
 * Finds Node 22, which the packages promise to run on. npm installs it once from the registry, into the cache of this
 * repository's `node_modules`.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/release/project.ts';

const VERSION = '22.23.3';

export type Node22 =
  | { readonly kind: 'found'; readonly program: string }
  | { readonly kind: 'missing'; readonly reason: string };

export function findNode22(): Node22 {
  const { platform, arch } = process;
  // The project behind these packages names those of Macs with Apple's processors differently.
  const name = `node${platform === 'darwin' && arch === 'arm64' ? '-bin' : ''}-${platform}-${arch}`;
  const folder = join(ROOT, 'node_modules/.cache', `node-${VERSION}`);
  const program = join(folder, 'node_modules', name, 'bin/node');
  if (existsSync(program)) return { kind: 'found', program };
  mkdirSync(folder, { recursive: true });
  const quiet = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const { stderr } = spawnSync('npm', ['install', '--prefix', folder, ...quiet, `${name}@${VERSION}`], {
    encoding: 'utf8',
  });
  if (existsSync(program)) return { kind: 'found', program };
  return { kind: 'missing', reason: `npm does not give ${name}@${VERSION}: ${stderr}` };
}
