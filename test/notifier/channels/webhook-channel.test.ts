import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { createWebhookChannel } from '../../../functions/notifier/channels/webhook.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { NOON_MS } from '../../builders.ts';
import { aNotice } from '../channel-under-test.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { createReceiver, RECEIVER_URL, SIGNING_KEY } from './webhook-stand-in.ts';

const NEW_KEY = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;

function channelTo(
  fetch: (url: unknown, init?: RequestInit) => Promise<Response>,
  { secret = SIGNING_KEY, clock = createVirtualClock(NOON_MS), ...more }: Record<string, unknown> = {},
) {
  return createWebhookChannel({
    credentials: {
      current: async () => createSecret(JSON.stringify({ url: RECEIVER_URL, secret, ...more })),
    },
    links: { consoleBaseUrl: 'https://bridge.example.com' },
    clock: clock as ReturnType<typeof createVirtualClock>,
    fetch,
  });
}

describe('the signed webhook', () => {
  test('brings every alert with its fields, its words and its link', async () => {
    const receiver = createReceiver();
    const notice = aNotice({ error: 'storage unavailable' });

    expect(await channelTo(receiver.fetch).send([[notice]])).toEqual({ kind: 'sent' });

    const [payload] = receiver.messages.values();
    expect(payload).toMatchObject({
      type: 'operations_bridge.alerts',
      data: {
        summary: 'solitary-cell-58208823: start_compute failed',
        severity: 'warning',
        alerts: [
          {
            id: notice.id,
            kind: 'failed',
            operation_id: notice.operation_id,
            error: 'storage unavailable',
            title: 'Operation failed',
            url: `https://bridge.example.com/console/accounts/main/projects/solitary-cell-58208823/operations/${notice.operation_id}`,
          },
        ],
      },
    });
  });

  test('is a CloudEvent when its secret asks for that, with the same id on every copy', async () => {
    const receiver = createReceiver();
    const types: (string | null)[] = [];
    const channel = channelTo(
      (url, init) => {
        types.push(new Headers(init?.headers).get('content-type'));
        return receiver.fetch(url, init);
      },
      { format: 'cloudevents' },
    );
    const notice = aNotice();

    for (let copy = 0; copy < 2; copy++) expect(await channel.send([[notice]])).toEqual({ kind: 'sent' });

    const [id, event] = [...receiver.messages][0] ?? [];
    expect(event).toMatchObject({
      specversion: '1.0',
      id,
      source: 'operations-bridge',
      type: 'operations_bridge.alerts',
      time: notice.observed_at,
      datacontenttype: 'application/json',
      data: { alerts: [{ id: notice.id }] },
    });
    expect(receiver.copies).toEqual([id]);
    expect(new Set(types)).toEqual(new Set(['application/cloudevents+json; charset=utf-8']));
  });

  test('is verified by the library of Standard Webhooks, at the time at which it comes', async () => {
    const requests: { readonly body: string; readonly headers: Record<string, string> }[] = [];
    const channel = channelTo(
      async (_url, init) => {
        requests.push({ body: init?.body as string, headers: init?.headers as Record<string, string> });
        return new Response();
      },
      { clock: systemClock },
    );

    await channel.send([[aNotice()]]);

    const [{ body, headers } = { body: '', headers: {} }] = requests;
    expect(new Webhook(SIGNING_KEY).verify(body, headers)).toMatchObject({
      type: 'operations_bridge.alerts',
    });
    expect(() => new Webhook(SIGNING_KEY).verify(`${body} `, headers)).toThrow('No matching signature');
  });

  test.each([
    ['the new key', NEW_KEY],
    ['the key before', SIGNING_KEY],
  ])('is taken by a receiver that has %s while the key is replaced', async (_which, key) => {
    const channel = channelTo(createReceiver(key).fetch, { secret: NEW_KEY, previous_secret: SIGNING_KEY });

    expect(await channel.send([[aNotice()]])).toEqual({ kind: 'sent' });
  });

  test('a copy of a message carries the same webhook-id, and another message another one', async () => {
    const receiver = createReceiver();
    const channel = channelTo(receiver.fetch);
    const [a, b, c] = [aNotice(), aNotice(), aNotice()];

    await channel.send([[a, b]]);
    await channel.send([[b, a]]);
    await channel.send([[a, c]]);

    expect([receiver.messages.size, receiver.copies.length]).toEqual([2, 1]);
    expect([...receiver.alertIds].toSorted()).toEqual([a.id, b.id, c.id].toSorted());
  });

  test.each([
    [413, 'refused'],
    [422, 'refused'],
    [400, 'failed'],
    [401, 'failed'],
    [404, 'failed'],
    [410, 'failed'],
    [500, 'failed'],
    [302, 'failed'],
  ])('an answer with %i means that the message is %s', async (status, kind) => {
    const channel = channelTo(async () => new Response('secret-part', { status }));

    const result = await channel.send([[aNotice()]]);

    expect(result).toMatchObject({ kind, reason: `the receiver answered ${status}` });
    expect(JSON.stringify(result)).not.toContain('secret-part');
  });

  test('the wait of a 429 is handed on', async () => {
    const channel = channelTo(
      async () => new Response('', { status: 429, headers: { 'retry-after': '90' } }),
    );

    expect(await channel.send([[aNotice()]])).toMatchObject({ kind: 'failed', retryAfterMs: 90_000 });
  });

  test('a connection that breaks is a failure of unknown outcome, which does not name the address', async () => {
    const channel = channelTo(async () => {
      throw new TypeError(`fetch failed: ${RECEIVER_URL}`);
    });

    expect(await channel.send([[aNotice()]])).toEqual({
      kind: 'failed',
      reason: 'TypeError',
      isUncertain: true,
    });
  });

  test('a receiver that refuses the connection is named by the code of the cause', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    const channel = channelTo((url, init) => fetch(String(url), init), {
      url: `http://127.0.0.1:${port}/alerts`,
    });

    expect(await channel.send([[aNotice()]])).toMatchObject({
      kind: 'failed',
      reason: 'connection refused, ECONNREFUSED',
    });
  });

  test.each([
    ['an address without TLS', { url: 'http://receiver.example.com/' }],
    ['an address with a password', { url: 'https://user:pass@receiver.example.com/' }],
    ['a short key', { secret: 'whsec_c2hvcnQ=' }],
    ['a key without its prefix', { secret: Buffer.alloc(32).toString('base64') }],
    ['a field too many', { header: 'x' }],
  ])('a secret with %s sends nothing', async (_what, fields) => {
    const receiver = createReceiver();

    expect(await channelTo(receiver.fetch, fields).send([[aNotice()]])).toEqual({
      kind: 'failed',
      reason: 'the secret is no JSON with url and secret',
    });
    expect(receiver.messages.size).toBe(0);
  });

  test('a program on this machine can be reached without TLS', async () => {
    const receiver = createReceiver();
    const channel = channelTo(receiver.fetch, { url: 'http://127.0.0.1:8080/alerts' });

    expect(await channel.send([[aNotice()]])).toEqual({ kind: 'sent' });
  });
});
