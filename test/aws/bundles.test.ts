/**
 * Runs each function as it is deployed: its bundle in a process of its own, with the environment of the template and
 * with real event shapes.
 */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import example from '../../bridge.config.example.ts';
import { BridgeStack } from '../../infra/aws/bridge-stack.ts';
import { bundleFunction } from '../../infra/aws/bundle.ts';
import { parseBridgeConfig } from '../../infra/config/bridge-config.ts';
import { type FunctionName, functionDefinitions } from '../../infra/functions.ts';
import { type LocalAws, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { createLocalFifoQueue, type LocalFifoQueue } from '../../infra/local/aws/services/fifo-queue.ts';
import { issueDevelopmentToken } from '../../infra/local/lambda/local-api.ts';
import { type LocalUpstream, startUpstream } from '../../infra/simulator/start-upstream.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { selfTestReport } from '../../shared/self-test/self-test.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/dynamodb/table-definition.ts';
import { createTable } from '../local/aws/aws-under-test.ts';
import type { Resource } from './stack-under-test.ts';

const PEPPER = 'a-pepper';
const TOPIC_ARN = 'arn:aws:sns:us-east-1:000000000000:operations-bridge-alerts';

const QUEUE_NAME = 'operations-bridge-commands.fifo';

let upstream: LocalUpstream;
let aws: LocalAws;
let queue: LocalFifoQueue;
let resources: readonly [string, Resource][];
const folders = new Map<FunctionName, string>();

beforeAll(async () => {
  upstream = await startUpstream({ seed: 5, projectCount: 2, apiKeys: ['a-key'] });
  aws = await startLocalAws();
  const output = mkdtempSync(join(tmpdir(), 'bundles-'));
  const parsed = parseBridgeConfig(example, 'a test');
  const [account] = parsed.accounts;
  // The configuration refuses a URL of its own machine, so this test puts its upstream in after the check.
  const config = {
    ...parsed,
    accounts: parsed.accounts.map((each) => ({ ...each, upstream_base_url: upstream.baseUrl })),
  };
  const bundleOf = (name: FunctionName) => {
    folders.set(name, bundleFunction(name, output));
    return folders.get(name) ?? '';
  };
  const stack = new BridgeStack(new App(), config.name, { config, bundleOf });
  resources = Object.entries(Template.fromStack(stack).toJSON()['Resources'] as Record<string, Resource>);
  aws.bus.createBus(config.name);
  aws.topics.create(TOPIC_ARN);
  aws.secrets.create(account?.key_secret_arn ?? '', 'a-key');
  aws.secrets.create(config.api.token_pepper_secret_arn, PEPPER);
  const ports = { clock: systemClock, newId: randomUUID };
  queue = createLocalFifoQueue({ visibilityTimeoutMs: 1_000, receiveCountMax: 2 }, ports);
  aws.queues.add(QUEUE_NAME, queue);
  const client = dynamoDb();
  await createTable(client, tableDefinition(config.name));
  client.destroy();
}, 60_000);

afterAll(async () => {
  await aws.close();
  await upstream.close();
});

function dynamoDb(): DynamoDBClient {
  return new DynamoDBClient({
    endpoint: aws.endpoint,
    region: 'us-east-1',
    credentials: aws.credentials,
  });
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

function environmentOf(name: FunctionName): Record<string, string> {
  const [, fn] =
    resources.find(
      ([, { Type, Properties }]) =>
        Type === 'AWS::Lambda::Function' && Properties.FunctionName === `operations-bridge-${name}`,
    ) ?? [];
  const variables = Object.entries(fn?.Properties.Environment.Variables as Record<string, unknown>);
  return Object.fromEntries(variables.map(([key, value]) => [key, resolved(value)]));
}

function schedulePayload(): object {
  const [, schedule] =
    resources.find(([, { Properties }]) => Properties?.Name === 'operations-bridge-lane-0') ?? [];
  return JSON.parse(schedule?.Properties.Target.Input);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
type Invoked = { readonly result: any; readonly stdout: string };

async function invoke(name: FunctionName, event: unknown, remainingMs = 30_000): Promise<Invoked> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    ...aws.environment,
    ...environmentOf(name),
    AWS_LAMBDA_FUNCTION_NAME: name,
  };
  const script = resolve(import.meta.dirname, 'invoke-bundle.mjs');
  const bundle = join(folders.get(name) ?? '', 'index.mjs');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [script, bundle, JSON.stringify(event), String(remainingMs)],
    { env, maxBuffer: 8_000_000 },
  );
  const [, result = ''] = /\nRESULT (.*)\n/.exec(stdout) ?? [];
  return { result: JSON.parse(result), stdout };
}

/** A GET as the HTTP API passes it on. */
function apiEvent(path: string, headers: object = {}): object {
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
      requestId: 'r',
      stage: '$default',
    },
  };
}

describe('as deployed', () => {
  test('the poller reads the account that its schedule names, and writes its metrics without the key', {
    timeout: 60_000,
  }, async () => {
    const { result, stdout } = await invoke('poller', schedulePayload(), 12_000);

    expect(result).toMatchObject({ outcomes: { stopped: 1 } });
    expect(result.pollCount).toBeGreaterThan(1);
    expect(stdout).toContain('"WalkAgeMs"');
    expect(stdout).not.toContain('a-key');
  });

  test.each(Object.keys(functionDefinitions) as FunctionName[])(
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
      'create-pages',
      'docs-page',
      'openapi',
      'command-ports',
      'verify-jwt',
    ])
      expect(files.some((file) => file.startsWith(name))).toBe(true);
  });

  test.each(Object.keys(functionDefinitions) as FunctionName[])('the start of %s is one file', (name) => {
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

  test('the OpenAPI document that the deployed API serves is the one of the documentation', async () => {
    const { result } = await invoke('api', apiEvent('/bridge/v1/openapi.json'));
    const documented = readFileSync(resolve(import.meta.dirname, '../../docs/openapi.json'), 'utf8');
    const served = [result.body, documented].map((text) => {
      const document = JSON.parse(text);
      // The example configuration replaces this call of the table.
      delete document.paths['/api/v2/projects/{project_id}/endpoints/{endpoint_id}/start'];
      return document;
    });

    expect(isDeepStrictEqual(served[0], served[1])).toBe(true);
  });

  test('the notifier takes a batch from its queue and sends an e-mail', { timeout: 60_000 }, async () => {
    const detail = {
      ...operationStateChanged.example,
      status: 'failed',
      terminal: false,
      failures_count: 3,
      new_failures: 1,
    };
    const body = JSON.stringify({
      id: 'e',
      source: 'operations-bridge',
      'detail-type': 'Operation State Changed',
      detail,
    });

    const { result } = await invoke('notifier', {
      Records: [{ messageId: 'm-1', body, eventSource: 'aws:sqs' }],
    });

    expect(result).toEqual({ batchItemFailures: [] });
    expect(aws.topics.published).toHaveLength(1);
    expect(aws.topics.published[0]?.message).toContain('https://api.example/console/');
  });

  test.each(Object.keys(functionDefinitions) as FunctionName[])(
    '%s tries the calls of its role when an operator asks it to, and reaches no one',
    { timeout: 60_000 },
    async (name) => {
      const items = async () => {
        const client = dynamoDb();
        const { Items = [] } = await client.send(new ScanCommand({ TableName: 'operations-bridge' }));
        client.destroy();
        return Items.length;
      };
      const [before, mailCount] = [await items(), aws.topics.published.length];
      const { result } = await invoke(name, { ...schedulePayload(), self_test: true });
      const report = selfTestReport.parse(result);

      expect(report.self_test).toBe(name);
      expect(report.results.length).toBeGreaterThan(5);
      expect(report.results.filter(({ outcome }) => outcome !== 'allowed')).toEqual([]);
      expect([await items(), aws.topics.published.length]).toEqual([before, mailCount]);
    },
  );

  test("the notifier's sweep sends nothing again", { timeout: 60_000 }, async () => {
    expect((await invoke('notifier', {})).result).toEqual({ batchItemFailures: [] });
    expect(aws.topics.published).toHaveLength(1);
  });
});

test('cdk synth needs no credentials and no Docker, and no rule reports a finding', {
  timeout: 120_000,
}, async () => {
  const root = resolve(import.meta.dirname, '../..');
  const out = mkdtempSync(join(tmpdir(), 'cdk-out-'));
  const env = { PATH: process.env['PATH'] ?? '', HOME: out, AWS_EC2_METADATA_DISABLED: 'true' };
  const args = ['synth', '--quiet', '--no-notices', '--output', out, '-c', 'config=bridge.config.example.ts'];

  const { stderr } = await promisify(execFile)(join(root, 'node_modules/.bin/cdk'), args, { cwd: root, env });

  expect(stderr).not.toMatch(/ERROR|AwsSolutions/);
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
