/** Changes the text of one production file in runs of vitest. */

import type { Plugin } from 'vitest/config';
import type { Mutant } from '../simulation/mutants.ts';

/**
 * `current` returns the mutant of this run. A text that does not stand exactly once in its file fails the run, with the words that the
 * tests of mutants look for.
 */
export function mutantPlugin(current: () => Mutant | undefined): Plugin {
  const isMutated = (id: string) => id.endsWith(`/${current()?.file}`);
  return {
    name: 'mutant',
    enforce: 'pre',
    // The cache knows files by their text on the disk, so a file with a mistake neither comes from it nor goes into it.
    configureVitest({ defineCacheKeyGenerator }) {
      defineCacheKeyGenerator(({ id }) => (isMutated(id) ? false : undefined));
    },
    transform(code, id) {
      const mutant = current();
      if (mutant === undefined || !isMutated(id)) return undefined;
      const { name, file, find, replace } = mutant;
      const places = code.split(find).length - 1;
      if (places !== 1) throw new Error(`Mutant "${name}" fits ${places} places of ${file}, not one`);
      return code.replace(find, () => replace);
    },
  };
}
