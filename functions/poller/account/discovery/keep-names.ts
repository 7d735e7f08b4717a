/** Keeps the names of projects as the pages of the project list show them. Only a name that has changed is written. */

import { toError } from '../../../../shared/runtime/errors.ts';
import {
  NAME_CHARACTERS_MAX,
  NAMES_PER_ITEM_MAX,
  namesPlaceOf,
  type ProjectNamesStore,
  type StoredNames,
} from '../../../../shared/store/project-names.ts';
import type { InvocationDeps, ProjectNamesPort } from '../account-deps.ts';
import type { Discovery } from './origin.ts';

export function createNameKeeper(store: Pick<ProjectNamesStore, 'readAll' | 'write'>): ProjectNamesPort {
  let stored: Map<number, StoredNames> | undefined;
  const waiting = new Map<string, string>();
  const isStored = (id: string, name: string) => stored?.get(namesPlaceOf(id))?.names.get(id) === name;

  return {
    take(rows) {
      for (const { id, name = '' } of rows) {
        const shown = name.slice(0, NAME_CHARACTERS_MAX).toWellFormed();
        if (shown !== '' && !isStored(id, shown)) waiting.set(id, shown);
      }
    },

    async storedIds() {
      return [...(await read()).values()].flatMap(({ names }) => [...names.keys()]);
    },

    async write({ isGone, bounds }) {
      if (waiting.size === 0) return;
      const known = await read();
      const changed = [...waiting].filter(([id, name]) => !isStored(id, name));
      waiting.clear();
      for (const [place, names] of Map.groupBy(changed, ([id]) => namesPlaceOf(id))) {
        const before = known.get(place);
        // An item that another version wrote is left alone.
        if (before === undefined) continue;
        const { next, leftOutCount } = withNames(before, names, isGone);
        if (leftOutCount > 0) bounds.report('project_names', NAMES_PER_ITEM_MAX);
        if (leftOutCount === names.length) continue;
        const outcome = await store.write(place, next).catch(() => 'unknown' as const);
        if (outcome === 'applied') known.set(place, next);
        else {
          stored = undefined;
          for (const [id, name] of names) waiting.set(id, name);
        }
      }
    },
  };

  async function read(): Promise<Map<number, StoredNames>> {
    stored ??= new Map(await store.readAll());
    return stored;
  }
}

/** Returns the item's next names. A full item keeps the names that it has. */
export function withNames(
  { names, revision }: StoredNames,
  shown: readonly (readonly [string, string])[],
  isGone: (projectId: string) => boolean,
): { readonly next: StoredNames; readonly leftOutCount: number } {
  const next = new Map([...names].filter(([id]) => !isGone(id)));
  let leftOutCount = 0;
  for (const [id, name] of shown) {
    if (next.size < NAMES_PER_ITEM_MAX || next.has(id)) next.set(id, name);
    else leftOutCount += 1;
  }
  return { next: { names: next, revision: revision + 1 }, leftOutCount };
}

/** A listing of thousands of projects takes seconds, and its names are written together. */
const LOOK_MS = 5_000;

/** A name that could not be written is written later, because the next listing shows it again. */
export async function keepNamesRepeatedly(
  { names, clock, telemetry, bounds, signal }: InvocationDeps,
  { projects, listings }: Pick<Discovery, 'projects' | 'listings'>,
): Promise<void> {
  const isGone = (id: string) => listings.hasEnded && !projects.memories.has(id);
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal).catch(() => {});
    if (signal.aborted) return;
    await names.write({ isGone, bounds }).catch((error: unknown) => {
      telemetry.log('warn', 'names.not_written', { reason: toError(error).name });
    });
  }
}
