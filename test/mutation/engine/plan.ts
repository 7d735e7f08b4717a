/** Says what one process of the engine has to do: the process that starts it writes the plan, and it reads the plan. */

import { readFileSync, writeFileSync } from 'node:fs';

export interface Plan {
  /** This file holds the code with its switches as JSON, by the absolute path of each file. */
  readonly codeFile: string;
  readonly mutantIds: readonly string[];
  /** These are the absolute paths of the files of tests. */
  readonly testFiles: readonly string[];
  /** The process appends its verdicts to this file. */
  readonly journalFile: string;
  /** The first process writes here what its tests do without a mutant, and those after it read it. */
  readonly baselineFile: string;
  /** An attempt may use this much more time of a processor than its tests usually take twenty times. */
  readonly patienceMs: number;
}

/** Names the file of the plan in the environment of the process. */
export const PLAN_VARIABLE = 'MUTATION_PLAN';

export function writePlan(file: string, plan: Plan): void {
  writeFileSync(file, JSON.stringify(plan));
}

export function readPlan(): Plan {
  const file = process.env[PLAN_VARIABLE];
  if (file === undefined) throw new Error(`${PLAN_VARIABLE} must name the file of the plan`);
  return JSON.parse(readFileSync(file, 'utf8')) as Plan;
}
