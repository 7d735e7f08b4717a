/**
 * Keeps the bridge's own tokens in the table. They are read for each request of a caller, and people issue, revoke
 * and list them.
 */

import { isoTimeOf } from '../core/time/timestamp.ts';
import type { Clock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import { listed } from '../store/items.ts';
import { tokenKey, tokensListOf } from '../store/keys.ts';
import {
  type Attribute,
  type IndexPosition,
  LIST_INDEX,
  type Table,
  type TableIndexes,
  type Update,
} from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';
import { updateOnce } from '../store/update-once.ts';
import {
  endsInTime,
  readableToken,
  SCOPES_EDITION,
  TOKEN_DAYS_MAX,
  type TokenRecord,
  tokenItem,
} from './token-record.ts';

export interface TokenReader {
  /** Resolves to undefined when there is no such token, or its item cannot be read. */
  read(tokenId: string): Promise<TokenRecord | undefined>;
}

export interface TokenIssuer {
  /** Rejects with `AppError`: `token_invalid`, or `token_exists` when there is a token of this id already. */
  create(record: TokenRecord): Promise<void>;
  /** Resolves to false when there is no such token, or it was revoked before. */
  revoke(tokenId: string): Promise<boolean>;
}

export interface TokenList {
  /** Resolves to all tokens of an account, the oldest first. */
  list(indexes: TableIndexes, accountId: string): Promise<readonly TokenRecord[]>;
}

/** An expired token is kept for this much longer, so that the list still shows whose it was. */
const KEPT_AFTER_EXPIRY_SECONDS = 30 * 24 * 3_600;

/**
 * A list reads at most this many pages of a hundred tokens. Ten thousand tokens are more than people can keep an eye
 * on.
 */
export const LIST_PAGES_MAX = 100;

export function createTokenStore(
  table: Table,
  clock: Clock,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): TokenReader & TokenIssuer & TokenList {
  return {
    ...createTokenReader(table, noteUnreadable),
    ...createTokenIssuer(table, clock),
    ...createTokenList(table, noteUnreadable),
  };
}

export function createTokenReader(table: Table, noteUnreadable: NoteUnreadable): TokenReader {
  return {
    async read(tokenId) {
      const item = await table.get(tokenKey(tokenId));
      return item && readableToken(item, noteUnreadable)[0];
    },
  };
}

function createTokenIssuer(table: Table, clock: Clock): TokenIssuer {
  return {
    async create(record) {
      if (!tokenItem.safeParse(record).success)
        throw new AppError('token_invalid', `Token ${record.token_id} has a field that no token may have`);
      if (!endsInTime(record))
        throw new AppError('token_invalid', `A token is valid for at most ${TOKEN_DAYS_MAX} days`);
      // No other token has this hash.
      const result = await updateOnce(table, creation(record), ['hash']);
      if (result === 'refused') throw new AppError('token_exists', `Token ${record.token_id} exists already`);
    },

    async revoke(tokenId) {
      if ((await table.get(tokenKey(tokenId))) === undefined) return false;
      const revocation: Update = {
        key: tokenKey(tokenId),
        set: { revoked_at: isoTimeOf(clock.now()) },
        condition: { kind: 'absent', name: 'revoked_at' },
      };
      const result = await updateOnce(table, revocation, ['revoked_at']);
      return result === 'applied';
    },
  };
}

function creation(record: TokenRecord): Update {
  return {
    key: tokenKey(record.token_id),
    set: {
      kind: 'token',
      ...(record as Record<string, Attribute | undefined>),
      scopes_edition: SCOPES_EDITION,
      expires_at: Math.floor(record.expires_at_ms / 1_000) + KEPT_AFTER_EXPIRY_SECONDS,
      ...listed(tokensListOf(record.account_id), record.created_at),
    },
    condition: { kind: 'absent', name: 'token_id' },
  };
}

function createTokenList(table: Table, noteUnreadable: NoteUnreadable): TokenList {
  return {
    async list(indexes, accountId) {
      const partition = tokensListOf(accountId);
      const records: TokenRecord[] = [];
      let start: IndexPosition | undefined;
      for (let page = 0; page < LIST_PAGES_MAX; page++) {
        const { keys, next } = await indexes.query({ index: LIST_INDEX, partition, limit: 100, start });
        const items = await table.getMany(keys);
        records.push(...items.flatMap((item) => readableToken(item, noteUnreadable)));
        if (next === undefined) break;
        start = next;
      }
      return records.toSorted((a, b) => a.created_at.localeCompare(b.created_at));
    },
  };
}
