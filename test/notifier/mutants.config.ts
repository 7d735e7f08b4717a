import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { mutants } from './mutants.ts';

const mutant = mutants.find(({ name }) => name === process.env['MUTANT']);
if (mutant === undefined) throw new Error(`No mutant is called "${process.env['MUTANT']}"`);

const isMutated = (id: string) => id.endsWith(`/${mutant.file}`);

/** Runs the notifier's tests that must notice the mistake, with one changed text of production code. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      // The cache identifies files by their text on disk, which is the same for a mutant and the right file.
      configureVitest: ({ defineCacheKeyGenerator }) =>
        defineCacheKeyGenerator(({ id }) => (isMutated(id) ? false : undefined)),
      transform(code, id) {
        if (!isMutated(id)) return undefined;
        const places = code.split(mutant.find).length - 1;
        if (places !== 1)
          throw new Error(`Mutant "${mutant.name}" fits ${places} places of ${mutant.file}, not one`);
        return code.replace(mutant.find, () => mutant.replace);
      },
    },
  ],
  test: {
    include: [mutant.tests],
    ...(mutant.testName !== undefined && { testNamePattern: mutant.testName }),
    bail: 1,
    // All mutants share the transformed text of the files that are as they are. One process is enough for one test file.
    fsModuleCache: true,
    fsModuleCachePath: 'node_modules/.cache/notifier-mutants',
    pool: 'threads',
    isolate: false,
    testTimeout: 30_000,
  },
});
