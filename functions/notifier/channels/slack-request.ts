/** One request to Slack, within the time that its message has, and what an answer that is no success means. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { readBounded } from '../../../shared/runtime/read-bounded.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { SendResult } from './channel.ts';
import type { AlertLinks } from './wording.ts';

export interface SlackOptions {
  /** The URL of a webhook, or JSON: `{"token": "xoxb-...", "channel": "C0123456789"}`. */
  readonly credentials: { current(): Promise<Secret> };
  /** A webhook elsewhere is refused: the secret must not be able to send alerts to somebody else. */
  readonly webhookOrigin: string;
  /** Of the Web API; only tests have another. */
  readonly apiOrigin?: string;
  readonly links: AlertLinks;
  readonly clock?: Clock;
  readonly fetch?: typeof fetch;
}

export interface Call extends SlackOptions {
  readonly signal: AbortSignal;
}

/** `ok` is short, an answer of the Web API has the message in it; a proxy's page of HTML can be long. */
const ANSWER_BYTES_MAX = 100_000;

/** Errors that are about the message and not about the channel, the token, or a proxy before Slack. */
export const MESSAGE_ERRORS: ReadonlySet<string> = new Set([
  'invalid_payload',
  'invalid_blocks',
  'invalid_blocks_format',
  'invalid_attachments',
  'msg_too_long',
  'no_text',
  'msg_blocks_too_long',
]);

export function request(
  { signal, fetch: send = fetch }: Call,
  url: URL,
  { body, headers }: { readonly body: object; readonly headers: Readonly<Record<string, string>> },
): Promise<Response> {
  return send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
    signal,
    redirect: 'error',
  });
}

export function failure(response: Response, reason: string): Exclude<SendResult, { kind: 'sent' }> {
  return { kind: 'failed', reason, retryAfterMs: retryAfterMs(response.headers.get('retry-after')) };
}

/** Whole seconds, as Slack gives them; whatever else stands there counts for nothing. */
function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header ?? 'none');
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
}

export async function readStart(response: Response): Promise<string> {
  return (await readBounded(response.body, ANSWER_BYTES_MAX)).toString();
}
