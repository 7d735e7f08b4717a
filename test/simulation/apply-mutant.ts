/**
 * Changes the text of one production file as Node loads it; the variable MUTANT names the change. It is loaded with
 * `--import`.
 */

import { registerHooks } from 'node:module';
import type { Mutant } from './mutants.ts';

/** MUTANTS names another list of mutants by its path from the root of the project. */
const list = process.env['MUTANTS'] ?? 'test/simulation/mutants.ts';
const { mutants } = (await import(new URL(`../../${list}`, import.meta.url).href)) as {
  mutants: readonly Mutant[];
};

const name = process.env['MUTANT'];
const mutant = mutants.find((candidate) => candidate.name === name);
if (mutant === undefined) throw new Error(`There is no mutant "${name}"`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/${mutant.file}`)) return loaded;
    const text = new TextDecoder().decode(loaded.source as Uint8Array);
    const places = text.split(mutant.find).length - 1;
    if (places !== 1)
      throw new Error(`Mutant "${mutant.name}" matches ${places} places of ${mutant.file} instead of one`);
    return { ...loaded, source: text.replace(mutant.find, () => mutant.replace) };
  },
});
