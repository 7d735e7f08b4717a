import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { CreateTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { notifierQueue } from '../../functions/notifier/environment.ts';
import { setUpChannels, startLocalNotifier } from '../../infra/local/queue-functions.ts';
import { accountWatched } from '../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { anEvent } from '../notifier/channel-under-test.ts';
import { openAws } from './aws/aws-under-test.ts';

const [RED, GREEN] = ['\u001b[31m', '\u001b[32m'];

async function openNotifier() {
  const { aws, tables, events } = await openAws();
  aws.bus.createBus('bridge');
  await tables.send(new CreateTableCommand(tableDefinition('alerts-table')));
  await waitUntilTableExists({ client: tables, maxWaitTime: 10, minDelay: 1 }, { TableName: 'alerts-table' });
  const dataDir = mkdtempSync(join(tmpdir(), 'alerts-'));
  const lines: string[] = [];
  const notifier = startLocalNotifier({
    aws,
    tableName: 'alerts-table',
    busName: 'bridge',
    clock: systemClock,
    speed: 1,
    originMs: 0,
    dataDir,
    channelSecrets: {},
    print: (line) => lines.push(line),
    style: { isColoured: true },
  });
  return {
    dataDir,
    /** Resolves to what is printed of the events, which are all that happens. */
    printed: async (...told: readonly (readonly [detailType: string, detail: object])[]): Promise<string> => {
      const Entries = told.map(([DetailType, detail]) => {
        return { EventBusName: 'bridge', Source: EVENT_SOURCE, DetailType, Detail: JSON.stringify(detail) };
      });
      await events.send(new PutEventsCommand({ Entries }));
      await aws.bus.idle();
      await notifier.close();
      return lines.join('\n');
    },
  };
}

test('an event on the bus becomes an alert in the terminal and in the data folder, through the real SDK', async () => {
  const { dataDir, printed } = await openNotifier();
  const detailOf = (detail: object) => ['Operation State Changed', anEvent(detail).detail] as const;
  const fine = { status: 'finished', failures_count: 0, new_failures: 0, project_id: 'fine' };

  const coloured = await printed(detailOf(fine), detailOf({ project_id: 'broken', failures_count: 3 }));

  const text = stripVTControlCharacters(coloured);
  expect(coloured).toContain(`${RED}  | ALERT  Critical: broken: start_compute failed 3 times`);
  // A mail begins with what its subject says, which is shown once.
  expect(text.match(/broken: start_compute failed 3 times/g)).toHaveLength(1);
  expect(text).not.toContain('fine');
  expect(readFileSync(join(dataDir, 'alerts.txt'), 'utf8')).toContain('Project:    broken');
});

test('an alert that only informs is not red', async () => {
  const { printed } = await openNotifier();

  const coloured = await printed([accountWatched.detailType, accountWatched.example]);

  expect(coloured).toContain(`${GREEN}  | ALERT  Info: `);
});

test('a message that fails stays in the queue as on AWS, and is sent when the cause is removed', async () => {
  const { aws, tables, events } = await openAws();
  aws.bus.createBus('bridge');
  let nowMs = Date.now();
  const lines: string[] = [];
  const seen = (text: string) => lines.some((line) => line.includes(text));
  const failedIds: unknown[] = [];
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  };
  const notifier = startLocalNotifier({
    aws,
    tableName: 'not-there-yet',
    busName: 'bridge',
    clock: { now: () => nowMs, sleep: () => new Promise((resolve) => setImmediate(resolve)) },
    speed: 1,
    originMs: 0,
    dataDir: undefined,
    channelSecrets: {},
    print: (line) => lines.push(line),
    style: { isColoured: false },
    onLogLine: (line) => {
      if (!line.includes('alert.not_stored')) return;
      failedIds.push((JSON.parse(line) as Record<string, unknown>)['message_id']);
    },
  });
  for (let count = 1; count <= 8; count++) {
    const Detail = JSON.stringify(anEvent({ project_id: `kept-${count}`, failures_count: 3 }).detail);
    const entry = {
      EventBusName: 'bridge',
      Source: EVENT_SOURCE,
      DetailType: 'Operation State Changed',
      Detail,
    };
    await events.send(new PutEventsCommand({ Entries: [entry] }));
    await until(() => new Set(failedIds).size === count);
  }
  expect(failedIds).toHaveLength(8);

  await tables.send(new CreateTableCommand(tableDefinition('not-there-yet')));
  await waitUntilTableExists(
    { client: tables, maxWaitTime: 10, minDelay: 1 },
    { TableName: 'not-there-yet' },
  );
  nowMs += notifierQueue.visibilityTimeoutMs;
  await until(() => seen('start_compute'));
  await notifier.close();

  expect(seen('given up')).toBe(false);
});

test('a program on this machine gets the alert by a webhook that its library verifies', async () => {
  const { aws, tables, events } = await openAws();
  aws.bus.createBus('bridge');
  await tables.send(new CreateTableCommand(tableDefinition('webhook-table')));
  await waitUntilTableExists(
    { client: tables, maxWaitTime: 10, minDelay: 1 },
    { TableName: 'webhook-table' },
  );
  const { promise: verified, resolve: received } = Promise.withResolvers<unknown>();
  const key = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const body = Buffer.concat(chunks as Buffer[]).toString();
      received(new Webhook(key).verify(body, request.headers as Record<string, string>));
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`;
  const notifier = startLocalNotifier({
    aws,
    tableName: 'webhook-table',
    busName: 'bridge',
    clock: systemClock,
    speed: 1,
    originMs: 0,
    dataDir: undefined,
    channelSecrets: { ALERT_WEBHOOK: JSON.stringify({ url, secret: key }) },
    print: () => {},
    style: { isColoured: false },
  });
  const { detail } = anEvent({ project_id: 'broken', failures_count: 3 });

  await events.send(
    new PutEventsCommand({
      Entries: [
        {
          EventBusName: 'bridge',
          Source: EVENT_SOURCE,
          DetailType: 'Operation State Changed',
          Detail: JSON.stringify(detail),
        },
      ],
    }),
  );
  await aws.bus.idle();
  const payload = await verified;
  await notifier.close();

  expect(payload).toMatchObject({ data: { severity: 'critical', alerts: [{ id: detail.id }] } });
});

test.each([
  ['PAGERDUTY_ROUTING_KEY', 'u+20characters', 'is not an integration key'],
  ['ALERT_WEBHOOK', '{"url": "http://example.com", "secret": "x"}', 'is not JSON such as'],
])('%s that cannot be right is refused before anything is sent', async (variable, text, fault) => {
  const { aws } = await openAws();

  expect(() => setUpChannels(aws, { [variable]: text }, () => {})).toThrow(`${variable} ${fault}`);
});

test('a webhook URL that is not at Slack is refused before anything is sent', async () => {
  const { aws } = await openAws();
  const options = {
    aws,
    tableName: 'none',
    busName: 'default',
    clock: systemClock,
    dataDir: undefined,
    speed: 1,
    originMs: 0,
  };

  expect(() =>
    startLocalNotifier({
      ...options,
      channelSecrets: { SLACK_WEBHOOK_URL: 'https://hooks.slack.com.evil.example/services/T/B/x' },
      print: () => {},
      style: { isColoured: false },
    }),
  ).toThrow(/SLACK_WEBHOOK_URL is not the URL/);
});
