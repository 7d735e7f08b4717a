/**
 * Puts all that a bundle loads at its start into one file. The bundler makes a file of its own of each piece of code that the
 * start shares with what is loaded on demand, and every file costs a cold start about a millisecond.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildSync, type Metafile } from 'esbuild';

/** Keyed by file names in the folder of the bundle. */
type Outputs = ReadonlyMap<string, Metafile['outputs'][string]>;

/**
 * What is loaded on demand then imports from the entry what it shares with the start. The entry is loaded already at that
 * time, so nothing is evaluated twice.
 */
export function mergeStart(folder: string, entry: string, metafile: Metafile): void {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, each]) => [basename(path), each]));
  const start = filesOfStart(outputs, entry);
  const shared = [...start].filter((file) => file !== entry);
  if (shared.length === 0) return;
  const onDemand = [...outputs.keys()].filter((file) => !start.has(file));
  writeEntry(folder, entry, { outputs, shared, onDemand });
  for (const file of onDemand) importFromEntry(join(folder, file), entry, shared);
  for (const file of shared) rmSync(join(folder, file));
}

/** Returns the entry and all files that it imports, directly or not, but for those of `import()`. */
function filesOfStart(outputs: Outputs, file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { path, kind } of outputs.get(file)?.imports ?? [])
    if (kind === 'import-statement' && outputs.has(basename(path)))
      filesOfStart(outputs, basename(path), seen);
  return seen;
}

interface Files {
  readonly outputs: Outputs;
  readonly shared: readonly string[];
  readonly onDemand: readonly string[];
}

function writeEntry(folder: string, entry: string, { outputs, shared, onDemand }: Files): void {
  const exported = shared.flatMap((file, place) => {
    const names = (outputs.get(file)?.exports ?? []).map((name) => `${name} as ${exportedAs(place, name)}`);
    return names.length === 0 ? [] : [`export { ${names.join(', ')} } from './${file}';`];
  });
  buildSync({
    stdin: { contents: [`export * from './${entry}';`, ...exported].join('\n'), resolveDir: folder },
    absWorkingDir: folder,
    outfile: join(folder, entry),
    allowOverwrite: true,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    external: ['protobufjs', ...onDemand.map((file) => `./${file}`)],
    logLevel: 'error',
  });
}

/** Two files may export different things under one name. */
function exportedAs(place: number, name: string): string {
  return `s${place}_${name}`;
}

/** The bundler writes each import of another file as one statement of this form. */
const IMPORT = /import(?:\{([^}]*)\}from)?"\.\/([\w.-]+\.mjs)"/g;

function importFromEntry(path: string, entry: string, shared: readonly string[]): void {
  const text = readFileSync(path, 'utf8').replaceAll(IMPORT, (statement, names: string | undefined, file) => {
    const place = shared.indexOf(file);
    if (place === -1) return statement;
    if (names === undefined) return `import"./${entry}"`;
    const renamed = names.split(',').map((each) => {
      const [name = '', local = name] = each.trim().split(' as ');
      return `${exportedAs(place, name)} as ${local}`;
    });
    return `import{${renamed.join(',')}}from"./${entry}"`;
  });
  const left = shared.find((file) => text.includes(`"./${file}"`));
  if (left !== undefined) throw new Error(`${basename(path)} imports ${left} in a form that is not known`);
  writeFileSync(path, text);
}
