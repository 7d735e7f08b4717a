/** Measures how many of the readings that the project list asks for find a transition. */

export interface HintPrecision {
  /** Takes whether a reading found a transition in a project of which a believed field had moved. */
  note(foundTransition: boolean): void;
  /** Returns the share of these readings that found one, from 0 to 1. It is one half before the first of them. */
  share(): number;
}

/** Beyond this number of readings the older ones fade, so that a field that begins to cry wolf is soon known for it. */
const READING_COUNT_MAX = 100;

export function createHintPrecision(): HintPrecision {
  let foundCount = 1;
  let readingCount = 2;

  return {
    note(foundTransition) {
      const keep = readingCount >= READING_COUNT_MAX ? 1 - 1 / READING_COUNT_MAX : 1;
      foundCount = foundCount * keep + (foundTransition ? 1 : 0);
      readingCount = readingCount * keep + 1;
    },
    share: () => foundCount / readingCount,
  };
}
