/**
 * Passes randomness as a dependency: production passes `Math.random`, and everything that must be repeatable passes a
 * seeded source.
 */

export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
}

export const systemRandom: Random = { next: Math.random };

/** Creates a mulberry32 source. Its 32 bits of state are good enough for jitter and simulations, and never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = state;
      mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}
