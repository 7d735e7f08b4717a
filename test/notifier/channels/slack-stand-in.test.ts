/** Runs the channel against an independent stand-in of Slack, which then shows what people would see. */

import { createServer } from 'node:net';
import { createEmulator, type Emulator } from 'emulate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSlackChannel } from '../../../functions/notifier/channels/slack.ts';
import type { Thread } from '../../../functions/notifier/deciding/incident.ts';
import { noteOperations } from '../../../functions/notifier/deciding/incident-record.ts';
import type { Notice } from '../../../functions/notifier/deciding/notice.ts';
import { noticeOf } from '../../../functions/notifier/deciding/notice-of-event.ts';
import { incidentOf } from '../../../shared/alerts/incidents.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { anEvent } from '../channel-under-test.ts';

const TOKEN = 'xoxb-0000000000-test';
let slack: Emulator;

beforeAll(async () => {
  slack = await createEmulator({
    service: 'slack',
    port: await freePort(),
    seed: {
      slack: {
        team: { name: 'Team', domain: 'team' },
        channels: [{ name: 'alerts' }],
        bots: [{ name: 'bridge' }],
        tokens: [{ token: TOKEN, scopes: ['chat:write', 'channels:read', 'channels:history'] }],
      },
    },
  } as never);
});
afterAll(() => slack.close());

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** The emulator listens on the IPv4 loopback interface, whichever name it reports. */
const origin = () => slack.url.replace('localhost', '127.0.0.1');

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
async function ask(method: string, body: object): Promise<any> {
  const response = await fetch(`${origin()}/api/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify(body),
  });
  return response.json();
}

const channelId = async (): Promise<string> => {
  const { channels } = (await ask('conversations.list', {})) as { channels: { id: string; name: string }[] };
  return channels.find(({ name }) => name === 'alerts')?.id ?? '';
};

const channelWith = (credentials: string) =>
  createSlackChannel({
    credentials: { current: async () => createSecret(credentials) },
    webhookOrigin: origin(),
    apiOrigin: origin(),
    links: {},
  });

const notice = (fields: object = {}): Notice => {
  const made = noticeOf('Operation State Changed', { ...anEvent().detail, ...fields });
  if (made === undefined) throw new Error('This event alerts nobody');
  return made;
};

const threadOf = (result: object): Thread | undefined =>
  'thread' in result ? (result.thread as Thread) : undefined;

describe('Slack, by another implementation', () => {
  test('a bot posts one message per incident, grows it, and reports the end in its thread', async () => {
    const id = await channelId();
    const bot = channelWith(JSON.stringify({ token: TOKEN, channel: id }));

    const first = await bot.send([[notice()]]);
    const second = await bot.send([[notice({ id: 'b', failures_count: 2 })]], { thread: threadOf(first) });
    const end = await bot.send(
      [
        [
          notice({
            id: 'c',
            status: 'finished',
            terminal: true,
            new_failures: 0,
            failures_count: 2,
            previous_status: 'failed',
            operation_updated_at: '2026-01-16T21:02:49Z',
          }),
        ],
      ],
      { thread: threadOf(second) },
    );

    const { ts = '' } = threadOf(first) ?? {};
    const head = (await ask('conversations.history', { channel: id })).messages.find(
      (message: { ts: string }) => message.ts === ts,
    );
    const replies = (await ask('conversations.replies', { channel: id, ts })).messages as { ts: string }[];
    expect([first.kind, second.kind, end.kind]).toEqual(['sent', 'sent', 'sent']);
    expect(replies.filter((reply) => reply.ts !== ts)).toHaveLength(2);
    expect(JSON.stringify(head)).toContain('recovered after 41 s');
    expect(threadOf(end)).toMatchObject({ ts, toldCount: 3, isOver: true });
  });

  test('its message does not say that it has recovered while another operation of the incident still fails', async () => {
    const id = await channelId();
    const bot = channelWith(JSON.stringify({ token: TOKEN, channel: id }));
    const end = { status: 'finished', terminal: true, new_failures: 0, previous_status: 'failed' };
    const failures = [
      notice({ operation_id: 'one', sequence: 1 }),
      notice({ operation_id: 'two', sequence: 1 }),
    ];
    const ends = [
      notice({ operation_id: 'one', sequence: 2, ...end }),
      notice({ operation_id: 'two', sequence: 2, ...end }),
    ];
    const headOf = async (thread: Thread | undefined) => {
      const { messages } = await ask('conversations.history', { channel: id });
      return JSON.stringify(messages.find(({ ts }: { ts: string }) => ts === thread?.ts));
    };

    const incident = incidentOf(notice());
    const begun = threadOf(await bot.send([failures]));
    const afterBoth = noteOperations({}, failures);
    const one = threadOf(
      await bot.send([ends.slice(0, 1)], { thread: begun, operations: new Map([[incident, afterBoth]]) }),
    );
    const headAfterOne = await headOf(one);
    const afterOne = noteOperations(afterBoth, ends.slice(0, 1));
    const two = threadOf(
      await bot.send([ends.slice(1)], { thread: one, operations: new Map([[incident, afterOne]]) }),
    );

    expect(headAfterOne).toContain('alerts so far');
    expect(headAfterOne).not.toContain('recovered');
    expect([one?.isOver, two?.isOver]).toEqual([false, true]);
    expect(await headOf(two)).toContain('recovered');
  });

  test('after its end an incident begins another message', async () => {
    const bot = channelWith(JSON.stringify({ token: TOKEN, channel: await channelId() }));
    const over: Thread = { channel: 'C', ts: '1.1', first: notice(), toldCount: 2, isOver: true };

    const sent = await bot.send([[notice({ id: 'd' })]], { thread: over });

    expect(threadOf(sent)?.ts).not.toBe('1.1');
    expect(threadOf(sent)).toMatchObject({ toldCount: 1, isOver: false });
  });

  test('alerts of several incidents are one message, into whose thread goes what follows of them', async () => {
    const bot = channelWith(JSON.stringify({ token: TOKEN, channel: await channelId() }));

    const sent = await bot.send([[notice({ id: 'e' })], [notice({ id: 'f', action: 'create_branch' })]]);

    expect(sent).toMatchObject({ kind: 'sent', ring: { channel: expect.any(String) } });
    expect(sent).toMatchObject({ thread: { is_of_many: true, isOver: false, toldCount: 2 } });
  });

  test('a channel that does not exist is a failure that names it', async () => {
    const bot = channelWith(JSON.stringify({ token: TOKEN, channel: 'C000000000X' }));

    expect(await bot.send([[notice()]])).toMatchObject({
      kind: 'failed',
      reason: 'Slack answered channel_not_found',
    });
  });
});
