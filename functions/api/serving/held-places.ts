/**
 * Keeps the places in which callers wait, for long polls and for commands that wait for a lock. A caller may hold
 * several places at once across all instances.
 */

import { createHash } from 'node:crypto';
import { HELD_PLACES_MAX } from '../../../shared/config/api-accounts.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { heldPlacesKey } from '../../../shared/store/keys.ts';
import type { Item, Table } from '../../../shared/store/table.ts';

interface Holder {
  readonly account_id: string;
  readonly client_id: string;
}

export interface HeldPlaces {
  /**
   * Resolves to a function that gives the place back, and to undefined when all places are taken. A place that is
   * never given back becomes free after its time.
   */
  take(holder: Holder, kind: HeldKind, forMs: number): Promise<(() => Promise<void>) | undefined>;
}

/** The two kinds are counted separately, so that a caller who waits for events can still have a command waited for. */
export type HeldKind = 'waits' | 'commands';

/** At most this time passes between the end of a request and the write that gives its place back. */
const MARGIN_MS = 5_000;

/** An item is kept for this time after its last place has become free. */
const KEPT_SECONDS = 3_600;

const nameOf = (place: number) => `place_${place}`;

/** An item that holds places has these attributes. */
export const HELD_ATTRIBUTES: readonly string[] = Array.from({ length: HELD_PLACES_MAX }, (_, place) =>
  nameOf(place),
);

export function createHeldPlaces(table: Table, clock: Clock, placesMax: number): HeldPlaces {
  return {
    async take({ account_id, client_id }, kind, forMs) {
      const key = heldPlacesKey(account_id, hashOf(client_id), kind);
      // The loser of a race for one place looks for another. Each race has a winner, so there are no more rounds than
      // places.
      for (let attempt = 0; attempt <= placesMax; attempt++) {
        const nowMs = clock.now();
        const name = freePlace(await table.get(key), placesMax, nowMs);
        if (name === undefined) return undefined;
        const untilMs = nowMs + forMs + MARGIN_MS;
        const result = await table.update({
          key,
          set: {
            kind: 'held_places',
            [name]: untilMs,
            expires_at: Math.ceil(untilMs / 1_000) + KEPT_SECONDS,
          },
          condition: {
            kind: 'any',
            of: [
              { kind: 'absent', name },
              { kind: 'less', name, value: nowMs },
            ],
          },
        });
        if (result === 'applied')
          return async () => {
            const isMine = { kind: 'equals', name, value: untilMs } as const;
            await table.update({ key, set: {}, remove: [name], condition: isMine });
          };
      }
      return undefined;
    },
  };
}

function freePlace(item: Item | undefined, placesMax: number, nowMs: number): string | undefined {
  const names = Array.from({ length: placesMax }, (_, place) => nameOf(place));
  return names.find((name) => {
    const untilMs = item?.[name];
    return typeof untilMs !== 'number' || untilMs < nowMs;
  });
}

/** Hashes the client's id, so that the name of a person does not appear in a key of the table. */
function hashOf(clientId: string): string {
  return createHash('sha256').update(clientId).digest('hex').slice(0, 32);
}
