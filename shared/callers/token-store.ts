/** The bridge's own tokens in the table: of a token only its id and a keyed hash. */

import * as z from 'zod';
import type { Clock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import { listed } from '../store/items.ts';
import { tokenKey, tokensListOf } from '../store/keys.ts';
import {
  type Attribute,
  type IndexPosition,
  type Item,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';
import { SCOPES, type Scope } from './scopes.ts';

const isScope = (name: string): name is Scope => (SCOPES as readonly string[]).includes(name);

const tokenItem = z.object({
  token_id: z.string(),
  account_id: z.string(),
  /** A colon stands only in the names of people of an OIDC issuer. */
  client_id: z.string().regex(/^[^:]+$/),
  /** Hex; see `tokenHash`. */
  hash: z.string(),
  /** A scope of a newer version means nothing here; the others of the token stay what they are. */
  scopes: z.array(z.string()).transform((names) => names.filter(isScope)),
  /** Absent: every project of the account. */
  project_ids: z.array(z.string()).optional(),
  created_at: z.string(),
  expires_at_ms: z.number(),
  /** ISO 8601; absent while it is valid. */
  revoked_at: z.string().optional(),
});

export const TOKEN_ATTRIBUTES: readonly string[] = Object.keys(tokenItem.shape);

export type TokenRecord = z.output<typeof tokenItem>;

export interface TokenReader {
  read(tokenId: string): Promise<TokenRecord | undefined>;
}

/** An expired token is kept for so long, so that a list still shows whose it was. */
const KEPT_AFTER_EXPIRY_SECONDS = 30 * 24 * 3_600;

export type TokenStore = ReturnType<typeof createTokenStore>;

export function createTokenStore(
  table: Table,
  clock: Clock,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
) {
  const readable = (item: Item): readonly TokenRecord[] => {
    const parsed = tokenItem.safeParse(item);
    if (parsed.success) return [parsed.data];
    const fields = parsed.error.issues.map(({ path }) => path.join('.'));
    noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
    return [];
  };

  return {
    /** A token that cannot be read lets nobody in: it is noted, and looks like one that does not exist. */
    async read(tokenId: string): Promise<TokenRecord | undefined> {
      const item = await table.get(tokenKey(tokenId));
      return item && readable(item)[0];
    },

    /** Rejects when a token of this id is there already: never with good randomness. */
    async create(record: TokenRecord): Promise<void> {
      if (!tokenItem.safeParse(record).success)
        throw new AppError('token_invalid', `Token ${record.token_id} has a field that no token may have`);
      const result = await table.update({
        key: tokenKey(record.token_id),
        set: {
          kind: 'token',
          ...(record as Record<string, Attribute | undefined>),
          expires_at: Math.floor(record.expires_at_ms / 1_000) + KEPT_AFTER_EXPIRY_SECONDS,
          ...listed(tokensListOf(record.account_id), record.created_at),
        },
        condition: { kind: 'absent', name: 'token_id' },
      });
      if (result === 'refused') throw new AppError('token_exists', `Token ${record.token_id} exists already`);
    },

    /** False: there is no such token, or it was revoked before. */
    async revoke(tokenId: string): Promise<boolean> {
      if ((await table.get(tokenKey(tokenId))) === undefined) return false;
      const result = await table.update({
        key: tokenKey(tokenId),
        set: { revoked_at: new Date(clock.now()).toISOString() },
        condition: { kind: 'absent', name: 'revoked_at' },
      });
      return result === 'applied';
    },

    /** All of an account, oldest first. */
    async list(indexes: TableIndexes, accountId: string): Promise<readonly TokenRecord[]> {
      const records: TokenRecord[] = [];
      let start: IndexPosition | undefined;
      for (let page = 0; page < LIST_PAGES_MAX; page++) {
        const partition = tokensListOf(accountId);
        const { keys, next } = await indexes.query({ index: LIST_INDEX, partition, limit: 100, start });
        records.push(...(await table.getMany(keys)).flatMap(readable));
        if (next === undefined) break;
        start = next;
      }
      return records.toSorted((a, b) => a.created_at.localeCompare(b.created_at));
    },
  };
}

/** Ten thousand tokens: more than anybody keeps an eye on. */
export const LIST_PAGES_MAX = 100;
