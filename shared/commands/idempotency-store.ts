/** What became of a command that was sent with an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). */

import * as z from 'zod';
import type { Clock } from '../runtime/clock.ts';
import { idempotencyKey } from '../store/keys.ts';
import type { Attribute, Condition, Table } from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';

const item = z.object({
  /** Of the request, keyed: a plain hash of a body with a password could be guessed. */
  fingerprint: z.string(),
  /** Which attempt holds the key: only that one may say how it ended. */
  holder: z.string(),
  state: z.enum(['running', 'done', 'unknown', 'free']),
  /** Our clock: a running one that is older is dead, and nobody knows how far it came. */
  running_until_ms: z.number(),
  /** Our clock: the key can be used anew. */
  kept_until_ms: z.number(),
  status: z.number().optional(),
  content_type: z.string().optional(),
  /** Sealed; absent when the answer was declared to hold a secret, or was too large. */
  body: z.string().optional(),
  request_id: z.string().optional(),
});

export const IDEMPOTENCY_ATTRIBUTES: readonly string[] = Object.keys(item.shape);

type Stored = z.output<typeof item>;

export interface FirstOutcome {
  readonly status: number;
  readonly content_type: string | undefined;
  /** Undefined: not kept. */
  readonly body: string | undefined;
  /** Of the first request. */
  readonly request_id: string;
}

export type Claim =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'done'; readonly outcome: FirstOutcome }
  | { readonly kind: 'running' | 'unknown' | 'key_reused' };

export interface Attempt {
  readonly keyHash: string;
  readonly fingerprint: string;
  /** Unique: the id of the request. */
  readonly holder: string;
}

export interface IdempotencyStore {
  claim(attempt: Attempt, runningForMs: number): Promise<Claim>;
  /** The command was executed, and this is what the caller is answered. */
  complete(attempt: Attempt, outcome: FirstOutcome): Promise<void>;
  /** Nobody knows whether it was executed: it is never sent again under this key. */
  loseTrack(attempt: Attempt): Promise<void>;
  /** The upstream did no work: the key is as if it had not been used. */
  release(attempt: Attempt): Promise<void>;
}

/** A client that retries does so within minutes; a day covers a queue that was stuck overnight. */
export const KEPT_MS = 24 * 3_600_000;

/** TTL deletes some time later; the state itself decides by its own clock check before. */
const TTL_EXTRA_SECONDS = 3_600;

export function createIdempotencyStore(
  table: Table,
  clock: Clock,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): IdempotencyStore {
  const write = (
    attempt: Attempt,
    state: Stored['state'],
    outcome: Readonly<Record<string, Attribute | undefined>> = {},
  ) =>
    table.update({
      key: idempotencyKey(attempt.keyHash),
      set: { state, ...outcome },
      condition: { kind: 'all', of: [equals('holder', attempt.holder), equals('state', 'running')] },
    });

  const take = async (attempt: Attempt, runningForMs: number, condition: Condition): Promise<boolean> => {
    const nowMs = clock.now();
    const result = await table.update({
      key: idempotencyKey(attempt.keyHash),
      set: {
        kind: 'idempotency',
        fingerprint: attempt.fingerprint,
        holder: attempt.holder,
        state: 'running',
        running_until_ms: nowMs + runningForMs,
        kept_until_ms: nowMs + KEPT_MS,
        expires_at: Math.floor((nowMs + KEPT_MS) / 1_000) + TTL_EXTRA_SECONDS,
      },
      remove: ['status', 'content_type', 'body', 'request_id'],
      condition,
    });
    return result === 'applied';
  };

  /** `unreadable`: nobody can say what became of the command, so it is never sent again under its key. */
  const read = async (keyHash: string): Promise<Stored | 'unreadable' | undefined> => {
    const key = idempotencyKey(keyHash);
    const found = await table.get(key);
    if (found === undefined) return undefined;
    const parsed = item.safeParse(found);
    if (parsed.success) return parsed.data;
    noteUnreadable({ key, fields: parsed.error.issues.map(({ path }) => path.join('.')) });
    return 'unreadable';
  };

  return {
    async claim(attempt, runningForMs) {
      const unused: Condition = {
        kind: 'any',
        of: [
          // Not only without a state: an item that is there, however damaged, was a command.
          { kind: 'absent', name: 'pk' },
          { kind: 'less', name: 'kept_until_ms', value: clock.now() },
          // Nothing was done under it, so a corrected request may have it as well.
          equals('state', 'free'),
        ],
      };
      if (await take(attempt, runningForMs, unused)) return { kind: 'claimed' };
      const stored = await read(attempt.keyHash);
      // Gone or free since: whoever asks again finds it so.
      if (stored === undefined) return { kind: 'running' };
      if (stored === 'unreadable') return { kind: 'unknown' };
      // An SDK that sends again after a lost reply is refused by its own first write.
      if (stored.holder === attempt.holder && stored.state === 'running') return { kind: 'claimed' };
      if (stored.state === 'free') return { kind: 'running' };
      if (stored.fingerprint !== attempt.fingerprint) return { kind: 'key_reused' };
      return claimOf(stored, clock.now());
    },
    async complete(attempt, { status, content_type, body, request_id }) {
      await write(attempt, 'done', { status, content_type, body, request_id });
    },
    async loseTrack(attempt) {
      await write(attempt, 'unknown');
    },
    async release(attempt) {
      await write(attempt, 'free');
    },
  };
}

/** A running one past its time is dead. It may have been executed: its key is never free again. */
function claimOf(stored: Stored, nowMs: number): Claim {
  if (stored.state === 'done') {
    const { status = 0, content_type, body, request_id = '' } = stored;
    return { kind: 'done', outcome: { status, content_type, body, request_id } };
  }
  if (stored.state === 'running') return { kind: nowMs < stored.running_until_ms ? 'running' : 'unknown' };
  return { kind: 'unknown' };
}

function equals(name: string, value: string): Condition {
  return { kind: 'equals', name, value };
}
