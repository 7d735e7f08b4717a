/** Changes the text of one production file in a run of vitest. */

import type { Plugin } from 'vitest/config';
import type { Mutant } from '../simulation/mutants.ts';

/** A text that does not stand exactly once in its file fails the run, with the words that the tests of mutants look for. */
export function mutantPlugin({ name, file, find, replace }: Mutant): Plugin {
  const isMutated = (id: string) => id.endsWith(`/${file}`);
  return {
    name: 'mutant',
    enforce: 'pre',
    // The cache knows files by their text on the disk, so a file with a mistake neither comes from it nor goes into it.
    configureVitest({ defineCacheKeyGenerator }) {
      defineCacheKeyGenerator(({ id }) => (isMutated(id) ? false : undefined));
    },
    transform(code, id) {
      if (!isMutated(id)) return undefined;
      const places = code.split(find).length - 1;
      if (places !== 1) throw new Error(`Mutant "${name}" fits ${places} places of ${file}, not one`);
      return code.replace(find, () => replace);
    },
  };
}
