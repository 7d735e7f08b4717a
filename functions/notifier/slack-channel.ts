/** Slack by incoming webhook. Its answers are judged by what Slack documents: 200 with `ok`, and anything else failed. */

import type { ChannelPace } from '../../shared/alerts/message-plan.ts';
import { renderSlack, SLACK_NOTICES_MAX } from '../../shared/alerts/render-slack.ts';
import type { AlertLinks } from '../../shared/alerts/wording.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import type { Channel, SendResult } from './send-untold.ts';

export interface SlackOptions {
  readonly webhookUrl: { current(): Promise<Secret> };
  /** A URL elsewhere is refused: the secret must not be able to send alerts to somebody else. */
  readonly origin: string;
  readonly links: AlertLinks;
}

/** Slack takes a message a second; people take fewer. */
const PACE: ChannelPace = { messageCountMax: 5, perMs: 60_000, noticesPerMessageMax: SLACK_NOTICES_MAX };
const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 4_096;

export function createSlackChannel({ webhookUrl, origin, links }: SlackOptions): Channel {
  return {
    name: 'slack',
    pace: PACE,
    async send(message) {
      try {
        const url = URL.parse((await webhookUrl.current()).reveal());
        if (url?.origin !== new URL(origin).origin) {
          return { kind: 'failed', reason: `the webhook's URL is not at ${origin}` };
        }
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(renderSlack(message, links)),
          signal: AbortSignal.timeout(TIMEOUT_MS),
          redirect: 'error',
        });
        return await judge(response);
      } catch (error) {
        // The message of a fetch error can hold the URL, and the URL is the secret.
        return { kind: 'failed', reason: toError(error).name };
      }
    },
  };
}

async function judge(response: Response): Promise<SendResult> {
  const text = await readStart(response);
  if (response.status === 200 && text.trim() === 'ok') return { kind: 'sent' };
  const seconds = Number(response.headers.get('retry-after') ?? 'none');
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  return { kind: 'failed', reason: `Slack answered ${response.status}`, retryAfterMs };
}

/** A proxy's page of HTML can be long; `ok` is short. */
async function readStart(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk as Uint8Array);
    sizeBytes += (chunk as Uint8Array).length;
    if (sizeBytes > ANSWER_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).toString();
}
