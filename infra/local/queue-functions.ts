/**
 * Runs the functions that queues invoke on this machine as they are deployed: the worker for queued commands and the
 * notifier, each with its rule, its queue with dead letters, and the function's own handler in a thread. Alert channels
 * take their secrets from the environment of `npm start`.
 */

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandEndedPattern, commandsQueue, commandsSchedule } from '../../functions/commands/invocation.ts';
import { CHANNEL_KINDS } from '../../functions/notifier/channels/channels.ts';
import { alertRulePattern } from '../../functions/notifier/deciding/notice-of-event.ts';
import { notifierQueue, notifierSchedule } from '../../functions/notifier/environment.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { UsageError } from '../process/command.ts';
import type { LocalAws } from './aws/local-aws.ts';
import {
  createQueueInvocations,
  type QueueLambda,
  startQueueLambda,
  type WorkerSettings,
} from './aws/local-lambda.ts';
import type { TopicMessage } from './aws/sns.ts';
import {
  createLocalFifoQueue,
  createLocalQueue,
  type LocalFifoQueue,
  type LocalQueue,
} from './aws/sqs/event-source.ts';
import { COMMANDS_QUEUE_NAME, RULE_OWNER } from './bridge-names.ts';
import { type LineStyle, paint } from './event-lines.ts';

export interface LocalCommandsOptions extends WorkerSettings {
  readonly aws: LocalAws;
  readonly busName: string;
  readonly clock: Clock;
  /** The environment of the deployed function. */
  readonly environment: Readonly<Record<string, string>>;
  /** A failure that a person has to know of, as a sentence. */
  readonly onFailure: (sentence: string) => void;
  readonly onLogLine: (line: string) => void;
}

export interface LocalCommands {
  /** Ends the sweeps, and resolves when no invocation is under way. What is in line is kept in the table. */
  close(): Promise<void>;
}

export function startLocalCommands(options: LocalCommandsOptions): LocalCommands {
  const { aws, clock, busName, onFailure } = options;
  const queue = openQueue(options);
  const lambda = startQueueLambda({ ...options, script: 'commands-worker' });
  const invocations = createQueueInvocations(queue, {
    batchSize: commandsQueue.batchSize,
    clock,
    lambda,
  });
  const closing = new AbortController();
  aws.bus.putRule({
    name: 'lock-released',
    busName,
    pattern: commandEndedPattern,
    managedBy: RULE_OWNER,
    // An operation that ends during the shutdown wakes no project here. The sweep of the next run wakes it.
    targets: [async (event) => void (closing.signal.aborted || (await lambda.invoke(event)))],
  });
  const running = invocations.runUntil(closing.signal, commandsSchedule.everyMs);
  return {
    async close() {
      closing.abort();
      await running;
      await invocations.drain().catch(() => onFailure('the last invocation failed'));
      await lambda.close();
    },
  };
}

/** The queue to which the API and the worker send over HTTP. */
function openQueue({ aws, clock, onFailure }: LocalCommandsOptions): LocalFifoQueue {
  const queue = createLocalFifoQueue(commandsQueue, {
    clock,
    newId: randomUUID,
    onDeadLetter: ({ body }) => onFailure(`a wake was given up: ${body.slice(0, 200)}`),
  });
  aws.queues.add(COMMANDS_QUEUE_NAME, queue);
  return queue;
}

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

export function startLocalNotifier(options: LocalNotifierOptions): LocalNotifier {
  const { aws, clock } = options;
  const reportFailure = (sentence: string): void =>
    options.print(paint('red', `notifier: ${sentence}`, options.style));
  const channelEnvironment = setUpChannels(aws, options.channelSecrets, (mail) => showMail(mail, options));
  const queue = queueOfAlerts(options, reportFailure);
  const lambda = startLambda(options, channelEnvironment, reportFailure);
  const invocations = createQueueInvocations(queue, {
    batchSize: notifierQueue.batchSize,
    clock,
    lambda,
  });
  const closing = new AbortController();
  const running = invocations.runUntil(closing.signal, notifierSchedule.everyMs);
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

/** Keeps the mail that people would get where the data is, and shows it. Who sees it finds it in the file. */
function showMail(
  { subject = '', message }: TopicMessage,
  { dataDir, print, style }: Pick<LocalNotifierOptions, 'dataDir' | 'print' | 'style'>,
): void {
  if (dataDir !== undefined)
    appendFileSync(join(dataDir, 'alerts.txt'), `Subject: ${subject}\n\n${message}\n---\n`);
  const colour = subject.startsWith('Info: ') ? 'green' : 'red';
  print(paint(colour, `  | ALERT  ${subject}`, style));
  const [first = '', ...others] = message.trimEnd().split('\n');
  // A mail begins with what its subject says, too.
  const lines = subject.includes(first) ? others : [first, ...others];
  for (const line of lines) print(paint(colour, `  | ${line}`, style));
}

/** `npm start` takes the secret of each channel from a variable, whose name is the key here. */
export type ChannelSecrets = Readonly<Record<string, string | undefined>>;

/** The mails of a local run go through this topic. */
export const LOCAL_TOPIC_ARN = 'arn:aws:sns:us-east-1:000000000000:operations-bridge-alerts';

/** Returns the name of the secret of a channel, as a local run keeps it. */
export function localSecretIdOf(channel: string): string {
  return `operations-bridge/channel-${channel}`;
}

/** Returns the channels' variables in the notifier's environment. Throws `UsageError` before anything is set up. */
export function setUpChannels(
  aws: LocalAws,
  secrets: ChannelSecrets,
  onMail: (message: TopicMessage) => void,
): Readonly<Record<string, string>> {
  checkSecrets(secrets);
  const environment: Record<string, string> = {};
  for (const { name, secret, topicVariable } of CHANNEL_KINDS) {
    const text = secret && secrets[secret.localVariable];
    if (secret !== undefined && text !== undefined) {
      const secretId = localSecretIdOf(name);
      aws.secrets.create(secretId, text);
      environment[secret.variable] = secretId;
    }
    if (topicVariable !== undefined) {
      aws.topics.create(LOCAL_TOPIC_ARN, onMail);
      environment[topicVariable] = LOCAL_TOPIC_ARN;
    }
  }
  return environment;
}

function checkSecrets(secrets: ChannelSecrets): void {
  for (const { secret } of CHANNEL_KINDS) {
    const text = secret && secrets[secret.localVariable];
    const fault = text === undefined ? undefined : secret?.faultOf(text);
    if (fault !== undefined) throw new UsageError(`${secret?.localVariable} ${fault}`);
  }
}
