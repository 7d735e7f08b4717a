/** Places that a caller may hold at once, on whatever instances: long polls, and commands that wait for their caller's sake. */

import { createHash } from 'node:crypto';
import { HELD_PLACES_MAX } from '../../../shared/config/api-config.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { heldPlacesKey } from '../../../shared/store/keys.ts';
import type { Item, Table } from '../../../shared/store/table.ts';

export interface Holder {
  readonly account_id: string;
  readonly client_id: string;
}

export interface HeldPlaces {
  /** Gives the place back. Undefined: all are taken. A place that is never given back is free again after its time. */
  take(holder: Holder, kind: HeldKind, forMs: number): Promise<(() => Promise<void>) | undefined>;
}

/** Counted apart: whoever waits for events can still have a command waited for. */
export type HeldKind = 'waits' | 'commands';

/** From the end of a request to the write that gives its place back. */
const MARGIN_MS = 5_000;

/** TTL deletes the item some time after the last place in it is free. */
const KEPT_SECONDS = 3_600;

const nameOf = (place: number) => `place_${place}`;

/** Names of the attributes of its items. */
export const HELD_ATTRIBUTES: readonly string[] = Array.from({ length: HELD_PLACES_MAX }, (_, place) =>
  nameOf(place),
);

export function createHeldPlaces(
  table: Pick<Table, 'get' | 'update'>,
  clock: Pick<Clock, 'now'>,
  placesMax: number,
): HeldPlaces {
  return {
    async take({ account_id, client_id }, kind, forMs) {
      const key = heldPlacesKey(account_id, hashOf(client_id), kind);
      // Whoever loses a race for one place looks for another; each race has a winner, so this ends.
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

/** The name of a person of an issuer does not stand in a key. */
function hashOf(clientId: string): string {
  return createHash('sha256').update(clientId).digest('hex').slice(0, 32);
}
