/**
 * Makes and recognizes the bridge's own tokens, `opb_<id>_<secret>_<checksum>`, and keeps them in the table: of the
 * token itself only the id and a keyed hash. The rules of a token say which of its calls a person must approve first.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import * as z from 'zod';
import { DAY_MS, isoTimeOf } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import { createSecret, type Secret } from '../runtime/secret.ts';
import { tokenKey, tokensListOf } from '../store/keys.ts';
import {
  type Attribute,
  type IndexPosition,
  type Item,
  LIST_INDEX,
  listed,
  type Table,
  type TableIndexes,
  type Update,
  updateOnce,
} from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';
import type { Call } from '../upstream/calls/call.ts';
import { isScope } from './scopes.ts';

export const TOKEN_PREFIX = 'opb';

/** The id is public and names the record. */
const ID_BYTES = 9;

/** 256 bits cannot be guessed at any rate of requests. */
const SECRET_BYTES = 32;

const TOKEN_PATTERN = /^opb_([0-9a-f]{18})_([0-9a-f]{64})_([0-9a-f]{8})$/;

export interface MintedToken {
  readonly id: string;
  /** The token is shown once, to the person who asked for it. */
  readonly token: Secret;
}

/** `randomBytes` must be a cryptographic source of randomness. */
export function mintToken(randomBytes: (count: number) => Uint8Array): MintedToken {
  const id = hexOf(randomBytes(ID_BYTES));
  const unchecked = `${TOKEN_PREFIX}_${id}_${hexOf(randomBytes(SECRET_BYTES))}`;
  return { id, token: createSecret(`${unchecked}_${checksumOf(unchecked)}`) };
}

/**
 * Returns the id of a well-formed token, or undefined when the text cannot be a token of the bridge. It does not say
 * that the token is valid.
 */
export function tokenIdOf(text: string): string | undefined {
  const match = TOKEN_PATTERN.exec(text);
  if (match === null) return undefined;
  const [, id, secret, checksum] = match;
  return checksumOf(`${TOKEN_PREFIX}_${id}_${secret}`) === checksum ? id : undefined;
}

/** Returns an HMAC-SHA-256 as hex. Without the pepper, a copy of the table does not help to guess a token. */
export function tokenHash(text: string, pepper: Secret): string {
  return createHmac('sha256', pepper.reveal()).update(text).digest('hex');
}

/** Compares two hashes, as hex, in constant time. */
export function isSameHash(presented: string, stored: string): boolean {
  const [a, b] = [Buffer.from(presented, 'hex'), Buffer.from(stored, 'hex')];
  return a.length === b.length && a.length > 0 && timingSafeEqual(a, b);
}

function checksumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** A token lives at most this long. A leaked token that is never noticed ends by itself within a quarter of a year. */
export const TOKEN_DAYS_MAX = 90;

/** Scopes of this edition allow the calls of the whole public API, which the bridge passes on since then. */
const SCOPES_EDITION = 2;

const tokenItem = z.object({
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
  /** A person must approve the calls that these rules name (`approval-rules.ts`). */
  approve: z.array(z.string()).optional(),
  created_at: z.string(),
  expires_at_ms: z.number(),
  /** The token was revoked at this time, ISO 8601. It is absent when the token was not revoked. */
  revoked_at: z.string().optional(),
});

export const TOKEN_ATTRIBUTES: readonly string[] = Object.keys(tokenItem.shape);

export type TokenRecord = z.output<typeof tokenItem>;

/** Says whether the token ends within `TOKEN_DAYS_MAX` of its creation. */
function endsInTime({ created_at, expires_at_ms }: TokenRecord): boolean {
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

/** A token has at most this many rules, because each of its commands is compared with all of them. */
export const APPROVAL_RULES_MAX = 20;

type Named = Pick<Call, 'method' | 'path'>;

/** Returns whether the rule names the call. `isSame` compares a segment of the rule with that of the call's path. */
export function ruleNames(
  rule: string,
  { method, path }: Named,
  isSame: (wanted: string, segment: string) => boolean,
): boolean {
  const [wantedMethod, wantedPath = ''] = rule.split(' ');
  const [wanted, segments] = [wantedPath.split('/'), path.split('/')];
  return (
    wantedMethod === method &&
    wanted.length === segments.length &&
    segments.every((segment, place) => wanted[place] === '*' || isSame(wanted[place] ?? '', segment))
  );
}

/** `ids` fill the path of the call. An id is part of one segment, whatever characters it has. */
export function needsApproval(
  rules: readonly string[],
  call: Named,
  ids: Readonly<Record<string, string>>,
): boolean {
  const filled = (segment: string) => segment.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '');
  return rules.some((rule) => ruleNames(rule, call, (wanted, segment) => wanted === filled(segment)));
}
