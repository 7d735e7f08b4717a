/** `npm run tokens` issues, lists and revokes the tokens of callers, in the cloud's table or in a local one. */

import { randomBytes } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { mintToken, tokenHash } from '../../shared/callers/bridge-token.ts';
import type { TokenRecord } from '../../shared/callers/token-record.ts';
import { createTokenStore } from '../../shared/callers/token-store.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import { createDynamoDbIndexes } from '../../shared/store/dynamodb/dynamodb-indexes.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb/dynamodb-table.ts';
import { runCommand } from '../process/command.ts';
import { UsageError } from '../process/option-values.ts';
import { parseTokenOptions, TOKENS_HELP, type TokenOptions } from './token-options.ts';

const DAY_MS = 24 * 3_600_000;

await runCommand(async () => {
  const options = parseTokenOptions(process.argv.slice(2));
  if (options === undefined) return console.log(TOKENS_HELP);
  for (const line of await run(options).catch((error: unknown) => fail(options, error))) console.log(line);
});

async function run(options: TokenOptions): Promise<readonly string[]> {
  const { endpoint, accessKey } = options;
  const client = endpoint === undefined ? {} : localClient(endpoint, accessKey);
  const dynamoDb = new DynamoDBClient(client);
  const store = createTokenStore(createDynamoDbTable(dynamoDb, options.table), systemClock);
  switch (options.command) {
    case 'create': {
      const pepper = createSecretKeySource(
        new SecretsManagerClient(client),
        options.pepperSecret,
        systemClock,
      );
      const minted = mintToken(randomBytes);
      const nowMs = systemClock.now();
      const record: TokenRecord = {
        token_id: minted.id,
        account_id: options.account,
        client_id: options.client,
        hash: tokenHash(minted.token.reveal(), await pepper.current()),
        scopes: [...options.scopes],
        ...(options.projects && { project_ids: [...options.projects] }),
        ...(options.settles && { settles: true }),
        created_at: new Date(nowMs).toISOString(),
        expires_at_ms: nowMs + options.days * DAY_MS,
      };
      await store.create(record);
      return [
        ...linesOf(record, nowMs),
        '',
        minted.token.reveal(),
        '',
        'This is the only time that it is shown.',
      ];
    }
    case 'list': {
      const records = await store.list(createDynamoDbIndexes(dynamoDb, options.table), options.account);
      if (records.length === 0) return [`Account ${options.account} has no tokens.`];
      return records.flatMap((record) => [...linesOf(record, systemClock.now()), '']);
    }
    case 'revoke': {
      const isRevoked = await store.revoke(options.tokenId);
      return isRevoked
        ? [`Token ${options.tokenId} is revoked; it stops working within ten seconds.`]
        : [`There is no token ${options.tokenId} that is valid; "list" shows them all.`];
    }
  }
}

/**
 * Reports a failure. An error of AWS means that the place or the identity of the request was wrong, so the sentence
 * names both.
 */
function fail({ table, endpoint, pepperSecret }: TokenOptions, thrown: unknown): never {
  const { name, message } = toError(thrown);
  const advice =
    endpoint === undefined
      ? `check the AWS credentials and region, --table (${table}) and --pepper-secret (${pepperSecret})`
      : `check that npm start runs, that --access-key is the key it prints, and that its local AWS is at ${endpoint}`;
  throw new UsageError(`That did not work (${name}: ${message}); ${advice}.`, { cause: thrown });
}

/** Returns a client of the local AWS, which checks only the id of the access key. */
function localClient(endpoint: string, accessKeyId = '') {
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId, secretAccessKey: 'unused' } };
}

function linesOf(record: TokenRecord, nowMs: number): readonly string[] {
  return [
    `token     ${record.token_id}   ${stateOf(record, nowMs)}`,
    `client    ${record.client_id}   (account ${record.account_id})`,
    `scopes    ${record.scopes.join(' ')}`,
    `projects  ${record.project_ids?.join(' ') ?? 'all of the account'}`,
    `answers   ${record.settles === true ? 'to commands come when they have settled' : 'come at once'}`,
    `created   ${record.created_at}`,
    `expires   ${new Date(record.expires_at_ms).toISOString()}`,
  ];
}

function stateOf({ revoked_at, expires_at_ms }: TokenRecord, nowMs: number): string {
  if (revoked_at !== undefined) return `revoked ${revoked_at}`;
  return nowMs < expires_at_ms ? 'valid' : 'expired';
}
