import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { mutantPlugin } from './mutant-plugin.ts';
import { mutants } from './named.ts';

const mutant = mutants.find(({ name }) => name === process.env['MUTANT']);
if (mutant === undefined) throw new Error(`No mutant is called "${process.env['MUTANT']}"`);

/** Runs the tests that must notice the mistake, with the changed text. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  plugins: [mutantPlugin(mutant)],
  test: {
    include: [mutant.tests],
    bail: 1,
    // A thread is enough for one file of tests, and starts sooner than a process.
    pool: 'threads',
    isolate: false,
    testTimeout: 30_000,
  },
});
