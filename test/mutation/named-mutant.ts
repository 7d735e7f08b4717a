/** Describes a mistake in production code as a change of its text, with the tests that must notice it. */

import type { Mutant } from '../simulation/mutants.ts';

export interface NamedMutant extends Mutant {
  /** The tests of this file must turn red. */
  readonly tests: string;
  /** Only the tests whose names contain this text are run: the other tests of the file take much longer. */
  readonly testName?: string;
}
