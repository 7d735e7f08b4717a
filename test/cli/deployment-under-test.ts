/**
 * Stands in for a deployment on AWS: the local AWS with table, bus, queue and secrets, the self-tests of the real
 * functions behind a Lambda, and a Scheduler, an SNS and a Slack that answer what a test seeds.
 */

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createApiSelfTest } from '../../functions/api/create-self-test.ts';
import { createCommandsSelfTest } from '../../functions/commands/create-self-test.ts';
import { commandsEnvironment } from '../../functions/commands/invocation.ts';
import { createNotifierSelfTest } from '../../functions/notifier/create-self-test.ts';
import { notifierEnvironment } from '../../functions/notifier/environment.ts';
import { createPollerSelfTest } from '../../functions/poller/create-self-test.ts';
import { type LocalAws, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { createLocalFifoQueue } from '../../infra/local/aws/sqs/event-source.ts';
import { apiEnvironment } from '../../shared/config/api-config.ts';
import { pollerEnvironment } from '../../shared/config/poller-config.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { runSelfTest, type SelfTest } from '../../shared/runtime/self-test.ts';

export const NAME = 'operations-bridge';
export const PEPPER_SECRET = `${NAME}/token-pepper`;
const QUEUE_KEY_SECRET = `${NAME}/queue-key`;
export const WEBHOOK_SECRET = `${NAME}/webhook`;
const KEY_SECRET = `${NAME}/upstream-key`;
const QUEUE_NAME = `${NAME}-commands.fifo`;
const FUNCTION_ARN = `arn:aws:lambda:us-east-1:000000000000:function:${NAME}-poller`;
const ALARMS_ARN = `arn:aws:sns:us-east-1:000000000000:${NAME}-alarms`;

/** What a test changes to seed a mistake. */
export interface Seeds {
  /** AWS denies these actions, by their names in IAM. */
  readonly denied: Set<string>;
  /** The states of the schedules by name. */
  readonly schedules: Map<string, 'ENABLED' | 'DISABLED'>;
  /** The subscriptions of the topic of the alarms. */
  readonly subscriptions: string[];
  /** What each function answers instead of its self-test. */
  readonly answers: Map<string, object>;
  readonly missingFunctions: Set<string>;
  /** What Slack answers to an empty message. */
  slack: readonly [number, string];
}

function inOrder(): Seeds {
  const names = ['lane-0', 'commands-sweep', 'alerts-sweep', 'canary'].map((each) => `${NAME}-${each}`);
  return {
    denied: new Set(),
    schedules: new Map(names.map((name) => [name, 'ENABLED'])),
    subscriptions: [`${ALARMS_ARN}:1`],
    answers: new Map(),
    missingFunctions: new Set(),
    slack: [400, 'no_text'],
  };
}

export interface DeploymentUnderTest extends AsyncDisposable {
  readonly aws: LocalAws;
  /** The variables with which the clients of AWS reach the deployment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Undoes what a test has seeded. */
  reset(): Promise<Seeds>;
}

export async function deployForTest(): Promise<DeploymentUnderTest> {
  let seeds = inOrder();
  const aws = await startLocalAws({
    faults: {
      beforeCall: ({ service, operation }) =>
        seeds.denied.has(`${service}:${operation}`) ? denial(`${service}:${operation}`) : undefined,
    },
  });
  const { origin, close } = await listening((request, body) => answerTo(request, body, { seeds, aws }));
  aws.bus.createBus(NAME);
  aws.queues.add(QUEUE_NAME, createLocalFifoQueue(QUEUE_SETTINGS, { clock: systemClock, newId: randomUUID }));
  aws.queues.standard.create(`${NAME}-undelivered`, {});
  aws.secrets.create(KEY_SECRET, 'a-key');
  aws.secrets.create(QUEUE_KEY_SECRET, 'a-key-of-the-queue-that-is-long-enough');
  aws.secrets.create(PEPPER_SECRET, 'a-pepper-of-tests-that-is-long-enough');
  aws.secrets.create(WEBHOOK_SECRET, `${origin}/slack`);
  const services = ['LAMBDA', 'SCHEDULER', 'SNS'].map((name) => [`AWS_ENDPOINT_URL_${name}`, origin]);
  return {
    aws,
    environment: { ...aws.environment, ...Object.fromEntries(services) },
    async reset() {
      seeds = inOrder();
      aws.secrets.put(PEPPER_SECRET, 'a-pepper-of-tests-that-is-long-enough');
      return seeds;
    },
    async [Symbol.asyncDispose]() {
      await close();
      await aws.close();
    },
  };
}

const QUEUE_SETTINGS = { visibilityTimeoutMs: 1_000, receiveCountMax: 2 };

const denial = (action: string) => ({
  type: 'AccessDeniedException',
  message: `User: arn:aws:sts::000000000000:assumed-role/a-role is not authorized to perform: ${action}`,
  status: 403,
});

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object | string;
}

interface Deployed {
  readonly seeds: Seeds;
  readonly aws: LocalAws;
}

async function answerTo(request: IncomingMessage, body: string, { seeds, aws }: Deployed): Promise<Answer> {
  const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
  if (pathname === '/slack') return { status: seeds.slack[0], body: seeds.slack[1] };
  if (pathname === '/schedules') return refusedOr(seeds, 'scheduler:ListSchedules', () => listed(seeds));
  if (pathname.startsWith('/schedules/'))
    return { body: { Target: { Arn: FUNCTION_ARN, Input: payload() } } };
  if (pathname === '/') return refusedOr(seeds, 'sns:ListSubscriptionsByTopic', () => subscriptionsOf(seeds));
  const name = /functions\/operations-bridge-([a-z]+)\//.exec(decodeURIComponent(pathname))?.[1] ?? '';
  return refusedOr(seeds, 'lambda:InvokeFunction', () => invoked(name, JSON.parse(body), { seeds, aws }));
}

async function refusedOr(
  { denied }: Seeds,
  action: string,
  answer: () => Answer | Promise<Answer>,
): Promise<Answer> {
  if (!denied.has(action)) return answer();
  const { type, message, status } = denial(action);
  return { status, headers: { 'x-amzn-errortype': type }, body: { Message: message } };
}

const listed = ({ schedules }: Seeds): Answer => ({
  body: {
    Schedules: [...schedules].map(([Name, State]) => ({
      Name,
      State,
      GroupName: 'default',
      Target: { Arn: FUNCTION_ARN },
    })),
  },
});

const payload = () =>
  JSON.stringify({
    lane: 0,
    lanes: 1,
    shared_lanes: 1,
    accounts: [
      {
        account_id: 'main',
        upstream_base_url: 'https://console.example/api/v2',
        key_secret_id: KEY_SECRET,
      },
    ],
  });

function subscriptionsOf({ subscriptions }: Seeds): Answer {
  const members = subscriptions.map(
    (arn) => `<member><SubscriptionArn>${arn}</SubscriptionArn><Protocol>email</Protocol></member>`,
  );
  const result = `<Subscriptions>${members.join('')}</Subscriptions>`;
  return {
    headers: { 'content-type': 'text/xml' },
    body: `<ListSubscriptionsByTopicResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><ListSubscriptionsByTopicResult>${result}</ListSubscriptionsByTopicResult></ListSubscriptionsByTopicResponse>`,
  };
}

async function invoked(name: string, event: unknown, { seeds, aws }: Deployed): Promise<Answer> {
  const selfTest = selfTestsOf(aws)[name];
  if (selfTest === undefined || seeds.missingFunctions.has(name)) {
    const headers = { 'x-amzn-errortype': 'ResourceNotFoundException' };
    return { status: 404, headers, body: { Message: `Function not found: ${name}` } };
  }
  return { body: seeds.answers.get(name) ?? (await runSelfTest(selfTest(event))) };
}

/** The functions with the environment that a deployment gives them. */
function selfTestsOf({ endpoint }: LocalAws): Readonly<Record<string, (event: unknown) => SelfTest>> {
  const account = { account_id: 'main', upstream_base_url: 'https://console.example/api/v2' };
  const variables = {
    TABLE_NAME: NAME,
    EVENT_BUS_NAME: NAME,
    UPSTREAM_HOSTS: '["console.example"]',
    ACCOUNTS: JSON.stringify([{ ...account, key_secret_id: KEY_SECRET }]),
    ALERT_CHANNELS: '["slack"]',
    SENDING_INSTANCES_MAX: '2',
    TOKEN_PEPPER_SECRET_ID: PEPPER_SECRET,
    QUEUE_KEY_SECRET_ID: QUEUE_KEY_SECRET,
    COMMANDS_QUEUE_URL: `${endpoint}/000000000000/${QUEUE_NAME}`,
    SLACK_WEBHOOK_SECRET_ID: WEBHOOK_SECRET,
  };
  const ports = { clock: systemClock, newId: randomUUID };
  return {
    poller: createPollerSelfTest(pollerEnvironment.parse(variables), ports),
    api: createApiSelfTest(apiEnvironment.parse(variables), ports),
    commands: createCommandsSelfTest(commandsEnvironment.parse(variables), ports),
    notifier: createNotifierSelfTest(notifierEnvironment.parse(variables), systemClock),
  };
}

async function listening(answerOf: (request: IncomingMessage, body: string) => Promise<Answer>) {
  const server = createServer((request, response) => {
    void text(request)
      .then((body) => answerOf(request, body))
      .then(({ status = 200, headers = {}, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(typeof body === 'string' ? body : JSON.stringify(body));
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
