/**
 * Keeps the names of an account's projects in a fixed number of items, so that a page reads the names of thousands of
 * projects at once. The upstream's project list is the source of the names.
 */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { projectNamesKey } from './keys.ts';
import type { Item, Table } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable, unreadableOf } from './unreadable.ts';

/** With 5,000 projects each item has about ten kilobytes, and all of them are read by one call. */
export const NAME_ITEMS = 32;

/** An item holds at most this many names: with the longest ids and names they take 330 kB, and DynamoDB takes 400. */
export const NAMES_PER_ITEM_MAX = 2_500;

/** The service allows 64 characters (public contract). A longer name is cut. */
export const NAME_CHARACTERS_MAX = 64;

/** Holds the names of one item, by project id. The item has revision 0 while it does not exist. */
export interface StoredNames {
  readonly names: ReadonlyMap<string, string>;
  readonly revision: number;
}

export interface ProjectNamesStore {
  /** Resolves to all items, by place. An item that cannot be read is missing. */
  readAll(): Promise<ReadonlyMap<number, StoredNames>>;
  /** Resolves to the name of one project, with one read. It is undefined when no list has shown it yet. */
  nameOf(projectId: string): Promise<string | undefined>;
  /** Resolves to `refused` when the item has another revision than the one before `next`. */
  write(place: number, next: StoredNames): Promise<'applied' | 'refused'>;
}

const namesItem = z.object({
  kind: z.literal('project_names'),
  revision: z.number().int().nonnegative(),
  names: z.record(z.string(), z.string()),
});

export const PROJECT_NAMES_ATTRIBUTES: readonly string[] = Object.keys(namesItem.shape);

/** Returns which of the items has the project's name. */
export function namesPlaceOf(projectId: string): number {
  return (createHash('sha256').update(projectId).digest()[0] ?? 0) % NAME_ITEMS;
}

export function createProjectNames(
  table: Table,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): ProjectNamesStore {
  const places = Array.from({ length: NAME_ITEMS }, (_, place) => place);
  return {
    async readAll() {
      const found = await table.getMany(places.map((place) => projectNamesKey(accountId, place)));
      const items = new Map(found.map((item) => [item.sk, item]));
      return new Map(
        places.flatMap((place) => {
          const item = items.get(projectNamesKey(accountId, place).sk);
          const stored = item === undefined ? NO_NAMES : parseNames(item, noteUnreadable);
          return stored === undefined ? [] : [[place, stored] as const];
        }),
      );
    },

    async nameOf(projectId) {
      const item = await table.get(projectNamesKey(accountId, namesPlaceOf(projectId)));
      return item && parseNames(item, noteUnreadable)?.names.get(projectId);
    },

    write: (place, { names, revision }) =>
      table.update({
        key: projectNamesKey(accountId, place),
        set: { kind: 'project_names', revision, names: Object.fromEntries(names) },
        condition:
          revision === 1
            ? { kind: 'absent', name: 'revision' }
            : { kind: 'equals', name: 'revision', value: revision - 1 },
      }),
  };
}

const NO_NAMES: StoredNames = { names: new Map(), revision: 0 };

function parseNames(item: Item, noteUnreadable: NoteUnreadable): StoredNames | undefined {
  const { data, error } = namesItem.safeParse(item);
  if (data !== undefined) return { names: new Map(Object.entries(data.names)), revision: data.revision };
  noteUnreadable(unreadableOf(item, error));
  return undefined;
}
