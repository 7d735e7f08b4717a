/**
 * Changes the text of one production file as Node loads it; the variable MUTANT names the change. It is loaded with
 * `--import`.
 */

import { registerHooks } from 'node:module';
import { changesOf, type Mutant } from './mutants.ts';

/** MUTANTS names another list of mutants by its path from the root of the project. */
const list = process.env['MUTANTS'] ?? 'test/simulation/mutants.ts';
const { mutants } = (await import(new URL(`../../${list}`, import.meta.url).href)) as {
  mutants: readonly Mutant[];
};

const name = process.env['MUTANT'];
const mutant = mutants.find((candidate) => candidate.name === name);
if (mutant === undefined) throw new Error(`There is no mutant "${name}"`);

const changes = changesOf(mutant);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = changes.filter(({ file }) => url.endsWith(`/${file}`));
    if (own.length === 0) return loaded;
    let text = new TextDecoder().decode(loaded.source as Uint8Array);
    for (const { file, find, replace } of own) {
      const places = text.split(find).length - 1;
      if (places !== 1)
        throw new Error(`Mutant "${mutant.name}" matches ${places} places of ${file} instead of one`);
      text = text.replace(find, () => replace);
    }
    return { ...loaded, source: text };
  },
});
