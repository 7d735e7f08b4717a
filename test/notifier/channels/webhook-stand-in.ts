/**
 * Receives webhooks as a careful program does: it verifies the signature with the library of Standard Webhooks, takes
 * each message id once, and recognises the copies of an alert by the alert's id.
 */

import { Webhook } from 'standardwebhooks';

export const SIGNING_KEY = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
export const RECEIVER_URL = 'https://receiver.example.com/alerts?tenant=secret-part';

interface Payload {
  readonly type: string;
  readonly data: { readonly summary: string; readonly alerts: readonly { readonly id: string }[] };
}

export function createReceiver(key = SIGNING_KEY) {
  const messages = new Map<string, Payload>();
  const copies: string[] = [];
  const alertIds = new Set<string>();
  return {
    messages,
    /** Each copy of a message stands here by its id. */
    copies,
    alertIds,
    fetch: async (_url: unknown, init?: RequestInit): Promise<Response> => {
      const headers = Object.fromEntries(new Headers(init?.headers));
      const body = init?.body as string;
      try {
        verify(key, headers, body);
      } catch {
        return new Response('bad signature', { status: 401 });
      }
      const id = headers['webhook-id'] ?? '';
      if (messages.has(id)) copies.push(id);
      const payload = JSON.parse(body) as Payload;
      messages.set(id, payload);
      for (const alert of payload.data.alerts) alertIds.add(alert.id);
      return new Response(null, { status: 204 });
    },
  };
}

/**
 * Throws unless a signature is that of the library. The library's own check would compare the time of the message with
 * the machine's clock, and tests have a clock of their own.
 */
function verify(key: string, headers: Readonly<Record<string, string>>, body: string): void {
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures } = headers;
  if (!id || !seconds || !signatures) throw new Error('A header is missing');
  const expected = new Webhook(key).sign(id, new Date(Number(seconds) * 1_000), body);
  if (!signatures.split(' ').includes(expected)) throw new Error('No signature fits');
}
