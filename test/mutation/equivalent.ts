/**
 * Mutants that no test can notice, because the changed code does the same: each with its proof. A mutant that a test could
 * notice does not belong here, however unlikely its effect is.
 */

export interface Equivalent {
  readonly file: string;
  /** The line on which the mutant begins, as it stands in the file. */
  readonly line: string;
  readonly original: string;
  readonly replacement: string;
  readonly proof: string;
}

export const equivalents: readonly Equivalent[] = [];
