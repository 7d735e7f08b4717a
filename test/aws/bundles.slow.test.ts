/**
 * Runs each function as it is deployed: the artefacts of `cdk synth`, each in a process of its own, with nothing but the
 * environment of its template, and with real event shapes.
 */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiAccess } from '../../functions/api/access.ts';
import { parseBridgeConfig } from '../../infra/bridge-config.ts';
import { type FunctionName, functionDefinitions } from '../../infra/functions.ts';
import { type LocalAws, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { createLocalFifoQueue, type LocalFifoQueue } from '../../infra/local/aws/sqs/event-source.ts';
import { issueDevelopmentToken } from '../../infra/local/local-api.ts';
import { openApiText } from '../../infra/release/contents.ts';
import { type LocalUpstream, startUpstream } from '../../infra/simulator/start-upstream.ts';
import { accountSettings, laneOf } from '../../shared/accounts/account.ts';
import { createAccountStore } from '../../shared/accounts/account-store.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { ENVIRONMENT_FILE } from '../../shared/runtime/read-config.ts';
import { selfTestReport } from '../../shared/runtime/self-test.ts';
import { createDynamoDbPartitions, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { type SynthesizedApp, synthesizeApp } from '../doors/template/synthesize-app.ts';
import { createTable } from '../local/aws/aws-under-test.ts';
import deployed from './deployed.config.ts';
import type { Resource } from './stack-under-test.ts';

const PEPPER = 'a-pepper-of-tests-that-is-long-enough';
const TOPIC_ARN = 'arn:aws:sns:us-east-1:000000000000:operations-bridge-alerts';

const QUEUE_NAME = 'operations-bridge-commands.fifo';

/** An administrator adds this account while the bridge runs. No deployment knows it. */
const ADDED_ID = 'tenant-1';
const ADDED_KEY_SECRET = `operations-bridge/upstream-keys/${ADDED_ID}`;

/** The deployment allows the host of this account no more. */
const REFUSED_ID = 'tenant-2';

const NAMES = Object.keys(functionDefinitions) as FunctionName[];

let upstream: LocalUpstream;
let aws: LocalAws;
let queue: LocalFifoQueue;
let app: SynthesizedApp;
let resources: readonly (readonly [string, Resource])[];
/** The code of each deployed function, by its name without that of the bridge. */
const folders = new Map<string, string>();

beforeAll(async () => {
  upstream = await startUpstream({ seed: 5, projectCount: 2, apiKeys: ['a-key', 'a-tenants-key'] });
  aws = await startLocalAws();
  app = await synthesizeApp(resolve(import.meta.dirname, 'deployed.config.ts'));
  resources = app.resources;
  const config = parseBridgeConfig(deployed, 'a test');
  const [account] = config.accounts;
  for (const fn of functionsOf(resources)) folders.set(nameOf(fn), startable(app.codeOf(fn)));
  aws.bus.createBus(config.name);
  aws.topics.create(TOPIC_ARN);
  aws.secrets.create(ownArn(account?.key_secret_arn), 'a-key');
  aws.secrets.create(ADDED_KEY_SECRET, 'a-tenants-key');
  aws.secrets.create(ownArn(config.api.token_pepper_secret_arn), PEPPER);
  aws.secrets.create(
    environmentOf('commands')['QUEUE_KEY_SECRET_ID'] ?? '',
    'a-key-of-the-queue-that-is-long-enough',
  );
  const ports = { clock: systemClock, newId: randomUUID };
  queue = createLocalFifoQueue({ visibilityTimeoutMs: 1_000, receiveCountMax: 2 }, ports);
  aws.queues.add(QUEUE_NAME, queue);
  aws.queues.standard.create(`${config.name}-undelivered`, {});
  const client = dynamoDb();
  await createTable(client, tableDefinition(config.name));
  const store = createAccountStore(
    createDynamoDbTable(client, config.name),
    createDynamoDbPartitions(client, config.name, apiAccess),
    ports,
  );
  const added = { [ADDED_ID]: upstream.baseUrl, [REFUSED_ID]: 'https://elsewhere.example/api/v2' };
  for (const [account_id, upstream_base_url] of Object.entries(added)) {
    const settings = { account_id, upstream_base_url, key_secret_id: ADDED_KEY_SECRET };
    await store.add({
      account_id,
      state: 'active',
      settings: accountSettings.parse(settings),
      changed_by: 'a test',
    });
  }
  client.destroy();
}, 300_000);

/** Synthesis takes no account of the examples, so it has put another one in its place. */
function ownArn(arn = ''): string {
  return arn.replace('123456789012', '210987654321');
}

afterAll(async () => {
  await aws.close();
  await upstream.close();
});

/**
 * Returns a copy of the code whose upstream is the one of this test. The configuration refuses an address of its own
 * machine, so the test puts it in after the deployment.
 */
function startable(code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'code-'));
  cpSync(code, folder, { recursive: true });
  const file = join(folder, ENVIRONMENT_FILE);
  writeFileSync(file, withOwnUpstream(readFileSync(file, 'utf8')));
  return folder;
}

function withOwnUpstream(text: string): string {
  const { origin, host } = new URL(upstream.baseUrl);
  return text.replaceAll('https://upstream.exemplar.io', origin).replaceAll('upstream.exemplar.io', host);
}

function functionsOf(all: typeof resources): readonly Resource[] {
  return all.map(([, resource]) => resource).filter(({ Type }) => Type === 'AWS::Lambda::Function');
}

function nameOf({ Properties }: Resource): string {
  return String(Properties.FunctionName).replace('operations-bridge-', '');
}

function dynamoDb(): DynamoDBClient {
  return new DynamoDBClient({
    endpoint: aws.endpoint,
    region: 'us-east-1',
    credentials: aws.credentials,
  });
}

async function items() {
  const client = dynamoDb();
  const { Items = [] } = await client.send(new ScanCommand({ TableName: 'operations-bridge' }));
  client.destroy();
  return Items;
}

/** Replaces references as CloudFormation would. */
function resolved(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref } = value as { Ref?: string };
  const target = resources.find(([id]) => id === Ref)?.[1];
  if (target?.Type === 'AWS::DynamoDB::Table') return target.Properties.TableName as string;
  if (target?.Type === 'AWS::Events::EventBus') return target.Properties.Name as string;
  if (target?.Type === 'AWS::SNS::Topic') return TOPIC_ARN;
  if (target?.Type === 'AWS::SQS::Queue') return `${aws.endpoint}/000000000000/${QUEUE_NAME}`;
  return 'https://api.example';
}

function environmentOf(name: string): Record<string, string> {
  const fn = functionsOf(resources).find((each) => nameOf(each) === name);
  const variables = Object.entries(fn?.Properties.Environment.Variables as Record<string, unknown>);
  return Object.fromEntries(variables.map(([key, value]) => [key, resolved(value)]));
}

/** What the schedule of the account's lane sends, and to which function. */
function scheduleOf(accountId: string): { readonly fn: string; readonly payload: object } {
  const lane = laneOf({ account_id: accountId }, 3, 2);
  const [, schedule] =
    resources.find(([, { Properties }]) => Properties?.Name === `operations-bridge-lane-${lane}`) ?? [];
  const target = resources.find(([id]) => id === schedule?.Properties.Target.Arn['Fn::GetAtt'][0])?.[1];
  if (target === undefined) throw new Error(`There is no function for the lane ${lane}`);
  return { fn: nameOf(target), payload: JSON.parse(withOwnUpstream(schedule?.Properties.Target.Input)) };
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
type Invoked = { readonly result: any; readonly log: string };

async function invoke(name: string, event: unknown, remainingMs = 30_000): Promise<Invoked> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    ...aws.environment,
    ...environmentOf(name),
    AWS_LAMBDA_FUNCTION_NAME: name,
  };
  const script = fileURLToPath(new URL('./invoke-bundle.mjs', import.meta.url));
  const bundle = join(folders.get(name) ?? '', 'index.mjs');
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [script, bundle, JSON.stringify(event), String(remainingMs)],
    { env, maxBuffer: 8_000_000 },
  );
  const [, result = ''] = /\nRESULT (.*)\n/.exec(stdout) ?? [];
  return { result: JSON.parse(result), log: stdout + stderr };
}

/** A busy machine takes most of the time for the start, and then the invocation is repeated with more, as the schedule repeats it. */
async function invokeUntilItPolls(fn: string, payload: object): Promise<Invoked> {
  for (let attempt = 1; ; attempt++) {
    const invoked = await invoke(fn, payload, 12_000 * attempt);
    if (invoked.result.pollCount > 1 || attempt === 4) return invoked;
  }
}

/** A GET as the HTTP API passes it on. */
function apiEvent(path: string, headers: object = {}, requestId = 'r'): object {
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: path.startsWith('/api/v2') ? 'limit=1' : '',
    headers,
    isBase64Encoded: false,
    requestContext: {
      domainName: 'api.example',
      http: { method: 'GET', path, sourceIp: '192.0.2.1' },
      requestId,
      stage: '$default',
    },
  };
}

/** A batch of the queue with an operation of the project that has failed. */
function failureIn(projectId: string): object {
  const detail = {
    ...operationStateChanged.example,
    id: randomUUID(),
    operation_id: randomUUID(),
    project_id: projectId,
    status: 'failed',
    terminal: false,
    failures_count: 3,
    new_failures: 1,
  };
  const event = { id: 'e', source: 'operations-bridge', 'detail-type': 'Operation State Changed', detail };
  return { Records: [{ messageId: 'm-1', body: JSON.stringify(event), eventSource: 'aws:sqs' }] };
}

describe('as deployed', () => {
  test.each([
    ['the poller reads the account that its schedule names', 'main'],
    ['the poller reads an account that was added while the bridge runs', ADDED_ID],
  ])('%s, and writes its metrics without a key', { timeout: 240_000 }, async (_what, accountId) => {
    const { fn, payload } = scheduleOf(accountId);
    const { result, log } = await invokeUntilItPolls(fn, payload);
    const others = ['main', ADDED_ID].filter((each) => each !== accountId && scheduleOf(each).fn === fn);

    expect(result).toMatchObject({ outcomes: { stopped: 1 + others.length } });
    expect(result.pollCount).toBeGreaterThan(1);
    expect(log).toContain(`"account_id":"${accountId}"`);
    expect(log).toContain('"WalkAgeMs"');
    expect(log).not.toContain('a-key');
    expect(log).not.toContain('a-tenants-key');
  });

  test('the poller says which account it does not serve, and why', { timeout: 60_000 }, async () => {
    const { fn, payload } = scheduleOf(REFUSED_ID);
    const { log } = await invoke(fn, { ...payload, accounts: [] }, 9_000);
    const lines = log.split('\n').filter((line) => line.includes('account.not_served'));

    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      {
        level: 'ERROR',
        account_id: REFUSED_ID,
        detail: expect.stringMatching(/^upstream_base_url must have one of the hosts/),
      },
    ]);
  });

  test.each(NAMES)(
    '%s takes its credentials from the environment and contains no other credential provider',
    (name) => {
      const folder = folders.get(name) ?? '';
      const text = readdirSync(folder)
        .map((file) => readFileSync(join(folder, file), 'utf8'))
        .join('');
      const elsewhere = ['AWS_WEB_IDENTITY_TOKEN_FILE', 'sso_start_url'];

      expect(elsewhere.filter((variable) => text.includes(variable))).toEqual([]);
      expect(text.includes('AWS_SESSION_TOKEN')).toBe(true);
    },
  );

  test('the start of the API leaves out what only pages and commands need', () => {
    const files = readdirSync(folders.get('api') ?? '');

    for (const name of [
      'create-bridge-api',
      'create-console',
      'docs-page',
      'openapi',
      'command-ports',
      'verify-jwt',
    ])
      expect(files.some((file) => file.startsWith(name))).toBe(true);
  });

  test.each(NAMES)('the start of %s is one file', (name) => {
    expect([...filesOfStart(folders.get(name) ?? '', 'index.mjs')]).toEqual(['index.mjs']);
  });

  test('the start of the API builds the schemas of its settings, and leaves those of records and calls for later', {
    timeout: 60_000,
  }, async () => {
    const count = `
      let count = 0;
      globalThis.__zod_globalConfig = { postProcessor: () => (count += 1) };
      await import(process.argv[1]);
      process.stdout.write(String(count));`;
    const bundle = join(folders.get('api') ?? '', 'index.mjs');
    const env = { PATH: process.env['PATH'] ?? '', ...aws.environment, ...environmentOf('api') };
    const args = ['--input-type=module', '-e', count, bundle];

    const { stdout } = await promisify(execFile)(process.execPath, args, { env });

    // The sources of the start define more than 1,500 schemas and checks.
    expect(Number(stdout)).toBeGreaterThan(50);
    expect(Number(stdout)).toBeLessThan(300);
  });

  test('the API admits a caller with a token and refuses one without', { timeout: 60_000 }, async () => {
    const client = dynamoDb();
    const token = await issueDevelopmentToken(createDynamoDbTable(client, 'operations-bridge'), {
      accountId: 'main',
      pepper: PEPPER,
      clock: systemClock,
    });
    client.destroy();

    const answers = await Promise.all([
      invoke('api', apiEvent('/api/v2/projects', { authorization: `Bearer ${token}` })),
      invoke('api', apiEvent('/api/v2/projects')),
    ]);

    expect(answers.map(({ result }) => result.statusCode)).toEqual([200, 401]);
    expect(JSON.parse(answers[0]?.result.body).projects).toHaveLength(1);
  });

  test('a line of the log has the id by which the access log has the request', {
    timeout: 60_000,
  }, async () => {
    const { log, result } = await invoke('api', apiEvent('/api/v2/projects', {}, 'JKJaXmPLvHcESHA='));
    const lines = log.split('\n').filter((line) => line.includes('request.refused'));
    const [, stage] = resources.find(([, { Type }]) => Type === 'AWS::ApiGatewayV2::Stage') ?? [];

    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { gateway_request_id: 'JKJaXmPLvHcESHA=', request_id: result.headers['bridge-request-id'] },
    ]);
    expect(JSON.parse(stage?.Properties.AccessLogSettings.Format)).toMatchObject({
      requestId: '$context.requestId',
      sourceIp: '$context.identity.sourceIp',
    });
  });

  test('the API loads its own routes and its pages on demand', {
    timeout: 60_000,
  }, async () => {
    const paths = ['/bridge/v1/health', '/console', '/bridge/v1/nothing'];

    const answers = await Promise.all(paths.map((path) => invoke('api', apiEvent(path))));

    const kindOf = ({ result }: Invoked) => `${result.statusCode} ${result.headers['content-type']}`;
    expect(answers.map(kindOf)).toEqual([
      '401 application/problem+json',
      '401 text/html; charset=UTF-8',
      '404 application/problem+json',
    ]);
  });

  test('the OpenAPI document that the deployed API serves is the one that is released', async () => {
    const { result } = await invoke('api', apiEvent('/bridge/v1/openapi.json'));
    const served = [result.body, openApiText()].map((text) => {
      const document = JSON.parse(text);
      // The example configuration replaces this call of the table.
      delete document.paths['/api/v2/projects/{project_id}/endpoints/{endpoint_id}/start'];
      return document;
    });

    expect(isDeepStrictEqual(served[0], served[1])).toBe(true);
  });

  test('the notifier takes a batch from its queue and sends an e-mail', { timeout: 60_000 }, async () => {
    const { result } = await invoke('notifier', failureIn(operationStateChanged.example.project_id));

    expect(result).toEqual({ batchItemFailures: [] });
    expect(aws.topics.published).toHaveLength(1);
    expect(aws.topics.published[0]?.message).toContain('https://api.example/console/');
  });

  test.each(NAMES)(
    '%s tries the calls of its role when an operator asks it to, and reaches no one',
    { timeout: 60_000 },
    async (name) => {
      const [before, mailCount] = [(await items()).length, aws.topics.published.length];
      const { result } = await invoke(name, { ...scheduleOf('main').payload, self_test: true });
      const report = selfTestReport.parse(result);

      expect(report.self_test).toBe(name);
      expect(report.results.length).toBeGreaterThan(5);
      expect(report.results.filter(({ outcome }) => outcome !== 'allowed')).toEqual([]);
      expect([(await items()).length, aws.topics.published.length]).toEqual([before, mailCount]);
    },
  );

  test("the notifier's sweep sends nothing again", { timeout: 60_000 }, async () => {
    expect((await invoke('notifier', {})).result).toEqual({ batchItemFailures: [] });
    expect(aws.topics.published).toHaveLength(1);
  });
});

/** Resolves to what the function makes of the account. */
async function standingAt(name: FunctionName, accountId: string): Promise<string | undefined> {
  const { result } = await invoke(name, { ...scheduleOf('main').payload, self_test: true });
  return selfTestReport.parse(result).accounts?.find(({ account_id }) => account_id === accountId)?.state;
}

type Filed<Name extends FunctionName> = (typeof functionDefinitions)[Name]['filed'][number];

/**
 * The template puts these variables into a file beside the code. Each function is asked for what only a function says that
 * has read its variable. A variable that is put into the file without a question here does not compile.
 */
const SHOWN_BY: { readonly [Name in FunctionName]: Readonly<Record<Filed<Name>, () => Promise<void>>> } = {
  poller: {
    UPSTREAM_HOSTS: async () => expect(await standingAt('poller', ADDED_ID)).toBe('active'),
  },
  api: {
    ACCOUNTS: async () => expect(await standingAt('api', 'main')).toBe('active'),
    UPSTREAM_HOSTS: async () => expect(await standingAt('api', ADDED_ID)).toBe('active'),
    async EXTRA_ROUTES() {
      const { result } = await invoke('api', apiEvent('/bridge/v1/openapi.json'));
      expect(result.body).toContain('"operationId":"startEndpoint"');
    },
    async ALERT_CHANNELS() {
      // The function does not start without this variable.
      expect(functionDefinitions.api.environment.shape.ALERT_CHANNELS.safeParse(undefined).success).toBe(
        false,
      );
      expect((await invoke('api', apiEvent('/bridge/v1/health'))).result.statusCode).toBe(401);
    },
    async DEAD_LETTER_QUEUES() {
      const { result } = await invoke('api', apiEvent('/bridge/v1/subscriptions'));
      expect(result.statusCode).toBe(401);
    },
    async PROJECT_LABELS() {
      // Only the order of rows and a search show them, which a person sees who has signed in.
      const { result } = await invoke('api', apiEvent('/console'));
      expect(result.statusCode).toBe(401);
    },
    async SIGN_IN() {
      const { result } = await invoke('api', apiEvent('/console'));
      const page = Buffer.from(result.body, 'base64').toString('utf8');
      expect(page).toContain('Sign in at login.exemplar.io');
    },
  },
  commands: {
    ACCOUNTS: async () => expect(await standingAt('commands', 'main')).toBe('active'),
    UPSTREAM_HOSTS: async () => expect(await standingAt('commands', ADDED_ID)).toBe('active'),
  },
  notifier: {
    async ALERT_POLICY() {
      const projects = ['a-quiet-project', 'a-loud-project'];
      for (const project of projects) await invoke('notifier', failureIn(project));
      const kept = (await items())
        .filter(({ pk }) => pk?.S === 'ALERT#email')
        .map((item) => JSON.stringify(item));
      // Mails are sent some time apart, and what waits for the next one is kept.
      expect(projects.filter((project) => kept.some((item) => item.includes(project)))).toEqual([
        'a-loud-project',
      ]);
    },
  },
};

const QUESTIONS = NAMES.flatMap((name) =>
  Object.entries<() => Promise<void>>(SHOWN_BY[name]).map(
    ([variable, question]) => [name, variable, question] as const,
  ),
);

test.each(QUESTIONS)(
  '%s has read %s from the file beside its code',
  { timeout: 60_000 },
  (_name, _variable, question) => question(),
);

test('cdk synth needs no credentials and no Docker, and no rule reports a finding', () => {
  expect(app.said).not.toMatch(/ERROR|AwsSolutions/);
});

/** Returns the files that are loaded with the first one. Those that it loads on demand are not among them. */
function filesOfStart(folder: string, file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(join(folder, file), 'utf8');
  for (const [, other = ''] of text.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.mjs)"/g))
    filesOfStart(folder, other, seen);
  return seen;
}
