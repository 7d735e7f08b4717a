/** Keeps the catalogue of an account's projects in the table: a fixed number of items, the chunks. */

import * as z from 'zod';
import { expiresAtOf } from '../../../../shared/store/adapters/retention.ts';
import { catalogueKey } from '../../../../shared/store/keys.ts';
import type { Item, Table } from '../../../../shared/store/table.ts';
import type { NoteUnreadable } from '../../../../shared/store/unreadable.ts';
import { CATALOGUE_CHUNKS, type CataloguedProject, cataloguedIn, catalogueText } from './catalogue-text.ts';

/** Holds what one item says. It has revision 0 while the item does not exist. */
interface CatalogueChunk {
  readonly projects: readonly CataloguedProject[];
  readonly revision: number;
  /** It is in milliseconds since the epoch, by the clock of the process that wrote the chunk. */
  readonly writtenAtMs: number;
}

export interface CatalogueStore {
  /** Resolves to all chunks, by their number. One that cannot be read is missing. */
  readAll(): Promise<ReadonlyMap<number, CatalogueChunk>>;
  /** Resolves to `refused` when the item has another revision than the one before `next`. */
  write(chunk: number, next: CatalogueChunk): Promise<'applied' | 'refused'>;
}

/** A version that writes the lines in another way gives the item another `kind`, which this one leaves alone. */
const chunkItem = z.object({
  kind: z.literal('project_catalogue'),
  revision: z.number().int().positive(),
  written_at_ms: z.number(),
  catalogue: z.string(),
});

export const CATALOGUE_ATTRIBUTES: readonly string[] = Object.keys(chunkItem.shape);

const NO_CHUNK: CatalogueChunk = { projects: [], revision: 0, writtenAtMs: Number.NEGATIVE_INFINITY };

export function createCatalogueStore(
  table: Pick<Table, 'getMany' | 'update'>,
  accountId: string,
  noteUnreadable: NoteUnreadable,
): CatalogueStore {
  const chunks = Array.from({ length: CATALOGUE_CHUNKS }, (_, chunk) => chunk);
  return {
    async readAll() {
      const found = await table.getMany(chunks.map((chunk) => catalogueKey(accountId, chunk)));
      const items = new Map(found.map((item) => [item.sk, item]));
      return new Map(
        chunks.flatMap((chunk) => {
          const item = items.get(catalogueKey(accountId, chunk).sk);
          const read = item === undefined ? NO_CHUNK : parseChunk(item, noteUnreadable);
          return read === undefined ? [] : [[chunk, read] as const];
        }),
      );
    },

    write: (chunk, { projects, revision, writtenAtMs }) =>
      table.update({
        key: catalogueKey(accountId, chunk),
        set: {
          kind: 'project_catalogue',
          revision,
          written_at_ms: writtenAtMs,
          catalogue: catalogueText(projects),
          // The chunks of an account that is polled no more disappear.
          expires_at: expiresAtOf({ now: () => writtenAtMs }),
        },
        condition:
          revision === 1
            ? { kind: 'absent', name: 'revision' }
            : { kind: 'equals', name: 'revision', value: revision - 1 },
      }),
  };
}

function parseChunk(item: Item, noteUnreadable: NoteUnreadable): CatalogueChunk | undefined {
  const { data, error } = chunkItem.safeParse(item);
  if (data === undefined) {
    const fields = error.issues.map(({ path }) => path.join('.'));
    noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
    return undefined;
  }
  const { revision, written_at_ms: writtenAtMs, catalogue } = data;
  return { projects: cataloguedIn(catalogue), revision, writtenAtMs };
}
