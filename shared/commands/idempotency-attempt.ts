/** A command with an Idempotency-Key as the table knows it: by hashes that say nothing about the key or about the body. */

import { createHmac } from 'node:crypto';
import type { Secret } from '../runtime/secret.ts';
import type { CommandRequest } from './command-request.ts';
import type { Attempt } from './idempotency-store.ts';

/** Printable ASCII, as the string of the draft (draft-ietf-httpapi-idempotency-key-header). */
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/** `key`: in quotes, as the draft writes it, or without. Undefined when it is not of the form that the draft gives it. */
export function attemptOf(pepper: Secret, key: string, request: CommandRequest): Attempt | undefined {
  const name = key.replace(/^"(.*)"$/, '$1');
  if (!KEY_PATTERN.test(name)) return undefined;
  const { requestId, caller, target, ids, query, body } = request;
  return {
    keyHash: keyedHash(pepper, ['key', caller.account_id, caller.client_id, name]),
    fingerprint: keyedHash(pepper, ['request', target.id, sorted(ids), sorted(query), sorted(body ?? {})]),
    holder: requestId,
  };
}

/** HMAC-SHA-256 as hex. A plain hash would let a password in the body be guessed by whoever has the table. */
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
