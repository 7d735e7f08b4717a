/** Turns a refusal of the upstream into an error with the sentence of its body. */

import type { Secret } from '../runtime/secret.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { readJson } from './read-json.ts';
import type { UpstreamError } from './upstream-error.ts';
import { type CallName, refusal } from './upstream-failure.ts';

/** Only one sentence of a refusal is kept, so a proxy's long error page need not be read to its end. */
const REFUSAL_BYTES_MAX = 64_000;

/**
 * `nowMs` is our clock, for a `Retry-After` that is a date. The sentence is left out when the body cannot be read.
 */
export async function refusalOf(
  { method, path }: CallName,
  response: HttpAnswer,
  { key, nowMs }: { readonly key: Secret; readonly nowMs: number },
): Promise<UpstreamError> {
  const body = await readJson(response, REFUSAL_BYTES_MAX).catch(() => undefined);
  return refusal(response, { method, path, body, nowMs, key });
}
