import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { mutantPlugin } from '../mutation/mutant-plugin.ts';
import { mutants } from './mutants.ts';

const mutant = mutants.find(({ name }) => name === process.env['MUTANT']);
if (mutant === undefined) throw new Error(`No mutant is called "${process.env['MUTANT']}"`);

/** Runs the notifier's tests that must notice the mistake, with one changed text of production code. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  plugins: [mutantPlugin(mutant)],
  test: {
    include: [mutant.tests],
    ...(mutant.testName !== undefined && { testNamePattern: mutant.testName }),
    bail: 1,
    // A thread is enough for one file of tests, and starts sooner than a process.
    pool: 'threads',
    isolate: false,
    testTimeout: 30_000,
  },
});
