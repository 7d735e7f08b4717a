/**
 * Sends requests about accounts to the bridge, and prints accounts for people. The key of an account is stored before
 * the bridge is asked to use it, and taken out again when the bridge refuses.
 */

import * as z from 'zod';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { UsageError } from '../../process/command.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { type BridgeClient, BridgeRefusal, type BridgeRequest } from '../bridge-client.ts';
import { type ConnectionValues, connectionFinder, findLocalRun, type LocalRun } from '../connection.ts';
import type { KeyPlace } from './put-key.ts';

const accountAnswer = z.looseObject({
  account_id: z.string(),
  /** These two are absent for a token without `accounts:read`, which sees only its own account. */
  state: z.string().optional(),
  origin: z.string().optional(),
  lane: z.number().optional(),
  fault: z.string().optional(),
  project_count: z.number().optional(),
  healthy: z.boolean().optional(),
  reasons: z.array(z.string()).optional(),
  settings: z
    .looseObject({ key_secret_id: z.string(), command_key_secret_id: z.string().optional() })
    .optional(),
});

export type AccountAnswer = z.output<typeof accountAnswer>;

const page = z.looseObject({ accounts: z.array(accountAnswer), cursor: z.string().optional() });
const validated = z.looseObject({ key_secret_id: z.string() });
const administered = z.looseObject({
  account: accountAnswer,
  check: z.looseObject({ project_count: z.number(), has_more_projects: z.boolean() }).optional(),
  warnings: z.array(z.string()).optional(),
});

/** What the bridge answers to a change: the account, what its key sees if it was tried, and warnings. */
export type Administered = z.output<typeof administered>;

type Fields = Readonly<Record<string, unknown>>;

/** Each method rejects with `BridgeRefusal` when the bridge refuses. */
export interface AccountsClient {
  /** Yields the accounts that the token may see, by id. */
  list(): AsyncGenerator<AccountAnswer>;
  /** Resolves to the name of the secret from which the bridge will read the key. Nothing is added. */
  validateAddition(account: Fields): Promise<string>;
  /** Resolves to the name of the secret from which the bridge will read the key. Nothing is changed. */
  validateChange(accountId: string, fields: Fields): Promise<string>;
  add(account: Fields): Promise<Administered>;
  /** What is not given stays. */
  change(accountId: string, fields: Fields): Promise<Administered>;
  remove(accountId: string): Promise<void>;
  /** Resolves to the name of the account's secret. Rejects with `UsageError` for an account without settings here. */
  secretOf(accountId: string): Promise<string>;
  /** Resolves to the other accounts whose keys are in the secret. */
  sharing(secretId: string, but: string): Promise<readonly string[]>;
}

const PATH = '/bridge/v1/accounts';

export function createAccountsClient(client: BridgeClient): AccountsClient {
  const adding = (account: Fields) => ({ method: 'POST', path: PATH, body: JSON.stringify(account) });
  const changing = (accountId: string, fields: Fields) => ({
    method: 'PATCH',
    path: `${PATH}/${accountId}`,
    body: JSON.stringify(fields),
  });
  const validate = async (request: BridgeRequest) =>
    (await client.read({ ...request, query: { validate_only: 'true' } }, validated)).key_secret_id;
  const readPage = (query: Readonly<Record<string, string | number | undefined>>) =>
    client.read({ method: 'GET', path: PATH, query }, page);

  async function* list(): AsyncGenerator<AccountAnswer> {
    let cursor: string | undefined;
    do {
      const read = await readPage({ limit: 100, cursor });
      yield* read.accounts;
      cursor = read.cursor;
    } while (cursor !== undefined);
  }

  return {
    list,
    validateAddition: (account) => validate(adding(account)),
    validateChange: (accountId, fields) => validate(changing(accountId, fields)),
    add: (account) => client.read(adding(account), administered),
    change: (accountId, fields) => client.read(changing(accountId, fields), administered),
    async remove(accountId) {
      await client.read({ method: 'DELETE', path: `${PATH}/${accountId}` }, z.unknown());
    },
    async secretOf(accountId) {
      const { accounts } = await readPage({ account_id: accountId });
      const found = accounts.find(({ account_id }) => account_id === accountId);
      if (found === undefined)
        throw new UsageError(`There is no account ${accountId}, or this token may not see it.`);
      if (found.settings !== undefined) return found.settings.key_secret_id;
      throw new UsageError(
        `The account ${accountId} comes with the deployment; docs/deploy/rotate-a-key.md shows how its key is replaced.`,
      );
    },
    async sharing(secretId, but) {
      const found: string[] = [];
      for await (const { account_id, settings } of list())
        if (
          account_id !== but &&
          [settings?.key_secret_id, settings?.command_key_secret_id].includes(secretId)
        )
          found.push(account_id);
      return found;
    },
  };
}

/**
 * Sends the request once the key is in its secret. When the bridge gives no answer, the key stays: the same command again
 * finds out what became of the request.
 */
export async function sendWithKey<Answer>(
  send: () => Promise<Answer>,
  { key, place }: { readonly key: Secret; readonly place: KeyPlace },
  { note }: Pick<Surroundings, 'note'>,
): Promise<Answer> {
  // The client of AWS takes longer to load than most subcommands run.
  const { putKey } = await import('./put-key.ts');
  const { secretId } = place;
  const { isWritten, undo } = await putKey(place, key);
  note(isWritten ? `The key is in the secret ${secretId}.` : `The secret ${secretId} held this key already.`);
  try {
    return await send();
  } catch (error) {
    if (isWritten && error instanceof BridgeRefusal && error.status < 500) {
      await undo();
      note(`The bridge refused, so the secret ${secretId} holds what it held before.`);
    }
    throw error;
  }
}

/** Resolves to the run of this machine when the bridge is that run, and to undefined for a bridge on AWS. */
export async function localRunOf(
  { url }: ConnectionValues,
  surroundings: Surroundings,
): Promise<LocalRun | undefined> {
  const run = findLocalRun(surroundings.environment);
  const find = await connectionFinder({ ...(url !== undefined && { url }) }, surroundings).catch(
    () => undefined,
  );
  return find?.()?.url === run?.url ? run : undefined;
}
