/** Reads and sets the switches that StrykerJS's instrumenter puts into code. */

/** Counts how often code ran, by the id of its mutant. */
export type Hits = Readonly<Record<string, number>>;

interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
}

/** The instrumented code holds on to the object of this name, so it must never be replaced. */
const NAME = '__stryker__';

const global = globalThis as { [NAME]?: Switches };
global[NAME] ??= {};

export const switches: Switches = global[NAME];

/** Switches one mutant on. An endless loop through it throws after `hitLimit` rounds. */
export function switchOn(mutantId: string, hitLimit: number | undefined): void {
  switches.activeMutant = mutantId;
  switches.hitLimit = hitLimit;
  switches.hitCount = hitLimit === undefined ? undefined : 0;
}

/** Switches the mutant off, and says whether it ran more often than its limit. */
export function switchOff(): boolean {
  const { hitCount = 0, hitLimit = Number.POSITIVE_INFINITY } = switches;
  switches.activeMutant = undefined;
  switches.hitLimit = undefined;
  switches.hitCount = undefined;
  return hitCount > hitLimit;
}
