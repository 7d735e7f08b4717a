/** Vitest loads this runner into the process of its tests, where it decides the mutants before anything else runs. */

import { configureGlobal, readConfigureGlobal } from 'fast-check';
import { TestRunner } from 'vitest';
import { takeStrayErrors } from './attempt.ts';
import { decideMutants } from './decide-mutants.ts';
import { readPlan } from './plan.ts';

export default class MutationRunner extends TestRunner {
  async onBeforeCollect(): Promise<void> {
    takeStrayErrors();
    // A property that fails is not shrunk, because only that it fails matters here. Shrinking runs it hundreds of times.
    configureGlobal({ ...readConfigureGlobal(), endOnFailure: true });
    await decideMutants(this, readPlan());
  }
}
