/** Wires the bridge to its stand-ins: upstream, local AWS, table, bus, secret, schedule, terminal. */

import {
  CreateTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import type * as z from 'zod';
import type { apiAccounts } from '../../shared/config/api-config.ts';
import type { PollAccountRequest } from '../../shared/config/poller-config.ts';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { createDynamoDbIndexes } from '../../shared/store/dynamodb-indexes.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/table-definition.ts';
import { createUpstreamClient } from '../../shared/upstream/client.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { isUpstreamError } from '../../shared/upstream/upstream-error.ts';
import { type LocalAws, startLocalAws } from './aws/local-aws.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import {
  issueDevelopmentToken,
  LOCAL_EXTRA_ROUTES,
  type LocalApi,
  revokeDevelopmentTokens,
  startLocalApi,
} from './local-api.ts';
import { type FromWorker, runLocalLambda } from './local-lambda.ts';
import { startLocalNotifier } from './local-notifier.ts';
import { UsageError } from './option-values.ts';
import { createRunSummary, type RunSummary } from './run-summary.ts';
import { scaledClock } from './scaled-clock.ts';
import type { StartOptions } from './start-options.ts';
import { eventLine, type LineStyle, paint } from './terminal.ts';
import { type LocalUpstream, startUpstream } from './upstream/start-upstream.ts';

export interface Surroundings {
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  readonly style: LineStyle;
  readonly clock: Clock;
  /** Alerts are really posted there. */
  readonly slackWebhookUrl?: string | undefined;
}

const TABLE_NAME = 'operations-bridge';
const EVENT_BUS_NAME = 'operations-bridge';
const ACCOUNT_ID = 'main';
const KEY_SECRET_ID = 'operations-bridge/upstream-key';
const PEPPER_SECRET_ID = 'operations-bridge/token-pepper';

interface Upstream {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly label: string;
  close(): Promise<void>;
}

export async function runLocalBridge(options: StartOptions, surroundings: Surroundings): Promise<void> {
  const { print, clock: realClock, signal } = surroundings;
  const startedMs = realClock.now();
  const folder = openDataFolder(options, startedMs);
  const clock = scaledClock(options.speed, folder.originMs, realClock);
  const summary = createRunSummary();
  const upstream = await openUpstream(options, folder.originMs, clock);
  await probe(upstream, clock);
  const aws = await openLocalAws(options, folder);
  aws.secrets.create(KEY_SECRET_ID, upstream.apiKey);
  aws.secrets.create(PEPPER_SECRET_ID, folder.pepper);
  watchEvents(aws, { summary, surroundings });
  const { api, token } = await openApi({ options, folder, upstream, aws, clock });
  const notifier = startLocalNotifier({
    aws,
    tableName: TABLE_NAME,
    busName: EVENT_BUS_NAME,
    consoleBaseUrl: api.origin,
    speed: options.speed,
    originMs: folder.originMs,
    onLogLine: (line) => folder.keepLogLine(line),
    clock,
    dataDir: options.dataDir,
    slackWebhookUrl: surroundings.slackWebhookUrl,
    print,
    style: surroundings.style,
  });
  for (const line of headerLines({ options, upstream, aws, api, token })) print(line);

  const progress = createProgress(surroundings);
  const event: PollAccountRequest = {
    account_id: ACCOUNT_ID,
    upstream_base_url: upstream.baseUrl,
    key_secret_id: KEY_SECRET_ID,
    backfill: options.backfill,
  };
  await runLocalLambda(
    {
      speed: options.speed,
      originMs: folder.originMs,
      environment: { ...aws.environment, TABLE_NAME, EVENT_BUS_NAME, POWERTOOLS_SERVICE_NAME: 'poller' },
      event,
      clock,
      onLogLine(line) {
        folder.keepLogLine(line);
        summary.noteLogLine(line);
        progress(line);
      },
      onResult: (result) => tellResult(result, surroundings),
    },
    signal,
  );
  await api.close();
  await endDevelopmentTokens(aws, clock);
  await notifier.close();
  await aws.close();
  await upstream.close();
  print('');
  for (const line of summary.lines((realClock.now() - startedMs) * options.speed)) print(line);
  if (options.dataDir !== undefined) print(`state, events and the poller's log are in ${options.dataDir}`);
}

async function openUpstream({ upstream }: StartOptions, originMs: number, clock: Clock): Promise<Upstream> {
  if (upstream.kind === 'real') {
    return {
      baseUrl: upstream.baseUrl,
      apiKey: upstream.apiKey,
      label: 'real account',
      close: async () => {},
    };
  }
  const { seed, projectCount } = upstream;
  const apiKey = `simulated-key-${seed}`;
  // From the run's origin and not from now: a restart finds the same world, some time later.
  const options = { seed, projectCount, apiKeys: [apiKey], startAtMs: originMs, clock };
  const local: LocalUpstream = await startUpstream(options);
  return {
    baseUrl: local.baseUrl,
    apiKey,
    label: `simulated, seed ${seed}, ${projectCount} projects`,
    close: () => local.close(),
  };
}

/** Before anything else runs: a wrong URL or key is a sentence, not a log full of failures. */
async function probe({ baseUrl, apiKey }: Upstream, clock: Clock): Promise<void> {
  const secret = createSecret(apiKey);
  const key = { current: async () => secret, refresh: async () => secret };
  const budget = createRequestBudget({ clock, requestsPerMinute: 60, burst: 5 });
  const client = createUpstreamClient({ baseUrl, apiKey: key, clock, random: systemRandom, budget });
  try {
    await client.listProjects({ limit: 1 });
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    const advice = error.kind === 'unauthorized' ? 'check UPSTREAM_API_KEY' : 'check the URL and the network';
    throw new UsageError(`The upstream at ${baseUrl} cannot be used (${error.message}); ${advice}.`);
  }
}

async function openLocalAws({ port }: StartOptions, folder: DataFolder): Promise<LocalAws> {
  const aws = await startLocalAws({
    port,
    tablesDir: folder.tablesDir,
    onAccepted: (event) => folder.keepEvent(event),
  });
  aws.bus.createBus(EVENT_BUS_NAME);
  await createTable(aws);
  return aws;
}

async function openApi(parts: {
  readonly options: StartOptions;
  readonly folder: DataFolder;
  readonly upstream: Upstream;
  readonly aws: LocalAws;
  readonly clock: Clock;
}): Promise<{ readonly api: LocalApi; readonly token: string }> {
  const { options, folder, upstream, aws, clock } = parts;
  const account: z.input<typeof apiAccounts>[number] = {
    account_id: ACCOUNT_ID,
    upstream_base_url: upstream.baseUrl,
    key_secret_id: KEY_SECRET_ID,
  };
  const api = await startLocalApi({
    speed: options.speed,
    originMs: folder.originMs,
    port: options.apiPort,
    environment: {
      ...aws.environment,
      TABLE_NAME,
      EVENT_BUS_NAME,
      TOKEN_PEPPER_SECRET_ID: PEPPER_SECRET_ID,
      ACCOUNTS: JSON.stringify([account]),
      EXTRA_ROUTES: JSON.stringify(LOCAL_EXTRA_ROUTES),
      POWERTOOLS_SERVICE_NAME: 'api',
    },
    onLogLine: (line) => folder.keepLogLine(line),
  });
  const client = localDynamoDb(aws);
  const table = createDynamoDbTable(client, TABLE_NAME);
  // Of a run that was killed.
  await revokeDevelopmentTokens(table, {
    indexes: createDynamoDbIndexes(client, TABLE_NAME),
    accountId: ACCOUNT_ID,
    clock,
  });
  const token = await issueDevelopmentToken(table, { accountId: ACCOUNT_ID, pepper: folder.pepper, clock });
  client.destroy();
  return { api, token };
}

/** The development token is good for this run and no longer, also where the tables stay. */
async function endDevelopmentTokens(aws: LocalAws, clock: Clock): Promise<void> {
  const client = localDynamoDb(aws);
  const indexes = createDynamoDbIndexes(client, TABLE_NAME);
  await revokeDevelopmentTokens(createDynamoDbTable(client, TABLE_NAME), {
    indexes,
    accountId: ACCOUNT_ID,
    clock,
  });
  client.destroy();
}

function localDynamoDb({ endpoint, credentials }: LocalAws): DynamoDBClient {
  return new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
}

async function createTable(aws: LocalAws): Promise<void> {
  const client = localDynamoDb(aws);
  try {
    await client.send(new CreateTableCommand(tableDefinition(TABLE_NAME)));
    // As on AWS, the table is of use only some time after the answer.
    const waiting = { client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 };
    await waitUntilTableExists(waiting, { TableName: TABLE_NAME });
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  } finally {
    client.destroy();
  }
}

function watchEvents(
  aws: LocalAws,
  { summary, surroundings }: { summary: RunSummary; surroundings: Surroundings },
): void {
  aws.bus.putRule({
    name: 'terminal',
    busName: EVENT_BUS_NAME,
    pattern: { source: [EVENT_SOURCE] },
    targets: [
      (event) => {
        summary.noteEvent(event);
        surroundings.print(eventLine(event, surroundings.style));
      },
    ],
  });
}

function headerLines(parts: {
  readonly options: StartOptions;
  readonly upstream: Upstream;
  readonly aws: LocalAws;
  readonly api: LocalApi;
  readonly token: string;
}): readonly string[] {
  const { options, upstream, aws, api, token } = parts;
  const speed = options.speed === 1 ? '' : `, ${options.speed} times as fast as real time`;
  const state = options.dataDir === undefined ? 'in memory' : `in ${options.dataDir}`;
  return [
    'Operations Bridge',
    `  upstream   ${upstream.baseUrl}   ${upstream.label}${speed}`,
    `  local AWS  ${aws.endpoint}   DynamoDB, EventBridge, Secrets Manager; state ${state}`,
    `  access key ${aws.credentials.accessKeyId}   of the local AWS, for this run: npm run tokens -- ... --access-key`,
    `  API        ${api.origin}   /api/v2 as of the upstream, /bridge/v1 of the bridge`,
    `  token      ${token}`,
    `  console    ${api.origin}/console   sign in with the token`,
    '  poller     its Lambda handler, once a minute; Ctrl-C ends with a summary',
    '',
    'time      project                       action               change                    detected after',
  ];
}

/** While the projects are read for the first time: a line at every tenth, and one when all are read. */
function createProgress({ print, style }: Surroundings): (logLine: string) => void {
  let projectCount = 0;
  let readCount = 0;
  return (logLine) => {
    const entry = parseLogLine(logLine);
    if (entry === undefined) return;
    if (entry['message'] === 'projects.listed' && projectCount === 0)
      projectCount = Number(entry['project_count']);
    if (entry['message'] === 'project.read') {
      readCount += 1;
      const step = Math.max(1, Math.ceil(projectCount / 10));
      const isTold = readCount <= projectCount && (readCount % step === 0 || readCount === projectCount);
      if (isTold)
        print(paint('gray', `          ${readCount} of ${projectCount} projects read up to now`, style));
    }
    if (entry['level'] === 'ERROR') print(paint('red', `poller: ${describe(entry)}`, style));
  };
}

function parseLogLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function describe(entry: Readonly<Record<string, unknown>>): string {
  const { message, reason, advice } = entry;
  return [message, reason, advice].filter((part) => typeof part === 'string').join(', ');
}

function tellResult(result: FromWorker, { print, style }: Surroundings): void {
  if (result.kind === 'failed') print(paint('red', `poller: the invocation failed: ${result.reason}`, style));
}
