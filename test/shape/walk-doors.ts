/**
 * Drives the doors of the three walks as AWS does: the handlers of the poller, the API and the notifier with their real clients, between
 * the local AWS, the simulated upstream, and a Slack that takes every message.
 */

import { randomUUID } from 'node:crypto';
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { createApiFunction } from '../../functions/api/create-handler.ts';
import { createNotifierHandler } from '../../functions/notifier/create-handler.ts';
import { notifierEnvironment } from '../../functions/notifier/environment.ts';
import { createPollerHandler } from '../../functions/poller/create-handler.ts';
import { startLocalAws } from '../../infra/local/aws/local-aws.ts';
import {
  ACCOUNT_ID,
  EVENT_BUS_NAME,
  KEY_SECRET_ID,
  PEPPER_SECRET_ID,
  QUEUE_KEY_SECRET_ID,
  TABLE_NAME,
} from '../../infra/local/bridge-names.ts';
import { issueDevelopmentToken } from '../../infra/local/local-api.ts';
import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import { apiEnvironment } from '../../shared/config/api-config.ts';
import { pollerEnvironment } from '../../shared/config/poller-config.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { anOperationRow, PROJECT_ID } from '../doors/poller/rows.ts';
import { createService } from '../doors/poller/service.ts';
import { crossing, network, throughTheDoor } from './trace-calls.ts';

const API_KEY = 'a-key-of-the-upstream';
const PEPPER = 'a-pepper-of-the-walks-that-is-long-enough';
const SLACK_SECRET_ID = 'slack';
const SLACK_HOST = 'hooks.slack.com';

/** A walk of each kind is taken this often; the first ones are those of a cold start. */
const TIMES = 8;

/** A caller may send about one command a second. */
const PAUSE_MS = 1_500;

/** Troubles that are closer together share a message. */
const ALERTS_APART_MS = 3_600_000;

const POLLING_MS = 20_000;
const HISTORY_ROWS = 300;

/** Takes every walk some times. The process can be ended when it resolves. */
export async function driveDoors(): Promise<void> {
  const aws = await startLocalAws();
  Object.assign(process.env, aws.environment, { POWERTOOLS_METRICS_DISABLED: 'true', LOG_LEVEL: 'SILENT' });
  aws.bus.createBus(EVENT_BUS_NAME);
  aws.secrets.create(KEY_SECRET_ID, API_KEY);
  aws.secrets.create(PEPPER_SECRET_ID, PEPPER);
  aws.secrets.create(QUEUE_KEY_SECRET_ID, `${PEPPER}-of-the-queue`);
  aws.secrets.create(SLACK_SECRET_ID, `https://${SLACK_HOST}/services/T0/B0/a-secret`);
  const client = new DynamoDBClient({});
  await client.send(new CreateTableCommand(tableDefinition(TABLE_NAME)));
  await waitUntilTableExists(
    { client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 },
    { TableName: TABLE_NAME },
  );
  await using upstream = await startUpstream({
    seed: 1,
    projectCount: TIMES,
    sessionsPerHour: 0,
    historyMs: 0,
    apiKeys: [API_KEY],
  });
  const account = {
    account_id: ACCOUNT_ID,
    upstream_base_url: upstream.baseUrl,
    key_secret_id: KEY_SECRET_ID,
  };
  await poll({ ...account, poll_interval_seconds: 1 });
  await command(account, aws.endpoint);
  await alert();
  await aws.close();
}

/**
 * Polls one project with a list that is longer than a page. Every second an operation begins and ends: of a compute, or of
 * something from which nothing derives.
 */
async function poll(account: object): Promise<void> {
  const service = createService(() => systemClock.now());
  const environment = pollerEnvironment.parse({ TABLE_NAME, EVENT_BUS_NAME, LOG_LEVEL: 'SILENT' });
  const handler = createPollerHandler(environment, {
    clock: systemClock,
    random: seededRandom(1),
    newId: randomUUID,
    monotonicMs: () => performance.now(),
    http: (request) => crossing(`${request.method} ${request.url.href}`, () => service.send(request)),
  });
  service.addProject(PROJECT_ID);
  const beganMs = systemClock.now();
  for (let number = 0; number < HISTORY_ROWS; number++)
    service.put(anOperationRow(number, beganMs - (HISTORY_ROWS - number) * 60_000, { status: 'finished' }));
  let number = HISTORY_ROWS;
  const changing = setInterval(() => {
    const action = number % 4 < 2 ? 'apply_config' : 'start_compute';
    service.put(
      anOperationRow(number, systemClock.now(), {
        action,
        status: number % 2 === 0 ? 'running' : 'finished',
      }),
    );
    number += 1;
  }, 1_000);
  const endsAtMs = beganMs + POLLING_MS;
  await handler(
    { lane: 0, lanes: 1, shared_lanes: 1, accounts: [account] },
    { getRemainingTimeInMillis: () => endsAtMs - systemClock.now() },
  );
  clearInterval(changing);
}

/** Creates a branch in each project. */
async function command(account: object, endpoint: string): Promise<void> {
  const environment = apiEnvironment.parse({
    TABLE_NAME,
    EVENT_BUS_NAME,
    ACCOUNTS: JSON.stringify([account]),
    ALERT_CHANNELS: '[]',
    TOKEN_PEPPER_SECRET_ID: PEPPER_SECRET_ID,
    QUEUE_KEY_SECRET_ID,
    SENDING_INSTANCES_MAX: '2',
    COMMANDS_QUEUE_URL: `${endpoint}/000000000000/commands.fifo`,
    LOG_LEVEL: 'SILENT',
  });
  const { app } = createApiFunction(environment, {
    clock: systemClock,
    random: seededRandom(2),
    newId: randomUUID,
  });
  const table = createDynamoDbTable(new DynamoDBClient({}), TABLE_NAME);
  const token = await issueDevelopmentToken(table, {
    accountId: ACCOUNT_ID,
    pepper: PEPPER,
    clock: systemClock,
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const listed = await app.request('/api/v2/projects', { headers });
  const { projects } = (await listed.json()) as { readonly projects: readonly { readonly id: string }[] };
  for (const { id } of projects) {
    const answer = await throughTheDoor(async () =>
      app.request(`/api/v2/projects/${id}/branches`, { method: 'POST', headers, body: '{}' }),
    );
    await systemClock.sleep(PAUSE_MS);
    if (!answer.ok) throw new Error(`The command was answered with ${answer.status}: ${await answer.text()}`);
  }
}

/**
 * Hands one failed operation after the other to the notifier, each of another project. The upstream has given them up; a failure that
 * it still repeats would wait for its end.
 */
async function alert(): Promise<void> {
  const { fetch } = network;
  network.fetch = async (input, init) => {
    if (new URL(new Request(input, init).url).host !== SLACK_HOST) return fetch(input, init);
    return new Response('ok');
  };
  const environment = notifierEnvironment.parse({ TABLE_NAME, SLACK_WEBHOOK_SECRET_ID: SLACK_SECRET_ID });
  let laterMs = 0;
  const handler = createNotifierHandler(environment, {
    ...systemClock,
    now: () => systemClock.now() + laterMs,
  });
  for (let time = 0; time < TIMES; time++) {
    laterMs = time * ALERTS_APART_MS;
    const detail = {
      ...operationStateChanged.example,
      id: randomUUID(),
      operation_id: randomUUID(),
      project_id: `a-failing-project-${time}`,
      previous_status: 'running',
      status: 'error',
      terminal: true,
      failures_count: 3,
      new_failures: 1,
      error: 'storage unavailable',
    };
    const body = { source: EVENT_SOURCE, 'detail-type': operationStateChanged.detailType, detail };
    await throughTheDoor(() =>
      handler({ Records: [{ messageId: randomUUID(), body: JSON.stringify(body) }] }),
    );
  }
}
