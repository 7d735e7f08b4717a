import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { mutants } from './repairs.ts';

// The repairs are taken out by hand and seldom, so an entry that points at nothing would stay unnoticed until then.
describe('the repairs that can be taken out', () => {
  test.each(mutants)('$name stands in the code once', async ({ file, find }) => {
    const source = await readFile(file, 'utf8');

    expect(source.split(find).length - 1).toBe(1);
  });
});
