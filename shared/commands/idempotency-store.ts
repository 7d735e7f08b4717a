/**
 * Keeps what became of commands that were sent with an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header),
 * by hashes that say nothing about the key or the request.
 */

import { createHmac } from 'node:crypto';
import * as z from 'zod';
import { inLife } from '../callers/seal.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import { idempotencyKey } from '../store/keys.ts';
import type { Condition, Table, Update } from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';
import type { CommandRequest } from '../upstream/forward.ts';

/** The key is printable ASCII, as the string of the draft is (draft-ietf-httpapi-idempotency-key-header). */
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/**
 * The `key` may be in quotes, as the draft writes it, or without them. Returns undefined when it does not have the
 * form that the draft gives it.
 */
export function attemptOf(pepper: Secret, key: string, request: CommandRequest): Attempt | undefined {
  const name = key.replace(/^"(.*)"$/, '$1');
  if (!KEY_PATTERN.test(name)) return undefined;
  const { requestId, caller, keptForMs, replaces } = request;
  return {
    keyHash: keyedHash(pepper, ['key', inLife(caller.generation, caller.account_id), caller.client_id, name]),
    fingerprint: fingerprintOf(pepper, request),
    holder: requestId,
    keptForMs,
    replaces,
  };
}

/** Requests of the same call with the same path, query and body have the same fingerprint. */
export function fingerprintOf(pepper: Secret, { target, ids, query, body }: CommandRequest): string {
  return keyedHash(pepper, ['request', target.id, sorted(ids), sorted(query), sorted(body ?? {})]);
}

/** This is an HMAC-SHA-256 as hex. With a plain hash, a reader of the table could guess a password in the body. */
function keyedHash(pepper: Secret, parts: readonly unknown[]): string {
  return createHmac('sha256', pepper.reveal()).update(JSON.stringify(parts)).digest('hex');
}

/** Equal requests get equal fingerprints, in whatever order their fields were sent. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, each]) => [name, sorted(each)]);
}

const item = z.object({
  /**
   * This is the fingerprint of the request. It is keyed, because a plain hash of a body with a password could be
   * guessed.
   */
  fingerprint: z.string(),
  /** This attempt holds the key. Only it may write how it ended. */
  holder: z.string(),
  state: z.enum(['running', 'done', 'unknown', 'free']),
  /**
   * The attempt may run until this time, by our clock. The process of an attempt that still runs afterwards is dead,
   * and it is unknown how far it came.
   */
  running_until_ms: z.number(),
  /** After this time, by our clock, the key may be used for another command. */
  kept_until_ms: z.number(),
  status: z.number().optional(),
  content_type: z.string().optional(),
  /** The body is sealed. It is absent when the answer cannot be kept without its secrets, or was too large. */
  body: z.string().optional(),
  /** The answer held secrets, which the kept body does not have. */
  is_withheld: z.boolean().optional(),
  request_id: z.string().optional(),
  /** What the command was about and what it has started, for a repetition that gets no body. */
  project_id: z.string().optional(),
  branch_id: z.string().optional(),
  operation_ids: z.array(z.string()).optional(),
});

export const IDEMPOTENCY_ATTRIBUTES: readonly string[] = Object.keys(item.shape);

/** A claim removes what an earlier command under the key has left. */
const OUTCOME_ATTRIBUTES = [
  'status',
  'content_type',
  'body',
  'is_withheld',
  'request_id',
  'project_id',
  'branch_id',
  'operation_ids',
] as const;

type Stored = z.output<typeof item>;

/** What a repetition is told of the first request, whether or not its answer was kept. */
export interface FirstRequest {
  /** This is the id of the first request that used the key. */
  readonly request_id: string;
  readonly project_id?: string | undefined;
  readonly branch_id?: string | undefined;
  readonly operation_ids?: readonly string[] | undefined;
}

export interface FirstOutcome extends FirstRequest {
  readonly status: number;
  readonly content_type: string | undefined;
  /** The body is sealed (encrypted and authenticated). It is undefined when it is not kept. */
  readonly body: string | undefined;
  readonly is_withheld?: boolean | undefined;
}

export type Claim =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'done'; readonly outcome: FirstOutcome }
  | { readonly kind: 'running' | 'unknown' | 'key_reused' };

export interface Attempt {
  readonly keyHash: string;
  readonly fingerprint: string;
  /** This is the id of the request, which is unique. */
  readonly holder: string;
  /** Without it the key is remembered for a day. */
  readonly keptForMs?: number | undefined;
  /** The attempt takes the key from this one, which has ended. */
  readonly replaces?: string | undefined;
}

export interface IdempotencyStore {
  claim(attempt: Attempt, runningForMs: number): Promise<Claim>;
  /** The command was carried out, and the caller gets this answer. */
  complete(attempt: Attempt, outcome: FirstOutcome): Promise<void>;
  /** It is unknown whether the command was carried out: it is never sent again under this key. */
  loseTrack(attempt: Attempt): Promise<void>;
  /** The upstream did no work: the key is as if it had not been used. */
  release(attempt: Attempt): Promise<void>;
}

/** A client that retries does so within minutes; a day also covers a queue that was stuck overnight. */
export const KEPT_MS = 24 * 3_600_000;

/** DynamoDB deletes an item only after its time; until then the claim compares `kept_until_ms` with the clock. */
const TTL_EXTRA_SECONDS = 3_600;

export function createIdempotencyStore(
  table: Table,
  clock: Clock,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): IdempotencyStore {
  const end = async (attempt: Attempt, state: 'done' | 'unknown' | 'free', outcome?: FirstOutcome) => {
    await table.update({
      key: idempotencyKey(attempt.keyHash),
      set: { state, ...outcome },
      condition: { kind: 'all', of: [equals('holder', attempt.holder), equals('state', 'running')] },
    });
  };
  return {
    async claim(attempt, runningForMs) {
      const taken = await table.update(claimUpdate(attempt, clock.now(), runningForMs));
      if (taken === 'applied') return { kind: 'claimed' };
      const stored = await readStored(table, attempt.keyHash, noteUnreadable);
      return decideClaim(stored, attempt, clock.now());
    },
    complete: (attempt, outcome) => end(attempt, 'done', outcome),
    loseTrack: (attempt) => end(attempt, 'unknown'),
    release: (attempt) => end(attempt, 'free'),
  };
}

function claimUpdate(attempt: Attempt, nowMs: number, runningForMs: number): Update {
  const keptUntilMs = nowMs + (attempt.keptForMs ?? KEPT_MS);
  return {
    key: idempotencyKey(attempt.keyHash),
    set: {
      kind: 'idempotency',
      fingerprint: attempt.fingerprint,
      holder: attempt.holder,
      state: 'running',
      running_until_ms: nowMs + runningForMs,
      kept_until_ms: keptUntilMs,
      expires_at: Math.floor(keptUntilMs / 1_000) + TTL_EXTRA_SECONDS,
    },
    remove: OUTCOME_ATTRIBUTES,
    condition: isUnused(attempt, nowMs),
  };
}

function isUnused({ replaces }: Attempt, nowMs: number): Condition {
  return {
    kind: 'any',
    of: [
      // The item itself must be absent, not only its state: an item that is there, however damaged, was a command.
      { kind: 'absent', name: 'pk' },
      { kind: 'less', name: 'kept_until_ms', value: nowMs },
      // Nothing was done under the key, so a corrected request may use it, too.
      equals('state', 'free'),
      ...(replaces === undefined
        ? []
        : [{ kind: 'all', of: [equals('holder', replaces), equals('state', 'done')] } as const]),
    ],
  };
}

async function readStored(
  table: Table,
  keyHash: string,
  noteUnreadable: NoteUnreadable,
): Promise<Stored | 'unreadable' | undefined> {
  const key = idempotencyKey(keyHash);
  const found = await table.get(key);
  if (found === undefined) return undefined;
  const parsed = item.safeParse(found);
  if (parsed.success) return parsed.data;
  noteUnreadable({ key, fields: parsed.error.issues.map(({ path }) => path.join('.')) });
  return 'unreadable';
}

/** Decides from the stored item what becomes of an attempt whose own write was refused. */
function decideClaim(stored: Stored | 'unreadable' | undefined, attempt: Attempt, nowMs: number): Claim {
  // The item has gone since, or is free since: the next attempt can take the key.
  if (stored === undefined) return { kind: 'running' };
  // It is unknown what became of the command, so it is never sent again under its key.
  if (stored === 'unreadable') return { kind: 'unknown' };
  // The SDK repeats a write whose reply was lost, and the repetition is refused by the first write, which is our own.
  if (stored.holder === attempt.holder && stored.state === 'running') return { kind: 'claimed' };
  if (stored.state === 'free') return { kind: 'running' };
  if (stored.fingerprint !== attempt.fingerprint) return { kind: 'key_reused' };
  return claimOf(stored, nowMs);
}

/** An attempt that runs past its time is dead. It may have been carried out, so its key is never free again. */
function claimOf(stored: Stored, nowMs: number): Claim {
  if (stored.state === 'done') {
    const { status = 0, content_type, body, is_withheld, request_id = '' } = stored;
    const { project_id, branch_id, operation_ids } = stored;
    const first = { request_id, project_id, branch_id, operation_ids };
    return { kind: 'done', outcome: { status, content_type, body, is_withheld, ...first } };
  }
  if (stored.state === 'running') return { kind: nowMs < stored.running_until_ms ? 'running' : 'unknown' };
  return { kind: 'unknown' };
}

function equals(name: string, value: string): Condition {
  return { kind: 'equals', name, value };
}
