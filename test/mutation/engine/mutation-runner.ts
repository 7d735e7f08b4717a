/** Vitest loads this runner into the process of its tests, where it decides the mutants before anything else runs. */

import { TestRunner } from 'vitest';
import { takeStrayErrors } from './attempt.ts';
import { decideMutants } from './decide-mutants.ts';
import { readPlan } from './plan.ts';

export default class MutationRunner extends TestRunner {
  async onBeforeCollect(): Promise<void> {
    takeStrayErrors();
    await decideMutants(this, readPlan());
  }
}
