/** Compares one project on both sides, and has what differs repaired when that is wanted. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { BridgeAbsence, BridgeRefusal, isPassing } from '../connection/bridge-client.ts';
import { compareOperations, type Difference, type ProjectView } from './compare-operations.ts';
import { type Reading, readProject } from './read-project.ts';

/** What was found out about one project. */
export interface Verdict {
  readonly project_id: string;
  readonly checked: number;
  /** What differs now: after the repair, when one was wanted. */
  readonly differences: readonly Difference[];
  /** These differences are gone since the repair. It is absent when none was wanted or needed. */
  readonly repaired?: readonly Difference[];
  /** Why the project could not be checked or repaired. */
  readonly not_checked?: string;
}

export interface VerifyDeps {
  readonly reading: Reading;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** It is undefined when nothing is to be repaired. */
  readonly repair: ((projectId: string) => Promise<void>) | undefined;
}

/** A poll of every project of a large account takes longer, but a command or an event is recorded within this time. */
const SECOND_LOOK_MS = 10_000;

export async function verifyProject(deps: VerifyDeps, project_id: string): Promise<Verdict> {
  try {
    const { checked, differences } = await compareTwice(deps, project_id);
    const isRepairable = differences.some(({ kind }) => kind !== 'invented');
    if (deps.repair === undefined || !isRepairable) return { project_id, checked, differences };
    return await repairProject(deps.repair, deps, project_id, differences);
  } catch (error) {
    // One project without an answer does not keep the others from being checked.
    const isOfProject = error instanceof BridgeRefusal || isPassing(error);
    if (!isOfProject || error instanceof BridgeAbsence) throw error;
    return { project_id, checked: 0, differences: [], not_checked: error.message };
  }
}

/** Both sides move, so only what differs in two looks is believed. */
async function compareTwice(
  { reading, clock, signal }: VerifyDeps,
  projectId: string,
): Promise<{ readonly checked: number; readonly differences: readonly Difference[] }> {
  const first = await readProject(reading, projectId);
  const suspected = compareOperations(first);
  if (suspected.length === 0) return resultOf(first, []);
  await clock.sleep(SECOND_LOOK_MS, signal);
  const second = await readProject(reading, projectId);
  const suspects = new Set(suspected.map(keyOf));
  return resultOf(
    second,
    compareOperations(second).filter((found) => suspects.has(keyOf(found))),
  );
}

function resultOf({ upstream }: ProjectView, differences: readonly Difference[]) {
  return { checked: upstream.length, differences };
}

async function repairProject(
  repair: NonNullable<VerifyDeps['repair']>,
  deps: VerifyDeps,
  project_id: string,
  before: readonly Difference[],
): Promise<Verdict> {
  await repair(project_id);
  const { checked, differences } = await compareTwice(deps, project_id);
  const left = new Set(differences.map(keyOf));
  return {
    project_id,
    checked,
    differences: differences.map(withReason),
    repaired: before.filter((each) => !left.has(keyOf(each))),
  };
}

function withReason(difference: Difference): Difference {
  const { kind, found } = difference;
  return kind === 'invented' ? { ...difference, found: `${found} A repair removes nothing.` } : difference;
}

function keyOf({ operation_id, kind }: Difference): string {
  return `${kind} ${operation_id}`;
}
