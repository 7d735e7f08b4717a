/**
 * Checks that a webhook or a forwarded event comes from the holder of the secret, by the Standard Webhooks
 * specification (https://www.standardwebhooks.com).
 */

import { Webhook, WebhookVerificationError } from 'standardwebhooks';

/** The request does not come from the holder of a secret, or it was sent more than five minutes ago. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
}

/** The headers of Node's `http`, of Lambda, or a `Headers` of `fetch`. Names are compared without case. */
export type WebhookHeaders =
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the parsed JSON body when the signature fits one of the secrets; during a change of the secret, give the
 * old one and the new one. Pass the body exactly as it was received: a body that was parsed and written again has other bytes.
 * Throws `SignatureError` when the request is not genuine: answer it with 400 and do nothing else. Throws
 * `SyntaxError` when a genuine body is not JSON.
 */
export function verifySignature(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
): unknown {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const candidates = typeof secrets === 'string' ? [secrets] : secrets;
  const refusals = candidates.map((secret) => refusalOf(text, singleHeaders(headers), secret));
  if (!refusals.includes(undefined))
    throw new SignatureError(`The signature cannot be accepted: ${refusals[0] ?? 'no secret was given'}`);
  return JSON.parse(text);
}

/** Returns undefined for a genuine request. Throws when the secret itself cannot be used. */
function refusalOf(text: string, headers: Record<string, string>, secret: string): string | undefined {
  try {
    new Webhook(secret).verify(text, headers, { jsonParse: false });
    return undefined;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.message;
    throw error;
  }
}

function singleHeaders(headers: WebhookHeaders): Record<string, string> {
  const pairs = isIterable(headers) ? [...headers] : Object.entries(headers);
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => (typeof value === 'string' ? [[name.toLowerCase(), value]] : [])),
  );
}

function isIterable(headers: WebhookHeaders): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers;
}
