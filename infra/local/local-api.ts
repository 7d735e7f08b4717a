/**
 * Runs the API on this machine: the function's own code in a thread behind a server, with the environment that its
 * function gets, and a development token that is ready to use.
 */

import { hkdfSync } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type * as z from 'zod';
import { CHANNEL_NAMES } from '../../functions/notifier/channels/channels.ts';
import { SCOPES } from '../../shared/callers/scopes.ts';
import { createTokenStore, mintToken, TOKEN_DAYS_MAX, tokenHash } from '../../shared/callers/tokens.ts';
import type { apiAccounts } from '../../shared/config/api-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import type { Table } from '../../shared/store/table.ts';
import { UsageError } from '../process/command.ts';
import { portRefusal } from '../process/operating-system.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { startThread } from './aws/local-lambda.ts';
import { queueArn } from './aws/protocol.ts';
import { localDynamoDb } from './bridge-aws.ts';
import {
  ACCOUNT_ID,
  COMMANDS_QUEUE_NAME,
  EVENT_BUS_NAME,
  KEY_SECRET_ID,
  PEPPER_SECRET_ID,
  QUEUE_KEY_SECRET_ID,
  TABLE_NAME,
  UPSTREAM_KEYS_PREFIX,
} from './bridge-names.ts';
import type { DataFolder } from './data-folder.ts';
import type { LocalSignIn } from './local-sign-in.ts';
import { type ChannelSecrets, localSecretIdOf } from './queue-functions.ts';
import type { StartOptions } from './start-options.ts';

export interface BridgeApiParts {
  readonly options: StartOptions;
  readonly folder: DataFolder;
  readonly baseUrl: string;
  readonly aws: LocalAws;
  readonly channelSecrets: ChannelSecrets;
  readonly signIn: LocalSignIn | undefined;
}

export function openBridgeApi(parts: BridgeApiParts): Promise<LocalApi> {
  const { options, folder, channelSecrets, signIn } = parts;
  return startLocalApi({
    speed: options.speed,
    originMs: folder.originMs,
    port: options.apiPort,
    publicUrl: options.publicUrl,
    environment: {
      ...commandEnvironment(parts),
      TOKEN_PEPPER_SECRET_ID: PEPPER_SECRET_ID,
      ALERT_CHANNELS: JSON.stringify(CHANNEL_NAMES),
      // All queues of the local AWS are the developer's own.
      DEAD_LETTER_QUEUES: JSON.stringify([queueArn('*')]),
      BUS_LOG: 'on',
      ...(channelSecrets['SLACK_WEBHOOK_URL'] !== undefined && { SLACK_SECRET_ID: localSecretIdOf('slack') }),
      ...(channelSecrets['PAGERDUTY_ROUTING_KEY'] !== undefined && {
        PAGERDUTY_SECRET_ID: localSecretIdOf('pagerduty'),
      }),
      POWERTOOLS_SERVICE_NAME: 'api',
      ...signIn?.environment,
    },
    onLogLine: (line) => folder.keepLogLine(line),
  });
}

/** The variables that every function has that sends commands. */
export function commandEnvironment({
  aws,
  baseUrl,
  options,
}: Pick<BridgeApiParts, 'aws' | 'baseUrl' | 'options'>): Record<string, string> {
  const account: z.input<typeof apiAccounts>[number] = {
    account_id: ACCOUNT_ID,
    upstream_base_url: baseUrl,
    key_secret_id: KEY_SECRET_ID,
    // An estimate for a real account would need its own price.
    ...(options.upstream.kind === 'simulated' && { compute_unit_hour_price: 0.16 }),
    ...options.callers,
  };
  return {
    ...aws.environment,
    TABLE_NAME,
    EVENT_BUS_NAME,
    // The API and the worker have one instance each here.
    SENDING_INSTANCES_MAX: '2',
    QUEUE_KEY_SECRET_ID,
    ACCOUNTS: JSON.stringify([account]),
    UPSTREAM_HOSTS: JSON.stringify([new URL(baseUrl).host]),
    UPSTREAM_KEYS_PREFIX,
    COMMANDS_QUEUE_URL: `${aws.endpoint}/000000000000/${COMMANDS_QUEUE_NAME}`,
    CALLBACKS: 'on',
  };
}

export async function issueToken(aws: LocalAws, pepper: string, clock: Clock): Promise<string> {
  const client = localDynamoDb(aws);
  try {
    const table = createDynamoDbTable(client, TABLE_NAME);
    return await issueDevelopmentToken(table, { accountId: ACCOUNT_ID, pepper, clock });
  } finally {
    client.destroy();
  }
}

export interface ApiWorkerSettings {
  readonly speed: number;
  readonly originMs: number;
  readonly port: number;
  /** The API can be reached from the internet at this origin, through a tunnel. */
  readonly publicUrl: string | undefined;
}

export type FromApiWorker =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: string; readonly port: number }
  | { readonly kind: 'closed' };

interface LocalApiOptions extends ApiWorkerSettings {
  /** The deployed function has the same environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly onLogLine: (line: string) => void;
}

export interface LocalApi {
  /** The origin has the form `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** May be called several times. */
  close(): Promise<void>;
}

/** Requests that are under way have this long to end. */
const CLOSE_MS_MAX = 2_000;

async function startLocalApi(options: LocalApiOptions): Promise<LocalApi> {
  const { speed, originMs, port, publicUrl, environment, onLogLine } = options;
  const worker = startThread('api-worker', {
    workerData: { speed, originMs, port, publicUrl } satisfies ApiWorkerSettings,
    env: { ...environment },
    stdout: true,
    stderr: true,
  });
  for (const stream of [worker.stdout, worker.stderr])
    createInterface({ input: stream }).on('line', onLogLine);
  const first = await nextMessage(worker).catch((error: unknown) => ({ kind: 'broken' as const, error }));
  if (first.kind !== 'listening') {
    await worker.terminate();
    if (first.kind === 'broken') throw first.error;
    const code = first.kind === 'failed' ? first.code : '';
    const refusal = portRefusal(code, { port, option: 'api-port' });
    throw refusal === undefined ? new Error(`The API cannot listen (${code})`) : new UsageError(refusal);
  }
  let closing: Promise<void> | undefined;
  return { origin: `http://127.0.0.1:${first.port}`, close: () => (closing ??= closeWorker(worker)) };
}

async function closeWorker(worker: Worker): Promise<void> {
  const closed = nextMessage(worker);
  worker.postMessage('close');
  await Promise.race([closed, sleep(CLOSE_MS_MAX, undefined, { ref: false })]);
  await worker.terminate();
}

function nextMessage(worker: Worker): Promise<FromApiWorker> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

const DEVELOPMENT_CLIENT = 'development';

/** The token is valid for this much simulated time, which may run many times as fast. */
const DEVELOPMENT_TOKEN_MS = TOKEN_DAYS_MAX * 24 * 3_600_000;

/**
 * Issues a token with every scope but those that give a project or an auth project away, because this is a developer's bridge on
 * loopback. The token follows from the pepper, so a data folder, which keeps the pepper, has the same token in each run. The next one is
 * due when it was revoked or has expired.
 */
export async function issueDevelopmentToken(
  table: Table,
  {
    accountId,
    pepper,
    clock,
  }: { readonly accountId: string; readonly pepper: string; readonly clock: Clock },
): Promise<string> {
  const store = createTokenStore(table, clock);
  for (let place = 0; ; place++) {
    const bytes = (count: number) =>
      new Uint8Array(hkdfSync('sha256', pepper, '', `development token ${place}, ${count} bytes`, count));
    const minted = mintToken(bytes);
    const token = minted.token.reveal();
    const known = await store.read(minted.id);
    if (known !== undefined && known.revoked_at === undefined && clock.now() < known.expires_at_ms)
      return token;
    if (known !== undefined) continue;
    const nowMs = clock.now();
    await store.create({
      token_id: minted.id,
      account_id: accountId,
      client_id: DEVELOPMENT_CLIENT,
      hash: tokenHash(token, createSecret(pepper)),
      scopes: SCOPES.filter((scope) => !scope.endsWith(':transfer')),
      created_at: new Date(nowMs).toISOString(),
      expires_at_ms: nowMs + DEVELOPMENT_TOKEN_MS,
    });
    return token;
  }
}
