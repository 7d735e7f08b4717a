/** Replays from an archive with the real client of AWS, against a server that answers as the EventBridge API does. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  archiveReplayOf,
  followArchiveReplay,
  startArchiveReplay,
} from '../../../infra/cli/replaying/archive-replay.ts';
import { UsageError } from '../../../infra/process/option-values.ts';

const RULE = 'arn:aws:events:eu-central-1:123456789012:rule/the-bus/orders';
const RANGE = { since: '2026-01-16T21:00:00.000Z', until: '2026-01-16T22:00:00.000Z' };

interface Call {
  readonly name: string | undefined;
  readonly body: unknown;
}

/** Answers DescribeReplay with one state after the other, and stays at the last one. */
async function anEventBridge(...states: readonly object[]) {
  const calls: Call[] = [];
  const left = [...states];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const name = String(request.headers['x-amz-target']).split('.').at(-1);
    calls.push({ name, body: await json(request) });
    const body = name === 'StartReplay' ? { State: 'STARTING' } : left.length > 1 ? left.shift() : left[0];
    response.setHeader('content-type', 'application/x-amz-json-1.1').end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const client = new EventBridgeClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'AKIATEST', secretAccessKey: 'unused' },
  });
  onTestFinished(() => client.destroy());
  return { client, calls };
}

const signal = new AbortController().signal;
const clock = { now: () => 0, sleep: async () => {} };

describe('a replay from the archive', () => {
  const replay = archiveReplayOf(RULE, undefined, 'backfill-1');

  test('goes from the archive of the bus to the one rule, for the range that was asked for', async () => {
    const { client, calls } = await anEventBridge();

    await startArchiveReplay(client, replay, RANGE, signal);

    expect(calls).toEqual([
      {
        name: 'StartReplay',
        body: {
          ReplayName: 'backfill-1',
          EventSourceArn: 'arn:aws:events:eu-central-1:123456789012:archive/the-bus',
          EventStartTime: Date.parse(RANGE.since) / 1_000,
          EventEndTime: Date.parse(RANGE.until) / 1_000,
          Destination: {
            Arn: 'arn:aws:events:eu-central-1:123456789012:event-bus/the-bus',
            FilterArns: [RULE],
          },
        },
      },
    ]);
  });

  test('is followed to its end, with a sentence whenever it has come further', async () => {
    const running = { State: 'RUNNING', EventLastReplayedTime: Date.parse('2026-01-16T21:30:00Z') / 1_000 };
    const { client } = await anEventBridge({ State: 'STARTING' }, running, running, { State: 'COMPLETED' });
    const notes: string[] = [];

    const outcome = await followArchiveReplay(client, replay, {
      clock,
      signal,
      note: (text) => void notes.push(text),
    });

    expect(outcome).toEqual({ state: 'COMPLETED', reason: undefined });
    expect(notes).toEqual([
      'The replay is starting.',
      'The replay is running, sent up to 2026-01-16T21:30:00.000Z.',
      'The replay is completed.',
    ]);
  });

  test('says why it failed', async () => {
    const { client } = await anEventBridge({ State: 'FAILED', StateReason: 'The archive is being changed.' });

    expect(await followArchiveReplay(client, replay, { clock, signal, note: () => {} })).toEqual({
      state: 'FAILED',
      reason: 'The archive is being changed.',
    });
  });

  test('says what to check when AWS refuses to start it', async () => {
    const client = new EventBridgeClient({
      region: 'eu-central-1',
      credentials: () => Promise.reject(new Error('Could not load credentials')),
    });
    onTestFinished(() => client.destroy());

    await expect(startArchiveReplay(client, replay, RANGE, signal)).rejects.toThrow(
      new UsageError(
        'EventBridge did not start the replay (Error: Could not load credentials); check the AWS credentials, --rule and --archive.',
      ),
    );
  });

  test('that cannot be followed goes on, and the error says how to look at it', async () => {
    const { client } = await anEventBridge();
    const follow = () => followArchiveReplay(client, replay, { clock, signal, note: () => {} });
    client.destroy();
    client.config.credentials = () => Promise.reject(new Error('The token has expired'));

    await expect(follow()).rejects.toThrow(
      /The replay backfill-1 goes on, but it cannot be followed \(Error: The token has expired\); "aws events describe-replay --replay-name backfill-1" shows it\./,
    );
  });

  test('may take an archive of another name, in every partition of AWS', () => {
    const rule = 'arn:aws-cn:events:cn-north-1:123456789012:rule/bus/rule';

    expect(archiveReplayOf(rule, 'kept', 'r')).toMatchObject({
      region: 'cn-north-1',
      archiveArn: 'arn:aws-cn:events:cn-north-1:123456789012:archive/kept',
    });
  });

  test.each([
    'orders',
    'arn:aws:events:eu-central-1:123456789012:rule/orders',
    'arn:aws:sqs:eu-central-1:1:q',
  ])("to %s is refused, because it is no rule of the bridge's bus", (rule) => {
    expect(() => archiveReplayOf(rule, undefined, 'r')).toThrow('it takes the ARN of a rule of the bus');
  });
});
