import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { changesOf } from '../mutants.ts';
import { mutants } from './repairs.ts';

// Their seeds are run by `npm run simulate -- repairs`, with every stop and not with every test.
describe('the repairs that can be taken out', () => {
  const changes = mutants.flatMap((mutant) =>
    changesOf(mutant).map((change) => ({ name: mutant.name, ...change })),
  );
  test.each(changes)('$name stands in $file once', async ({ file, find }) => {
    const source = await readFile(file, 'utf8');

    expect(source.split(find).length - 1).toBe(1);
  });

  test('have rules that docs/simulation.md explains', async () => {
    const docs = await readFile('docs/simulation.md', 'utf8');
    const explained = docs.slice(docs.indexOf('## What is judged'), docs.indexOf('## What is not simulated'));

    for (const { rule } of mutants) expect(explained).toContain(`\`${rule}\``);
  });
});
