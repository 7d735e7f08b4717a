/** Describes the states of a compute or a branch in the order of time. */

/**
 * A phase is a state from an instant on. Phases are drawn ahead with the operations that cause them, so they may lie in the
 * future.
 */
export interface Phase<State extends string> {
  readonly atMs: number;
  readonly current: State;
  readonly pending?: State;
}

interface HasPhases<State extends string> {
  readonly phases: Phase<State>[];
}

/** Drops what was planned after `atMs`, because a newer command replaces it. */
export function enterPhases<State extends string>(
  { phases }: HasPhases<State>,
  atMs: number,
  planned: readonly Phase<State>[],
): void {
  const kept = phases.filter((phase) => phase.atMs < atMs);
  phases.splice(0, phases.length, ...kept, ...planned);
}
