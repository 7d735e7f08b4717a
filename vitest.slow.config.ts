/** Runs the tests that `npm test` leaves out, because they take a machine minutes. */

import { defineConfig } from 'vitest/config';
import { settings, slow } from './vitest.config.ts';

export default defineConfig({
  test: { ...settings, name: 'slow', include: slow },
});
