import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { changesOf } from '../mutants.ts';
import { mutants } from './repairs.ts';

// The repairs are taken out by hand and seldom, so an entry that points at nothing would stay unnoticed until then.
describe('the repairs that can be taken out', () => {
  const changes = mutants.flatMap((mutant) =>
    changesOf(mutant).map((change) => ({ name: mutant.name, ...change })),
  );
  test.each(changes)('$name stands in $file once', async ({ file, find }) => {
    const source = await readFile(file, 'utf8');

    expect(source.split(find).length - 1).toBe(1);
  });
});
