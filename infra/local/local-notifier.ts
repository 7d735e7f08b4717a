/**
 * The notifier on this machine, as it is deployed: rule, queue with dead letters, batches, the function's own handler in a thread
 * of its own, a schedule, and a topic, whose mails are shown in the terminal and kept in a file. Slack when there is a URL.
 */

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import type { BatchResponse } from '../../functions/notifier/notify.ts';
import { alertRulePattern, notifierQueue, notifierSchedule } from '../../shared/config/notifier-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { UsageError } from '../process/option-values.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { createLocalQueue, type QueueMessage } from './aws/queue.ts';
import type { TopicMessage } from './aws/topics.ts';
import type { WorkerSettings } from './local-lambda.ts';
import type { FromNotifier, ToNotifier } from './notifier-worker.ts';
import { type LineStyle, paint } from './terminal.ts';

export interface LocalNotifierOptions extends WorkerSettings {
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
  readonly onLogLine?: (line: string) => void;
}

export interface LocalNotifier {
  /** Handles what is in the queue, ends the sweeps, and resolves when nothing is under way. */
  close(): Promise<void>;
}

const SLACK_ORIGIN = 'https://hooks.slack.com';
const SLACK_SECRET_ID = 'operations-bridge/slack-webhook';
const TOPIC_ARN = 'arn:aws:sns:us-east-1:000000000000:operations-bridge-alerts';

/** Lambda polls a queue all the time; a local one is looked at as often as nobody notices. */
const POLL_MS = 100;

/** Lambda begins with five pollers of a queue; the sweep is one more. */
const INVOCATIONS_MAX = 6;

export function startLocalNotifier(options: LocalNotifierOptions): LocalNotifier {
  const { aws, busName, clock, print, style } = options;
  const slackWebhookUrl = checkedWebhook(options.slackWebhookUrl);
  aws.topics.create(TOPIC_ARN, (message) => keepMail(message, options));
  if (slackWebhookUrl !== undefined) aws.secrets.create(SLACK_SECRET_ID, slackWebhookUrl);
  const queue = createLocalQueue(notifierQueue, {
    clock,
    newId: randomUUID,
    onDeadLetter: ({ body }) =>
      print(paint('red', `notifier: an event was given up: ${body.slice(0, 200)}`, style)),
  });
  aws.bus.putRule({
    name: 'alerts',
    busName,
    pattern: alertRulePattern,
    targets: [(event) => queue.send(JSON.stringify(event))],
  });
  const lambda = startLambda(options, slackWebhookUrl !== undefined);
  const closing = new AbortController();

  const underWay = new Set<Promise<unknown>>();
  const start = (task: Promise<unknown>): void => {
    underWay.add(task);
    void task.finally(() => underWay.delete(task));
  };

  const handle = async (batch: readonly QueueMessage[]): Promise<void> => {
    const Records = batch.map(({ messageId, body }) => ({ messageId, body, eventSource: 'aws:sqs' }));
    const response = await lambda.invoke({ Records });
    const failed = new Set(
      response?.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier) ??
        batch.map(({ messageId }) => messageId),
    );
    // What failed stays hidden until its time-out is over, as on AWS: released at once, it would use up its tries in a second.
    for (const { messageId } of batch) if (!failed.has(messageId)) queue.delete(messageId);
  };

  /** Several batches at once, as Lambda does: one that waits for a slow channel keeps no other one waiting. */
  const receiveAll = (): void => {
    while (underWay.size < INVOCATIONS_MAX) {
      const batch = queue.receive(notifierQueue.batchSize);
      if (batch.length === 0) return;
      start(handle(batch));
    }
  };

  const running = (async () => {
    let sweptAtMs = Number.NEGATIVE_INFINITY;
    while (!closing.signal.aborted) {
      receiveAll();
      if (clock.now() - sweptAtMs >= notifierSchedule.everyMs) {
        sweptAtMs = clock.now();
        start(lambda.invoke({}));
      }
      await clock.sleep(POLL_MS, closing.signal).catch(() => {});
    }
  })();

  const drain = async (): Promise<void> => {
    for (;;) {
      receiveAll();
      if (underWay.size === 0) return;
      await Promise.all(underWay);
    }
  };

  return {
    async close() {
      await aws.bus.idle();
      closing.abort();
      await running;
      await drain();
      await lambda.close();
      if (queue.size > 0)
        print(
          paint(
            'red',
            `notifier: ${queue.size} events were left in the queue, which ends with this process`,
            style,
          ),
        );
    },
  };
}

/** Every failure is told and none is thrown: what was not handled comes again. */
function startLambda(options: LocalNotifierOptions, hasSlack: boolean) {
  const { aws, tableName, consoleBaseUrl, speed, originMs, print, style, onLogLine } = options;
  const worker = new Worker(new URL('./notifier-worker.ts', import.meta.url), {
    workerData: { speed, originMs } satisfies WorkerSettings,
    env: {
      ...aws.environment,
      TABLE_NAME: tableName,
      ALERT_TOPIC_ARN: TOPIC_ARN,
      POWERTOOLS_SERVICE_NAME: 'notifier',
      ...(hasSlack && { SLACK_WEBHOOK_SECRET_ID: SLACK_SECRET_ID }),
      ...(consoleBaseUrl !== undefined && { CONSOLE_BASE_URL: consoleBaseUrl }),
    },
    stdout: true,
    stderr: true,
  });
  for (const stream of [worker.stdout, worker.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      onLogLine?.(line);
      const told = errorIn(line);
      if (told !== undefined) print(paint('red', `notifier: ${told}`, style));
    });
  }
  const waiting = new Map<number, (answer: FromNotifier) => void>();
  worker.on('message', (answer: FromNotifier) => waiting.get(answer.id)?.(answer));
  worker.on('error', ({ message }) => {
    for (const [id, tell] of waiting) tell({ id, kind: 'failed', reason: message });
  });
  let count = 0;
  return {
    async invoke(event: unknown): Promise<BatchResponse | undefined> {
      const id = ++count;
      const { promise, resolve } = Promise.withResolvers<FromNotifier>();
      waiting.set(id, resolve);
      worker.postMessage({ id, event } satisfies ToNotifier);
      const answer = await promise;
      waiting.delete(id);
      if (answer.kind === 'done') return answer.response;
      print(paint('red', `notifier: the invocation failed: ${answer.reason}`, style));
      return undefined;
    },
    close: async () => void (await worker.terminate()),
  };
}

/** Only what a person has to know; the alerts themselves are seen. */
function errorIn(line: string): string | undefined {
  if (!line.includes('"ERROR"')) return undefined;
  const { message, channel, reason } = JSON.parse(line) as Record<string, unknown>;
  return [message, channel, reason].filter((part) => typeof part === 'string').join(', ');
}

function checkedWebhook(url: string | undefined): string | undefined {
  if (url !== undefined && URL.parse(url)?.origin !== SLACK_ORIGIN) {
    throw new UsageError(`SLACK_WEBHOOK_URL is not the URL of an incoming webhook at ${SLACK_ORIGIN}.`);
  }
  return url;
}

/** The card that people would get as an e-mail. */
function keepMail(
  { subject = '', message }: TopicMessage,
  { dataDir, print, style }: LocalNotifierOptions,
): void {
  const colour = subject.startsWith('Good news') ? 'green' : 'red';
  print(paint(colour, `  | ALERT  ${subject}`, style));
  for (const line of message.trimEnd().split('\n')) print(paint(colour, `  | ${line}`, style));
  if (dataDir !== undefined)
    appendFileSync(join(dataDir, 'alerts.txt'), `Subject: ${subject}\n\n${message}\n---\n`);
}
