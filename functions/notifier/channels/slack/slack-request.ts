/** Makes one request to Slack within the time that its message has. */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { AlertLinks } from '../../wording/wording.ts';

export interface SlackOptions {
  /** The secret is the URL of a webhook, or JSON such as `{"token": "xoxb-...", "channel": "C0123456789"}`. */
  readonly credentials: { current(): Promise<Secret> };
  /** A webhook at another origin is refused, so that a changed secret cannot send alerts to another party. */
  readonly webhookOrigin: string;
  /** The Web API is at this origin. Only tests have another one. */
  readonly apiOrigin?: string;
  readonly links: AlertLinks;
  readonly clock?: Clock;
  readonly fetch?: typeof fetch;
}

export interface Call extends SlackOptions {
  readonly signal: AbortSignal;
}

/** These errors are about the message, and not about the channel, the token, or a proxy before Slack. */
export const MESSAGE_ERRORS: ReadonlySet<string> = new Set([
  'invalid_payload',
  'invalid_blocks',
  'invalid_blocks_format',
  'invalid_attachments',
  'msg_too_long',
  'no_text',
  'msg_blocks_too_long',
]);

/** After these errors the message can never be edited: a person has deleted it, or the team does not let bots edit so late. */
export const EDIT_ERRORS: ReadonlySet<string> = new Set([
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
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
