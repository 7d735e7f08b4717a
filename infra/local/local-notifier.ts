/** The notifier on this machine: fed by the local bus, e-mail in the terminal and in a file, Slack when there is a URL. */

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createAlertStore } from '../../functions/notifier/alert-store.ts';
import { createMailChannel } from '../../functions/notifier/mail-channel.ts';
import { type NotifierDeps, notify, sweep } from '../../functions/notifier/notify.ts';
import { createSlackChannel } from '../../functions/notifier/slack-channel.ts';
import type { Mail } from '../../shared/alerts/render-mail.ts';
import type { AlertLinks } from '../../shared/alerts/wording.ts';
import {
  alertPolicySchema,
  alertRulePattern,
  notifierSchedule,
} from '../../shared/config/notifier-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { UsageError } from './option-values.ts';
import { type LineStyle, paint } from './terminal.ts';

export interface LocalNotifierOptions {
  readonly aws: LocalAws;
  readonly tableName: string;
  readonly busName: string;
  readonly clock: Clock;
  readonly dataDir: string | undefined;
  readonly slackWebhookUrl: string | undefined;
  /** Alerts link to its pages. */
  readonly consoleBaseUrl?: string;
  readonly print: (line: string) => void;
  readonly style: LineStyle;
}

export interface LocalNotifier {
  /** Ends the sweeps and resolves when none is under way. */
  close(): Promise<void>;
}

const SLACK_ORIGIN = 'https://hooks.slack.com';

export function startLocalNotifier(options: LocalNotifierOptions): LocalNotifier {
  const { aws, busName, clock, print, style } = options;
  const client = new DynamoDBClient({
    endpoint: aws.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const deps: NotifierDeps = {
    store: createAlertStore(createDynamoDbTable(client, options.tableName), clock),
    policy: alertPolicySchema.parse({}),
    clock,
    telemetry: terminalTelemetry(options),
    channels: [
      createMailChannel(async (mail) => keepMail(mail, options), linksOf(options)),
      ...slackChannels(options.slackWebhookUrl, linksOf(options)),
    ],
  };
  aws.bus.putRule({
    name: 'alerts',
    busName,
    pattern: alertRulePattern,
    targets: [
      {
        async deliver(event) {
          const { batchItemFailures } = await notify(deps, [
            { messageId: event.id, body: JSON.stringify(event) },
          ]);
          if (batchItemFailures.length > 0) throw new Error('The notifier did not take the event');
        },
        deadLetter: (event) =>
          print(paint('red', `notifier: event ${String(event.detail['id'])} was given up`, style)),
      },
    ],
  });
  const closing = new AbortController();
  const sweeping = sweepUntil(deps, closing.signal);
  return {
    async close() {
      closing.abort();
      await sweeping;
      await aws.bus.close();
      client.destroy();
    },
  };
}

async function sweepUntil(deps: NotifierDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sweep(deps);
    await deps.clock.sleep(notifierSchedule.everyMs, signal).catch(() => {});
  }
}

function linksOf({ consoleBaseUrl }: LocalNotifierOptions): AlertLinks {
  return { consoleBaseUrl };
}

function slackChannels(webhookUrl: string | undefined, links: AlertLinks) {
  if (webhookUrl === undefined) return [];
  if (URL.parse(webhookUrl)?.origin !== SLACK_ORIGIN) {
    throw new UsageError(`SLACK_WEBHOOK_URL is not the URL of an incoming webhook at ${SLACK_ORIGIN}.`);
  }
  const secret = createSecret(webhookUrl);
  return [
    createSlackChannel({ credentials: { current: async () => secret }, webhookOrigin: SLACK_ORIGIN, links }),
  ];
}

/** The card that people would get as an e-mail. */
function keepMail({ subject, body }: Mail, { dataDir, print, style }: LocalNotifierOptions): void {
  const colour = subject.startsWith('Good news') ? 'green' : 'red';
  print(paint(colour, `  | ALERT  ${subject}`, style));
  for (const line of body.trimEnd().split('\n')) print(paint(colour, `  | ${line}`, style));
  if (dataDir !== undefined) {
    appendFileSync(join(dataDir, 'alerts.txt'), `Subject: ${subject}\n\n${body}\n---\n`);
  }
}

/** Only what a person has to know; the alerts themselves are seen. */
function terminalTelemetry({ print, style }: LocalNotifierOptions): Telemetry {
  return {
    log(level, event, fields = {}) {
      if (level !== 'error') return;
      const parts = [event, fields['channel'], fields['reason']].filter((part) => part !== undefined);
      print(paint('red', `notifier: ${parts.join(', ')}`, style));
    },
    measure: () => {},
  };
}
