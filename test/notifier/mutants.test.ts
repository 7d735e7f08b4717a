/** Tests the notifier's tests: each deliberate mistake must turn them red. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, test } from 'vitest';
import { mutants } from './mutants.ts';

describe("the notifier's tests", () => {
  test.concurrent.for(mutants)(
    'notice when $mistake ($name)',
    { timeout: 120_000 },
    async ({ name }, { expect }) => {
      const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/notifier/mutants.config.ts'];
      const env = { ...process.env, MUTANT: name, VITEST: undefined, NO_COLOR: '1' };

      const outcome = await promisify(execFile)(process.execPath, args, { env }).then(
        () => 'green',
        (error: { stdout: string; stderr: string }) => `${error.stdout}${error.stderr}`,
      );

      expect(outcome).toMatch(/AssertionError|Test timed out/);
      expect(outcome).not.toMatch(/fits \d+ places/);
    },
  );
});
