/** Replays events of a bridge on this machine to a queue behind a rule, as a subscriber who has lost events does. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../shared/runtime/clock.ts';
import { policyFor, QUEUE_ARN } from '../local/aws/subscriptions-under-test.ts';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

let bridge: BridgeOnThisMachine;
let events: EventBridgeClient;
let sqs: SQSClient;
let queueUrl: string;

beforeAll(async () => {
  bridge = await startBridgeOnThisMachine(['--projects', '1', '--seed', '6', '--speed', '20', '--trouble']);
  const file = join(bridge.environment['HOME'] ?? '', '.local/state/operations-bridge/local-run.json');
  const { aws_endpoint: endpoint = '', access_key_id: accessKeyId = '' } = JSON.parse(
    readFileSync(file, 'utf8'),
  ) as Record<string, string>;
  const settings = { endpoint, region: 'us-east-1', credentials: { accessKeyId, secretAccessKey: 'unused' } };
  events = new EventBridgeClient(settings);
  sqs = new SQSClient(settings);
  queueUrl = await subscribeToReplays();
}, 180_000);

afterAll(async () => {
  events.destroy();
  sqs.destroy();
  await bridge[Symbol.asyncDispose]();
});

/** Only copies of a replay get into this queue. */
async function subscribeToReplays(): Promise<string> {
  const bus = 'operations-bridge';
  const EventPattern = JSON.stringify({ source: [bus], resources: [{ prefix: `${bus}/replay/` }] });
  await events.send(new PutRuleCommand({ Name: 'replays', EventBusName: bus, EventPattern }));
  const ruleArn = `arn:aws:events:us-east-1:000000000000:rule/${bus}/replays`;
  const Attributes = { Policy: policyFor(`${QUEUE_ARN}replays`, ruleArn) };
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: 'replays', Attributes }));
  const Targets = [{ Id: 'queue', Arn: `${QUEUE_ARN}replays` }];
  await events.send(new PutTargetsCommand({ Rule: 'replays', EventBusName: bus, Targets }));
  return QueueUrl;
}

interface Received {
  readonly resources: readonly string[];
  readonly detail: { readonly id: string };
}

/** Receives until there are `count` different events. */
async function receive(count: number): Promise<readonly Received[]> {
  const byId = new Map<string, Received>();
  while (byId.size < count) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 2 }),
    );
    const received = Messages.map(({ Body = '' }) => JSON.parse(Body) as Received);
    for (const event of received) byId.set(event.detail.id, event);
    const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle }));
    if (Entries.length > 0) await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
  }
  return [...byId.values()];
}

/** The clocks of the bridge run twenty times as fast as ours, so all of its events are before this time. */
const RANGE = ['--since', '1h', '--until', new Date(systemClock.now() + 24 * 3_600_000).toISOString()];

const countedNow = async (): Promise<number> => {
  const { json } = await bridge.run(['replay', ...RANGE, '--dry-run', '--json']);
  return (json() as { sent_count: number }).sent_count;
};

async function feed(): Promise<readonly { readonly id: string; readonly detail: object }[]> {
  const headers = { authorization: `Bearer ${bridge.token}` };
  const answer = await fetch(`${bridge.url}/bridge/v1/events?limit=100`, { headers });
  return ((await answer.json()) as { events: [] }).events;
}

describe('operations-bridge replay', () => {
  test('shows what it would send, and sends it to the bus again with the same ids and details', {
    timeout: 300_000,
  }, async () => {
    await expect.poll(countedNow, { timeout: 200_000, interval: 1_000 }).toBeGreaterThan(4);
    await expect(bridge.run(['replay', ...RANGE])).rejects.toThrow('Nothing was sent. Add --yes');
    const event_count = await countedNow();

    const { code, json, notes } = await bridge.run(['replay', ...RANGE, '--yes', '--json']);

    const replay = json() as { state: string; sent_count: number; resource: string };
    expect([code, replay.state]).toEqual([0, 'ended']);
    expect(replay.sent_count).toBeGreaterThanOrEqual(event_count);
    expect(notes).toMatch(/The events have "operations-bridge.replay/);
    const received = await receive(event_count);
    expect(new Set(received.flatMap(({ resources }) => resources))).toEqual(new Set([replay.resource]));
    const detailOf = new Map((await feed()).map(({ id, detail }) => [id, detail]));
    const known = received.filter(({ detail }) => detailOf.has(detail.id));
    expect(known.length).toBeGreaterThan(0);
    for (const { detail } of known)
      expect(JSON.stringify(detail)).toBe(JSON.stringify(detailOf.get(detail.id)));
    const { output } = await bridge.run(['replay', '--progress']);
    expect(output).toMatch(
      /^The replay from .* has ended: \d+ events are sent\.( \d+ were sent once more, .*)?$/,
    );
  });

  test('goes on after Ctrl-C, which says how to look at it and how to stop it', async () => {
    const stop = new AbortController();
    const onNote = (line: string) => {
      if (line.startsWith('The events have')) stop.abort(new Error('stopped by the user'));
    };

    const { code, notes } = await bridge.run(['replay', ...RANGE, '--yes'], { signal: stop.signal, onNote });

    expect(code).toBe(130);
    expect(notes).toMatch(/The replay goes on: .*replay --progress" shows it.*replay --stop" stops it\.$/);
    const { output } = await bridge.run(['replay', '--stop']);
    expect(output).toMatch(/(was stopped|has ended): \d+ events are sent\.$/);
  });

  test('of nothing sends nothing', async () => {
    const range = [...RANGE, '--project', 'never-seen-12345678'];
    const { code, output } = await bridge.run(['replay', ...range, '--yes']);

    expect([code, output]).toEqual([0, expect.stringMatching(/has ended: 0 events are sent\.$/)]);
  });
});
