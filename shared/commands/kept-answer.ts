/**
 * Keeps the first answer to a command for repetitions. It is sealed, because some answers contain secrets that are
 * not declared as such.
 */

import { type SealOptions, seal, unseal } from '../callers/seal.ts';
import type { Secret } from '../runtime/secret.ts';
import type { ForwardedAnswer } from '../upstream/forward.ts';
import type { Attempt, FirstOutcome } from './idempotency-store.ts';

/** This is a bound on the body, because an item of the table has at most 400 kB. Answers to commands have a few. */
export const BODY_CHARACTERS_MAX = 64_000;

export interface KeptAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** Returns undefined when the body is too large to be kept. */
export function sealedBody({ body }: ForwardedAnswer, pepper: Secret, attempt: Attempt): string | undefined {
  const text = new TextDecoder().decode(body);
  return text.length <= BODY_CHARACTERS_MAX ? seal(text, sealOptions(pepper, attempt)) : undefined;
}

/**
 * Returns undefined when no body was kept, or when it cannot be opened, because it was changed or another pepper
 * sealed it.
 */
export function keptAnswer(
  { status, content_type, body }: FirstOutcome,
  pepper: Secret,
  attempt: Attempt,
): KeptAnswer | undefined {
  const text = body === undefined ? undefined : unseal(body, sealOptions(pepper, attempt));
  return text === undefined ? undefined : { status, contentType: content_type, body: text };
}

function sealOptions(pepper: Secret, { keyHash }: Attempt): SealOptions {
  return { pepper, purpose: 'kept-answer', boundTo: keyHash };
}
