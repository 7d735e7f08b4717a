import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSlackChannel } from '../../../functions/notifier/channels/slack.ts';
import { noticeOf } from '../../../functions/notifier/deciding/notice-of-event.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { anEvent } from '../channel-under-test.ts';
import { createVirtualClock } from '../virtual-clock.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Record<string, string>;
}

async function slackThatAnswers(answer: Answer | 'nothing') {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      bodies.push(Buffer.concat(chunks as Buffer[]).toString());
      if (answer === 'nothing') request.socket.destroy();
      else response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, bodies };
}

function channelAt(origin: string, url = `${origin}/services/T0/B0/secret-part`) {
  return createSlackChannel({
    credentials: { current: async () => createSecret(url) },
    webhookOrigin: origin,
    links: {},
  });
}

const message = [
  [noticeOf('Operation State Changed', anEvent().detail)].filter((notice) => notice !== undefined),
];

describe('Slack by webhook', () => {
  test('a message is sent when Slack says ok', async () => {
    const { origin, bodies } = await slackThatAnswers({ status: 200, body: 'ok' });

    expect(await channelAt(origin).send(message)).toEqual({ kind: 'sent' });
    expect(bodies.map((body) => Object.keys(JSON.parse(body) as object))).toEqual([
      ['text', 'unfurl_links', 'unfurl_media', 'attachments'],
    ]);
  });

  test.each<[string, Answer]>([
    ['a server error', { status: 503, body: 'down' }],
    ['a page of HTML with status 200', { status: 200, body: `<html>${'x'.repeat(100_000)}</html>` }],
    ['a redirect', { status: 302, body: '', headers: { location: 'https://evil.example/' } }],
    ['a refusal', { status: 403, body: 'invalid_token' }],
  ])('%s is a failure', async (_what, answer) => {
    const { origin } = await slackThatAnswers(answer);

    expect(await channelAt(origin).send(message)).toMatchObject({ kind: 'failed' });
  });

  test('a message whose blocks are refused goes out as words, and is given up when those are refused too', async () => {
    const { origin, bodies } = await slackThatAnswers({ status: 400, body: 'invalid_blocks' });

    expect(await channelAt(origin).send(message)).toEqual({ kind: 'refused', reason: 'Slack answered 400' });
    expect(bodies.map((body) => Object.keys(JSON.parse(body) as object).length)).toEqual([4, 1]);
    expect(bodies[1]).toMatch(/1 alerts: `solitary-cell-58208823`: `start_compute` failed/);
  });

  test.each([
    ['a page of a proxy', '<html>Bad Request</html>'],
    ['nothing', ''],
    ['a code that is not about the message', 'user_not_found'],
  ])('a 400 with %s is tried again, since nothing says that the message is at fault', async (_what, body) => {
    const { origin } = await slackThatAnswers({ status: 400, body });

    expect(await channelAt(origin).send(message)).toEqual({ kind: 'failed', reason: 'Slack answered 400' });
  });

  test('an answer after 12 s counts, and one that does not come within 25 s is a failure of unknown outcome', async () => {
    const clock = createVirtualClock(0);
    const answeringAfter = (durationMs: number) =>
      createSlackChannel({
        credentials: { current: async () => createSecret('https://hooks.slack.com/services/x') },
        webhookOrigin: 'https://hooks.slack.com',
        links: {},
        clock,
        fetch: async (_url, init) => {
          await clock.sleep(durationMs, init?.signal ?? undefined);
          return new Response('ok');
        },
      });

    const results = Promise.all([answeringAfter(12_000).send(message), answeringAfter(60_000).send(message)]);
    await clock.runUntil(60_000);

    expect(await results).toEqual([
      { kind: 'sent' },
      { kind: 'failed', reason: 'TimeoutError', isUncertain: true },
    ]);
  });

  test.each(['tomorrow', '-5', '', 'Infinity'])('a wait of "%s" counts for nothing', async (wait) => {
    const { origin } = await slackThatAnswers({ status: 429, body: '', headers: { 'retry-after': wait } });

    expect(await channelAt(origin).send(message)).toEqual({ kind: 'failed', reason: 'Slack answered 429' });
  });

  test('the wait of a 429 is handed on whole', async () => {
    const { origin } = await slackThatAnswers({ status: 429, body: '', headers: { 'retry-after': '1800' } });

    expect(await channelAt(origin).send(message)).toMatchObject({ kind: 'failed', retryAfterMs: 1_800_000 });
  });

  test('a broken connection is a failure that does not name the webhook', async () => {
    const { origin } = await slackThatAnswers('nothing');

    const result = await channelAt(origin).send(message);

    expect(result.kind).toBe('failed');
    expect(JSON.stringify(result)).not.toContain('secret-part');
  });

  test('a URL elsewhere gets nothing', async () => {
    const { origin, bodies } = await slackThatAnswers({ status: 200, body: 'ok' });
    const channel = createSlackChannel({
      credentials: { current: async () => createSecret(`${origin}/services`) },
      webhookOrigin: 'https://hooks.slack.com',
      links: {},
    });

    expect(await channel.send(message)).toMatchObject({ kind: 'failed' });
    expect(bodies).toEqual([]);
  });
});

describe('Slack by a bot whose message takes no replies any more', () => {
  /** Takes messages of their own, and no reply to an earlier one. */
  function withoutThreads() {
    const bodies: Record<string, unknown>[] = [];
    const channel = createSlackChannel({
      credentials: {
        current: async () => createSecret(JSON.stringify({ token: 'xoxb-1-a-bot', channel: 'C0123456789' })),
      },
      webhookOrigin: 'https://hooks.slack.com',
      links: {},
      fetch: async (_input, init) => {
        const body = JSON.parse(init?.body as string) as Record<string, unknown>;
        bodies.push(body);
        return body['thread_ts'] === undefined
          ? Response.json({ ok: true, ts: '2.2', channel: 'C0123456789' })
          : Response.json({ ok: false, error: 'cannot_reply_to_message' });
      },
    });
    return { channel, bodies };
  }
  const last = { channel: 'C0123456789', ts: '1.1', silent: [], more_count: 0 };

  test('what would join the message that rang last is a message of its own, which rings', async () => {
    const { channel, bodies } = withoutThreads();

    const sent = await channel.send(message, { last: { ...last, isFresh: true } });

    expect(sent).toMatchObject({ kind: 'sent', ring: { ts: '2.2' }, thread: { ts: '2.2' } });
    expect(bodies.map((body) => body['thread_ts'])).toEqual(['1.1', undefined]);
  });

  test('what goes on in an incident moves to a new message', async () => {
    const { channel } = withoutThreads();
    const [first] = message.flat();
    if (first === undefined) throw new Error('The event makes a notice.');
    const thread = { channel: 'C0123456789', ts: '1.1', first, toldCount: 1, isOver: false };

    expect(await channel.send(message, { thread })).toMatchObject({ kind: 'sent', thread: { ts: '2.2' } });
  });

  test('a ring for what had joined silently stands alone, too', async () => {
    const { channel, bodies } = withoutThreads();

    const sent = await channel.ring?.({ ...last, silent: [{ line: 'given up' }], isFresh: false });

    expect(sent).toMatchObject({ kind: 'sent', ring: { ts: '2.2' } });
    expect(bodies.at(-1)).not.toHaveProperty('reply_broadcast');
  });
});
