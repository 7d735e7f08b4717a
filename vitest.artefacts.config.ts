/** Runs the tests that build, pack, install or synthesize what is released, which `npm test` leaves out. */

import { defineConfig } from 'vitest/config';
import { artefacts, settings } from './vitest.config.ts';

export default defineConfig({
  test: { ...settings, name: 'artefacts', include: artefacts },
});
