import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { mutants } from './named.ts';

const mutant = mutants.find(({ name }) => name === process.env['MUTANT']);
if (mutant === undefined) throw new Error(`No mutant is called "${process.env['MUTANT']}"`);

/** Runs the tests that must notice the mistake, with the changed text. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform(code, id) {
        if (!id.endsWith(`/${mutant.file}`)) return undefined;
        const places = code.split(mutant.find).length - 1;
        if (places !== 1)
          throw new Error(`Mutant "${mutant.name}" fits ${places} places of ${mutant.file}, not one`);
        return code.replace(mutant.find, () => mutant.replace);
      },
    },
  ],
  test: {
    include: [mutant.tests],
    bail: 1,
    // The cache knows files by the text on the disk, which the mutant does not change.
    fsModuleCache: false,
    testTimeout: 30_000,
  },
});
