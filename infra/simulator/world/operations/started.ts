/** Collects the operations that a command has started, which its answer shows. */

import type { ProjectState, WorldOperation } from '../state/project-state.ts';

/** The operation that runs first comes first. */
export function operationsStartedBy(project: ProjectState, act: () => void): readonly WorldOperation[] {
  const before = new Set(project.operations);
  act();
  const operations = project.operations.filter((operation) => !before.has(operation));
  const endMs = Math.max(...operations.map(({ states }) => states.at(-1)?.at_ms ?? 0));
  // The simulated users wait for the project's lock as every client does.
  project.nextSessionMs = Math.max(project.nextSessionMs, endMs);
  project.idleFromMs = Math.max(project.idleFromMs, endMs);
  project.operations.sort((a, b) => a.created_us - b.created_us);
  return operations;
}
