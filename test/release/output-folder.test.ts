import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { prepareOutputFolder } from '../../infra/release/contents.ts';
import { ROOT } from '../../infra/release/project.ts';

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'output-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('creates the folder of a release', () => {
  const folder = join(aFolder(), 'a', 'b');

  prepareOutputFolder(folder);

  expect(readdirSync(folder)).toEqual([]);
});

test('empties a folder that has an earlier release', () => {
  const folder = aFolder();
  mkdirSync(join(folder, 'code'));
  for (const name of ['SHA256SUMS', 'code/api.zip']) writeFileSync(join(folder, name), '');

  prepareOutputFolder(folder);

  expect(readdirSync(folder)).toEqual([]);
});

test('deletes nothing else, and says so', () => {
  const folder = aFolder();
  writeFileSync(join(folder, 'thesis.tex'), '');

  expect(() => prepareOutputFolder(folder)).toThrow(/thesis\.tex.*Name an empty folder/);
  expect(existsSync(join(folder, 'thesis.tex'))).toBe(true);
});

test('is not created for an option, because a release has none', { timeout: 60_000 }, () => {
  const folder = aFolder();
  const program = join(ROOT, 'infra/release/release.ts');
  const { status, stderr } = spawnSync(process.execPath, [program, '--help'], {
    cwd: folder,
    encoding: 'utf8',
  });

  expect({ status, stderr, names: readdirSync(folder) }).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("Unknown option '--help'"),
    names: [],
  });
});
