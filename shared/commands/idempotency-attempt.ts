/**
 * Describes a command with an Idempotency-Key as the table knows it: by hashes that say nothing about the key or
 * about the body.
 */

import { createHmac } from 'node:crypto';
import { inLife } from '../callers/seal.ts';
import type { Secret } from '../runtime/secret.ts';
import type { CommandRequest } from './command-request.ts';
import type { Attempt } from './idempotency-store.ts';

/** The key is printable ASCII, as the string of the draft is (draft-ietf-httpapi-idempotency-key-header). */
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/**
 * The `key` may be in quotes, as the draft writes it, or without them. Returns undefined when it does not have the
 * form that the draft gives it.
 */
export function attemptOf(pepper: Secret, key: string, request: CommandRequest): Attempt | undefined {
  const name = key.replace(/^"(.*)"$/, '$1');
  if (!KEY_PATTERN.test(name)) return undefined;
  const { requestId, caller, target, ids, query, body } = request;
  return {
    keyHash: keyedHash(pepper, ['key', inLife(caller.generation, caller.account_id), caller.client_id, name]),
    fingerprint: keyedHash(pepper, ['request', target.id, sorted(ids), sorted(query), sorted(body ?? {})]),
    holder: requestId,
  };
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
