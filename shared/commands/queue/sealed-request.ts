/**
 * Seals what a queued command sends, and what the upstream answers, because both may hold secrets. The key of the queue is
 * another secret than the pepper, so that the worker can forge no token and no session.
 */

import * as z from 'zod';
import { type SealOptions, seal, unseal } from '../../callers/seal.ts';
import type { Secret } from '../../runtime/secret.ts';

const fields = z.record(z.string(), z.unknown());

/**
 * The request as the API has checked it, with the method and the path template of its call. The seal proves that nobody
 * but the bridge has written them, so the worker needs no table of calls, and a command outlives a change of the table.
 */
const sealedParts = z.object({
  method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string(),
  query: fields,
  body: fields.optional(),
});

export type SealedParts = Readonly<z.output<typeof sealedParts>>;

/**
 * An item of the table has at most 400 kB (Amazon DynamoDB Developer Guide, "Constraints"), and sealing makes a text a
 * third longer. The API takes bodies of 256 kB, and API Gateway takes a request line and headers of 10 kB, so every
 * request that arrives can be kept.
 */
export const REQUEST_BYTES_MAX = 270_000;

/** Returns undefined when the request is too large to be kept. */
export function sealRequest(parts: SealedParts, key: Secret, commandId: string): string | undefined {
  const text = JSON.stringify(parts);
  const isTooLarge = Buffer.byteLength(text) > REQUEST_BYTES_MAX;
  return isTooLarge ? undefined : seal(text, optionsOf('queued-request', key, commandId));
}

/** Returns undefined when the text was sealed with another key or by another version, or was damaged. */
export function openRequest(sealed: string, key: Secret, commandId: string): SealedParts | undefined {
  const text = unseal(sealed, optionsOf('queued-request', key, commandId));
  return text === undefined ? undefined : sealedParts.safeParse(JSON.parse(text)).data;
}

export function sealAnswer(text: string, key: Secret, commandId: string): string {
  return seal(text, optionsOf('queued-answer', key, commandId));
}

export function openAnswer(sealed: string, key: Secret, commandId: string): string | undefined {
  return unseal(sealed, optionsOf('queued-answer', key, commandId));
}

function optionsOf(purpose: SealOptions['purpose'], key: Secret, commandId: string): SealOptions {
  return { key, purpose, boundTo: commandId };
}
