/**
 * Runs the API on this machine: the function's own code behind a server, and a development token that is ready to
 * use.
 */

import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { mintToken, tokenHash } from '../../../shared/callers/bridge-token.ts';
import { SCOPES } from '../../../shared/callers/scopes.ts';
import { TOKEN_DAYS_MAX } from '../../../shared/callers/token-record.ts';
import { createTokenStore } from '../../../shared/callers/token-store.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import type { Table, TableIndexes } from '../../../shared/store/table.ts';
import { UsageError } from '../../process/option-values.ts';
import { portRefusal } from '../../process/port-refusal.ts';
import { startThread } from './start-thread.ts';

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

export interface LocalApiOptions extends ApiWorkerSettings {
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

export async function startLocalApi(options: LocalApiOptions): Promise<LocalApi> {
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
 * Issues a token with every scope but those that give a project or an auth project away, because this is a
 * developer's bridge on loopback.
 */
export async function issueDevelopmentToken(
  table: Table,
  {
    accountId,
    pepper,
    clock,
  }: { readonly accountId: string; readonly pepper: string; readonly clock: Clock },
): Promise<string> {
  const minted = mintToken(randomBytes);
  const token = minted.token.reveal();
  const nowMs = clock.now();
  await createTokenStore(table, clock).create({
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

/** Revokes the tokens of earlier runs, so that one development token is valid at a time. */
export async function revokeDevelopmentTokens(
  table: Table,
  {
    indexes,
    accountId,
    clock,
  }: { readonly indexes: TableIndexes; readonly accountId: string; readonly clock: Clock },
): Promise<void> {
  const store = createTokenStore(table, clock);
  const tokens = await store.list(indexes, accountId);
  const valid = tokens.filter(
    ({ client_id, revoked_at, expires_at_ms }) =>
      client_id === DEVELOPMENT_CLIENT && revoked_at === undefined && clock.now() < expires_at_ms,
  );
  for (const { token_id } of valid) await store.revoke(token_id);
}
