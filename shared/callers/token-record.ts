/** Defines what the table keeps of a token of the bridge: of the token itself only the id and a keyed hash. */

import * as z from 'zod';
import { DAY_MS } from '../core/time/durations.ts';
import type { Item } from '../store/table.ts';
import type { NoteUnreadable } from '../store/unreadable.ts';
import { isScope } from './scopes.ts';

/** A token lives at most this long. A leaked token that is never noticed ends by itself within a quarter of a year. */
export const TOKEN_DAYS_MAX = 90;

/** Scopes of this edition allow the calls of the whole public API, which the bridge passes on since then. */
export const SCOPES_EDITION = 2;

export const tokenItem = z.object({
  token_id: z.string(),
  account_id: z.string(),
  /** The token belongs to this life of the account. It is absent in the first life. */
  generation: z.number().optional(),
  /** The name has no colon, which only the names of people of an OIDC issuer have. */
  client_id: z.string().regex(/^[^:]+$/),
  /** `tokenHash` has made this text of hex digits. */
  hash: z.string(),
  /** A scope that only a newer version knows is ignored, and the other scopes of the token are kept. */
  scopes: z.array(z.string()).transform((names) => names.filter(isScope)),
  /** It is absent in tokens of the first edition, whose scopes allow only the calls that the bridge passed on then. */
  scopes_edition: z.number().optional(),
  /** It is absent when the token is good for every project of the account. */
  project_ids: z.array(z.string()).optional(),
  /** It is true when commands of the token's bearer are answered when they have settled. */
  settles: z.boolean().optional(),
  created_at: z.string(),
  expires_at_ms: z.number(),
  /** The token was revoked at this time, ISO 8601. It is absent when the token was not revoked. */
  revoked_at: z.string().optional(),
});

export const TOKEN_ATTRIBUTES: readonly string[] = Object.keys(tokenItem.shape);

export type TokenRecord = z.output<typeof tokenItem>;

/** Says whether the token ends within `TOKEN_DAYS_MAX` of its creation. */
export function endsInTime({ created_at, expires_at_ms }: TokenRecord): boolean {
  return expires_at_ms - Date.parse(created_at) <= TOKEN_DAYS_MAX * DAY_MS;
}

/** Returns an empty list when the item cannot be read, which is noted. Such a token is not valid. */
export function readableToken(item: Item, noteUnreadable: NoteUnreadable): readonly TokenRecord[] {
  const parsed = tokenItem.safeParse(item);
  if (parsed.success) return [parsed.data];
  const fields = parsed.error.issues.map(({ path }) => path.join('.'));
  noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
  return [];
}
