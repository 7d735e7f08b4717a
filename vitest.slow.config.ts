/** Runs the tests that `npm test` leaves out, because they take a machine minutes. */

import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { clients, settings, slow } from './vitest.config.ts';

export default defineConfig({
  test: {
    // These tests hold a core for themselves, or wait in real time.
    maxWorkers: availableParallelism(),
    globalSetup: 'test/temporary-folder.ts',
    projects: [
      { test: { ...settings, name: 'slow', include: slow } },
      {
        test: {
          ...settings,
          name: 'clients through the bridge',
          include: clients,
          env: { CONFORMANCE_DOOR: 'bridge' },
        },
      },
    ],
  },
});
