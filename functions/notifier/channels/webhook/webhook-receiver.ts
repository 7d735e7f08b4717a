/** Reads the receiver of a webhook out of its secret: the address, and the keys that sign. */

import * as z from 'zod';

/** The hosts of this machine, to which alerts can go without TLS. */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** A key has 24 to 64 bytes in base64 (Standard Webhooks, section "Signature scheme"). */
const signingKey = z.string().regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/);

const receiverSchema = z.strictObject({
  url: z.string().max(2_000).refine(isAddress),
  secret: signingKey,
  /** While a key is replaced, each message has a signature of both, so that the receiver can change at any time. */
  previous_secret: signingKey.optional(),
});

export type Receiver = z.output<typeof receiverSchema>;

/** Returns undefined when the text is no JSON with an address and a key. */
export function receiverOf(text: string): Receiver | undefined {
  try {
    return receiverSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Returns whether alerts can be sent to this URL. One with a password is refused, because it would be sent in clear. */
function isAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname));
}
