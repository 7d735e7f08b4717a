/** Issues, lists and revokes the tokens of callers, in the table of AWS or of a local run. */

import { randomBytes } from 'node:crypto';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import { generationOf } from '../../../shared/accounts/account.ts';
import { SCOPE_BUNDLES } from '../../../shared/callers/scopes.ts';
import { createTokenStore, mintToken, type TokenRecord, tokenHash } from '../../../shared/callers/tokens.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { AppError, toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { createKeyingSecretSource } from '../../../shared/runtime/secret-key-source.ts';
import { createDynamoDbIndexes, createDynamoDbTable } from '../../../shared/store/dynamodb-table.ts';
import { accountItemKey, accountKey, accountStatusKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import { UsageError } from '../../process/command.ts';
import { actAudited, awsIdentity } from './audited-act.ts';
import type { TokenOrder, TokenPlace } from './token-options.ts';

const DAY_MS = 24 * 3_600_000;

const lifeIn = z.object({ generation: z.number().optional() });

interface CreatedToken {
  readonly record: TokenRecord;
  /** The token itself, which is shown once and kept nowhere. */
  readonly token: Secret;
  /** A person must read this sentence, if there is one. */
  readonly warning: string | undefined;
}

/** Rejects with `UsageError` when AWS refuses. */
export async function createToken(
  place: TokenPlace,
  { client, scopes, projects, settles, approve, days }: TokenOrder,
): Promise<CreatedToken> {
  return atPlace(place, async ({ store, table, settings, secrets }) => {
    const pepper = await createKeyingSecretSource(secrets, place.pepperSecret, systemClock).current();
    const minted = mintToken(randomBytes);
    const nowMs = systemClock.now();
    const account = await table.get(accountItemKey(place.account));
    if (account?.['state'] === 'removed')
      throw new UsageError(
        `The account ${place.account} was removed, and its tokens have ended with it; add it again first.`,
      );
    const generation = generationOf(lifeIn.parse(account ?? {}));
    const record: TokenRecord = {
      token_id: minted.id,
      account_id: place.account,
      ...(generation > 1 && { generation }),
      client_id: client,
      hash: tokenHash(minted.token.reveal(), pepper),
      scopes: [...scopes],
      ...(projects && { project_ids: [...projects] }),
      ...(settles && { settles: true }),
      ...(approve.length > 0 && { approve: [...approve] }),
      created_at: new Date(nowMs).toISOString(),
      expires_at_ms: nowMs + days * DAY_MS,
    };
    const { account_id } = record;
    await actAudited(
      {
        table,
        clock: systemClock,
        account_id,
        generation: record.generation,
        client_id: await awsIdentity(settings),
        call: 'createToken',
        resource: { token_id: minted.id, client_id: client, scopes: scopes.join(' ') },
      },
      () => store.create(record),
    );
    const warning = place.isAccountKnown ? undefined : await missingAccountWarning(table, place.account);
    return { record, token: minted.token, warning };
  });
}

export async function listTokens(place: TokenPlace): Promise<readonly TokenRecord[]> {
  return atPlace(place, ({ store, dynamoDb }) =>
    store.list(createDynamoDbIndexes(dynamoDb, place.table), place.account),
  );
}

/** Resolves to false when there is no such token, or when it was revoked before. */
export async function revokeToken(place: TokenPlace, tokenId: string): Promise<boolean> {
  return atPlace(place, async ({ store, table, settings }) => {
    const record = await store.read(tokenId);
    if (record === undefined) return false;
    const { account_id, generation, client_id } = record;
    const about = { call: 'revokeToken', resource: { token_id: tokenId, client_id } };
    const by = await awsIdentity(settings);
    return actAudited(
      { table, clock: systemClock, account_id, generation, client_id: by, ...about },
      () => store.revoke(tokenId),
      (isRevoked) => isRevoked,
    );
  });
}

interface Tools {
  readonly store: ReturnType<typeof createTokenStore>;
  readonly table: Table;
  readonly dynamoDb: DynamoDBClient;
  readonly secrets: SecretsManagerClient;
  readonly settings: DynamoDBClientConfig;
}

async function atPlace<Result>(place: TokenPlace, act: (tools: Tools) => Promise<Result>): Promise<Result> {
  const { endpoint, accessKey } = place;
  const settings = endpoint === undefined ? {} : localClient(endpoint, accessKey);
  const dynamoDb = new DynamoDBClient(settings);
  const secrets = new SecretsManagerClient(settings);
  try {
    const table = createDynamoDbTable(dynamoDb, place.table);
    return await act({ store: createTokenStore(table, systemClock), table, dynamoDb, secrets, settings });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return fail(place, error);
  } finally {
    dynamoDb.destroy();
    secrets.destroy();
  }
}

/**
 * Reports a failure. An error of our own says what to do, and an error of AWS means that the place or the identity of the request was wrong, so the sentence
 * names both.
 */
function fail({ table, endpoint, pepperSecret }: TokenPlace, thrown: unknown): never {
  const { name, message } = toError(thrown);
  if (thrown instanceof AppError) throw new UsageError(`${message}.`, { cause: thrown });
  const advice =
    endpoint === undefined
      ? `check the AWS credentials and region, --table (${table}) and --pepper-secret (${pepperSecret})`
      : `check that the bridge of "operations-bridge start" runs, that AWS_ACCESS_KEY_ID is the key that it prints (or use --local), and that its local AWS is at ${endpoint}`;
  throw new UsageError(`That did not work (${name}: ${message}); ${advice}.`, { cause: thrown });
}

/** Returns a client of the local AWS, which checks only the id of the access key. */
function localClient(endpoint: string, accessKeyId = '') {
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId, secretAccessKey: 'unused' } };
}

export function tokenLines(record: TokenRecord, nowMs: number): readonly string[] {
  return [
    `token     ${record.token_id}   ${stateOfToken(record, nowMs)}`,
    `client    ${record.client_id}   (account ${record.account_id})`,
    `scopes    ${inBundles(record.scopes).join(' ')}`,
    `projects  ${record.project_ids?.join(' ') ?? 'all of the account'}`,
    `answers   ${record.settles === true ? 'to commands come when they have settled' : 'come at once'}`,
    ...(record.approve ?? []).map((rule) => `approve   ${rule}`),
    `created   ${record.created_at}`,
    `expires   ${new Date(record.expires_at_ms).toISOString()}`,
  ];
}

/** Names the largest bundle that is granted as a whole, and then the other scopes, because a bundle alone can have sixty. */
function inBundles(scopes: readonly string[]): readonly string[] {
  const largest = Object.entries(SCOPE_BUNDLES).findLast(([, bundle]) =>
    bundle.scopes.every((scope) => scopes.includes(scope)),
  );
  if (largest === undefined) return scopes;
  const [name, bundle] = largest;
  return [name, ...scopes.filter((scope) => !bundle.scopes.some((other) => other === scope))];
}

export function stateOfToken({ revoked_at, expires_at_ms }: TokenRecord, nowMs: number): string {
  if (revoked_at !== undefined) return `revoked ${revoked_at}`;
  return nowMs < expires_at_ms ? 'valid' : 'expired';
}

/** The table knows added accounts by their items, and configured ones from their first poll on. */
async function missingAccountWarning(table: Table, accountId: string): Promise<string | undefined> {
  const keys = [accountItemKey, accountKey, accountStatusKey].map((keyOf) => keyOf(accountId));
  // Who may issue tokens need not have the right to read accounts, and then there is nothing to say.
  const found = await Promise.all(keys.map((key) => table.get(key))).catch(() => undefined);
  if (found === undefined || found.some((item) => item !== undefined)) return undefined;
  return `The table does not know the account ${accountId}: none of this id was added, and none was polled so far. An account of the configuration is polled within a minute of its deployment. If it is another one, check --account; the token works once the account is there.`;
}
