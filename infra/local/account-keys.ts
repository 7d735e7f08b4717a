/** Gives added accounts their keys back when a folder is used again, or says how a person does. */

import { pollerAccess } from '../../functions/poller/access.ts';
import type { AccountItem, AccountSettings } from '../../shared/accounts/account.ts';
import { mergeAccounts, type ServedAccount } from '../../shared/accounts/account-directory.ts';
import { createAccountReader } from '../../shared/accounts/account-store.ts';
import type { AccountRules } from '../../shared/config/account-rules.ts';
import { createDynamoDbPartitions, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { localDynamoDb } from './bridge-aws.ts';
import { TABLE_NAME, UPSTREAM_KEYS_PREFIX } from './bridge-names.ts';
import type { Upstream } from './local-upstream.ts';

/** Resolves to the lines that a person must read. */
export async function restoreKeys(
  aws: LocalAws,
  { baseUrl, apiKey, isSimulated }: Upstream,
): Promise<readonly string[]> {
  const client = localDynamoDb(aws);
  try {
    const table = createDynamoDbTable(client, TABLE_NAME, pollerAccess);
    const partitions = createDynamoDbPartitions(client, TABLE_NAME, pollerAccess);
    const items = await createAccountReader(table, partitions).list();
    const rules = { upstreamHosts: [new URL(baseUrl).host], keySecretPrefix: UPSTREAM_KEYS_PREFIX };
    const { secretIds, lines } = decideKeys(items, { isSimulated, rules });
    for (const secretId of secretIds) aws.secrets.create(secretId, apiKey);
    return lines;
  } finally {
    client.destroy();
  }
}

export interface KeyDecision {
  /** These secrets get the key of the simulated upstream. */
  readonly secretIds: readonly string[];
  /** A person reads these lines at the start. */
  readonly lines: readonly string[];
}

export interface RunUpstream {
  readonly isSimulated: boolean;
  readonly rules: AccountRules;
}

type Added = ServedAccount<AccountSettings>;

/** A run without added accounts needs nothing. */
export function decideKeys(items: readonly AccountItem[], upstream: RunUpstream): KeyDecision {
  const { rules, isSimulated } = upstream;
  const served = [
    ...mergeAccounts<AccountSettings>([], items, { rules, settingsOf: (added) => added }).values(),
  ];
  const refused = served.filter(({ state }) => state === 'refused');
  const allowed = served.filter(({ state }) => state !== 'refused');
  return {
    secretIds: isSimulated ? [...new Set(allowed.flatMap(secretIdsOf))] : [],
    lines: [...refused.map(refusedLine), ...(isSimulated ? [] : keyLines(allowed))],
  };
}

function secretIdsOf({ settings: { key_secret_id, command_key_secret_id } }: Added): readonly string[] {
  return command_key_secret_id === undefined ? [key_secret_id] : [key_secret_id, command_key_secret_id];
}

function refusedLine({ settings: { account_id }, fault }: Added): string {
  return `The account ${account_id} is not polled in this run: ${fault}. Remove it ("operations-bridge accounts remove ${account_id}") and add it again, or start the run with the upstream that it had.`;
}

/** A secret of several accounts, or a second one for commands, is more than `accounts set` can fill again. */
function keyLines(accounts: readonly Added[]): readonly string[] {
  const uses = accounts.flatMap(secretIdsOf);
  const isSimple = ({ settings }: Added) =>
    settings.command_key_secret_id === undefined &&
    uses.filter((secretId) => secretId === settings.key_secret_id).length === 1;
  const others = accounts.filter((account) => !isSimple(account));
  return [
    ...accounts.filter(isSimple).flatMap(ownKeyLines),
    ...(others.length === 0 ? [] : sharedKeyLines(others)),
  ];
}

function ownKeyLines({ settings: { account_id } }: Added): readonly string[] {
  return [
    `The account ${account_id} has no key in this run, because ${IN_MEMORY}. Store it again:`,
    `  KEY=... operations-bridge accounts set ${account_id} --key-env KEY`,
  ];
}

function sharedKeyLines(accounts: readonly Added[]): readonly string[] {
  const names = accounts.map(({ settings }) => settings.account_id).join(', ');
  return [
    `These accounts have no keys in this run, because ${IN_MEMORY}: ${names}. Store the texts of their secrets again, each on the standard input, with the variables of the line "aws CLI":`,
    ...[...new Set(accounts.flatMap(secretIdsOf))].map(
      (secretId) => `  aws secretsmanager create-secret --name ${secretId} --secret-string file:///dev/stdin`,
    ),
  ];
}

const IN_MEMORY = 'the keys of added accounts are kept in memory alone';
