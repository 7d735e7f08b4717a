import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { expect, test } from 'vitest';
import { startLocalNotifier } from '../../infra/local/local-notifier.ts';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { tableDefinition } from '../../shared/store/table-definition.ts';
import { anEvent } from '../notifier/channel-under-test.ts';
import { openAws } from './aws/aws-under-test.ts';

test('an event on the bus becomes an alert in the terminal and under --data, through the real SDK', async () => {
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
    slackWebhookUrl: undefined,
    print: (line) => lines.push(line),
    style: { isColoured: false },
  });
  const entryOf = (detail: object) => ({
    EventBusName: 'bridge',
    Source: EVENT_SOURCE,
    DetailType: 'Operation State Changed',
    Detail: JSON.stringify(anEvent(detail).detail),
  });

  const finished = entryOf({ status: 'finished', failures_count: 0, new_failures: 0, project_id: 'fine' });
  await events.send(new PutEventsCommand({ Entries: [finished, entryOf({ project_id: 'broken' })] }));
  await aws.bus.idle();
  await notifier.close();

  const text = lines.join('\n');
  expect(text).toContain('ALERT  Warning: Operation failed: start_compute in broken');
  expect(text).not.toContain('fine');
  expect(readFileSync(join(dataDir, 'alerts.txt'), 'utf8')).toContain('Project:    broken');
});

test('a webhook that is not at Slack is refused before anything is sent', async () => {
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
      slackWebhookUrl: 'https://hooks.slack.com.evil.example/services/T/B/x',
      print: () => {},
      style: { isColoured: false },
    }),
  ).toThrow(/SLACK_WEBHOOK_URL is not the URL/);
});
