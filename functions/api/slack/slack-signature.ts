/** Checks that a request comes from Slack (Slack API documentation, "Verifying requests from Slack"). */

import { createHmac, timingSafeEqual } from 'node:crypto';

/** Slack asks to refuse what is older, because a copy of an old request could be sent again. */
const AGE_MS_MAX = 5 * 60_000;

export interface SignedRequest {
  /** The header `X-Slack-Request-Timestamp` has seconds since the Unix epoch. */
  readonly timestamp: string | undefined;
  /** The header `X-Slack-Signature` has `v0=` and the hexadecimal HMAC-SHA256 of `v0:timestamp:body`. */
  readonly signature: string | undefined;
  readonly body: string;
}

/** Compares in a time that does not depend on where the signatures differ. */
export function isSignedBySlack(
  { timestamp = '', signature = '', body }: SignedRequest,
  signingSecret: string,
  nowMs: number,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs - Number(timestamp) * 1_000) > AGE_MS_MAX) return false;
  const expected = Buffer.from(
    `v0=${createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')}`,
  );
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
