/** Makes empty projects outside of the repository, and installs packages into them as npm does, without a network. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ROOT } from '../../infra/release/project.ts';

export interface EmptyProject extends Disposable {
  readonly folder: string;
  /** Installs tarballs, and packages of this repository's `node_modules` as copies. */
  install(tarballs: readonly string[], copiedPackages: readonly string[]): void;
  write(path: string, text: string): string;
  /** Returns the standard output. Throws with the complete output when the program fails. */
  run(program: string, args: readonly string[]): string;
  /** Compiles with the compiler of this repository, or with the one in the folder that is given. */
  compile(compilerOptions: object, typescript?: string): void;
}

export const typescript7 = join(ROOT, 'node_modules/typescript');
interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Returns these packages and all that they need, as they are in this repository's `node_modules`. */
export function withDependencies(names: readonly string[]): readonly string[] {
  const found = new Set(names);
  for (const name of found) {
    const path = join(ROOT, 'node_modules', name, 'package.json');
    const { dependencies = {} } = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
    for (const each of Object.keys(dependencies)) found.add(each);
  }
  return [...found];
}

/** The oldest compiler at hand: the one that `@arethetypeswrong/core` resolves types with. */
export const typescript5 = join(ROOT, 'node_modules/@arethetypeswrong/core/node_modules/typescript');

export function createEmptyProject(): EmptyProject {
  const folder = mkdtempSync(join(tmpdir(), 'consumer-'));
  const write = (path: string, text: string) => {
    const target = resolve(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    return target;
  };
  const run = (program: string, args: readonly string[]) => runIn(folder, program, args);
  write('package.json', JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  return {
    folder,
    write,
    run,
    install(tarballs, copiedPackages) {
      const copies = copiedPackages.map((name) => join(ROOT, 'node_modules', name));
      const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
      run('npm', ['install', '--install-links', ...quiet, ...tarballs, ...copies]);
    },
    compile(compilerOptions, typescript = typescript7) {
      write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['*.ts'] }));
      run(process.execPath, [join(typescript, 'bin/tsc'), '-p', 'tsconfig.json']);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

function runIn(folder: string, program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}${error ?? ''}`);
  return stdout;
}
