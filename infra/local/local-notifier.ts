/**
 * Runs the notifier on this machine as it is deployed: rule, queue with dead letters, batches, the function's own handler, a schedule,
 * and the alert channels. Mails are shown in the terminal and kept in a file.
 */

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { alertRulePattern } from '../../functions/notifier/deciding/notices/alert-rule.ts';
import { notifierQueue, notifierSchedule } from '../../functions/notifier/invocations.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { createLocalQueue, type LocalQueue } from './aws/services/queue.ts';
import type { TopicMessage } from './aws/services/topics.ts';
import { RULE_OWNER } from './bridge-names.ts';
import type { WorkerSettings } from './lambda/poller-lambda.ts';
import { createQueueInvocations, type QueueInvocations } from './lambda/queue-invocations.ts';
import { type QueueLambda, startQueueLambda } from './lambda/queue-lambda.ts';
import { type ChannelSecrets, setUpChannels } from './local-channels.ts';
import { type LineStyle, paint } from './terminal/event-line.ts';

export interface LocalNotifierOptions extends WorkerSettings {
  readonly aws: LocalAws;
  readonly tableName: string;
  readonly busName: string;
  readonly clock: Clock;
  readonly dataDir: string | undefined;
  readonly channelSecrets: ChannelSecrets;
  /** Alerts link to the pages of the console there. */
  readonly consoleBaseUrl?: string;
  readonly print: (line: string) => void;
  readonly style: LineStyle;
  readonly onLogLine?: (line: string) => void;
}

export interface LocalNotifier {
  /** Handles what is in the queue, ends the sweeps, and resolves when no invocation is under way. */
  close(): Promise<void>;
}

/** Lambda polls a queue all the time. This interval is short enough that a person notices no delay. */
const POLL_MS = 100;

export function startLocalNotifier(options: LocalNotifierOptions): LocalNotifier {
  const { aws, clock } = options;
  const reportFailure = (sentence: string): void =>
    options.print(paint('red', `notifier: ${sentence}`, options.style));
  const channelEnvironment = setUpChannels(aws, options.channelSecrets, (mail) => showMail(mail, options));
  const queue = queueOfAlerts(options, reportFailure);
  const lambda = startLambda(options, channelEnvironment, reportFailure);
  const invocations = createQueueInvocations(queue, notifierQueue.batchSize, (event) => lambda.invoke(event));
  const closing = new AbortController();
  const running = invokeUntil(closing.signal, invocations, clock);
  return {
    async close() {
      try {
        await aws.bus.idle();
        closing.abort();
        await running;
        await invocations.drain();
      } finally {
        closing.abort();
        await lambda.close();
      }
      if (queue.size > 0)
        reportFailure(`${queue.size} events were left in the queue, which ends with this process`);
    },
  };
}

/** Makes the queue that the bus fills with the events that alert people. */
function queueOfAlerts(
  { aws, busName, clock }: Pick<LocalNotifierOptions, 'aws' | 'busName' | 'clock'>,
  reportFailure: (sentence: string) => void,
): LocalQueue {
  const queue = createLocalQueue(notifierQueue, {
    clock,
    newId: randomUUID,
    onDeadLetter: ({ body }) => reportFailure(`an event was given up: ${body.slice(0, 200)}`),
  });
  aws.bus.putRule({
    name: 'alerts',
    busName,
    pattern: alertRulePattern,
    managedBy: RULE_OWNER,
    targets: [(event) => queue.send(JSON.stringify(event))],
  });
  return queue;
}

function startLambda(
  { aws, tableName, consoleBaseUrl, speed, originMs, onLogLine = () => {} }: LocalNotifierOptions,
  channelEnvironment: Readonly<Record<string, string>>,
  onFailure: (sentence: string) => void,
): QueueLambda {
  const environment = {
    ...aws.environment,
    TABLE_NAME: tableName,
    POWERTOOLS_SERVICE_NAME: 'notifier',
    ...channelEnvironment,
    ...(consoleBaseUrl !== undefined && { CONSOLE_BASE_URL: consoleBaseUrl }),
  };
  return startQueueLambda({ script: 'notifier-worker', speed, originMs, environment, onLogLine, onFailure });
}

async function invokeUntil(signal: AbortSignal, invocations: QueueInvocations, clock: Clock): Promise<void> {
  let sweptAtMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    invocations.receiveAll();
    if (clock.now() - sweptAtMs >= notifierSchedule.everyMs) {
      sweptAtMs = clock.now();
      invocations.startSweep();
    }
    await clock.sleep(POLL_MS, signal).catch(() => {});
  }
}

/** Shows the mail that people would get, and keeps it where the data is. */
function showMail(
  { subject = '', message }: TopicMessage,
  { dataDir, print, style }: Pick<LocalNotifierOptions, 'dataDir' | 'print' | 'style'>,
): void {
  const colour = subject.startsWith('Good news') ? 'green' : 'red';
  print(paint(colour, `  | ALERT  ${subject}`, style));
  for (const line of message.trimEnd().split('\n')) print(paint(colour, `  | ${line}`, style));
  if (dataDir !== undefined)
    appendFileSync(join(dataDir, 'alerts.txt'), `Subject: ${subject}\n\n${message}\n---\n`);
}
