import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bundleEntry, FOR_LAMBDA } from '../../infra/aws/bundle.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bundled-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Bundles an entry with this code, as functions are bundled, and returns its file. */
function bundled(code: string): string {
  const [entry, outfile] = [join(folder, 'entry.js'), join(folder, 'out.mjs')];
  writeFileSync(entry, code);
  bundleEntry(entry, outfile, FOR_LAMBDA);
  return outfile;
}

describe('a bundle', () => {
  test('has what a dependency calls that loads a module of Node by require', () => {
    writeFileSync(join(folder, 'dependency.cjs'), "exports.name = require('node:path').basename('/a/b');");
    const file = bundled("import { name } from './dependency.cjs'; export { name };");

    // In a process of its own, because the runner of the tests gives every module a require.
    const code = `import { name } from '${pathToFileURL(file).href}'; process.stdout.write(name);`;
    expect(execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })).toBe(
      'b',
    );
  });

  test('makes no require when its code calls none', () => {
    const file = bundled('export const name = 1;');

    expect(readFileSync(file, 'utf8')).not.toContain('createRequire');
  });
});
