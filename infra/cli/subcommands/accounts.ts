/** `operations-bridge accounts` adds accounts of the upstream while the bridge runs, and pauses, changes and removes them. */

import type { Command } from 'commander';
import * as z from 'zod';
import { UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { accountAnswer, lineOfAccount } from '../accounts/account-lines.ts';
import {
  type KeyValues,
  parseAccountId,
  parseLane,
  readKey,
  readSettings,
  type SettingValues,
} from '../accounts/account-options.ts';
import { type BridgeClient, createBridgeClient } from '../connection/bridge-client.ts';
import {
  type ConnectionValues,
  connectionFinder,
  declareConnectionOptions,
} from '../connection/find-connection.ts';
import { findLocalRun, type LocalRun } from '../connection/local-run.ts';
import { createSubcommand } from './subcommand.ts';

interface CommonValues extends ConnectionValues {
  readonly json?: true;
}

interface AddValues extends CommonValues, SettingValues, KeyValues {
  readonly name: string;
  readonly upstream?: string;
}

const PATH = '/bridge/v1/accounts';

const page = z.looseObject({ accounts: z.array(accountAnswer), cursor: z.string().optional() });
const added = z.looseObject({
  account: accountAnswer,
  check: z.looseObject({ project_count: z.number(), has_more_projects: z.boolean() }).optional(),
});
const changed = z.looseObject({ account: accountAnswer });

export function accountsSubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'accounts',
    summary: 'Adds accounts of the upstream while the bridge runs, and pauses, changes and removes them.',
    description: 'It needs a token with accounts:read and accounts:write.',
    examples: [
      'operations-bridge accounts add tenant-7 --key-env TENANT_KEY',
      'operations-bridge accounts list',
    ],
  });
  for (const create of [list, add, set, pause, resume, pin, remove]) command.addCommand(create(surroundings));
  return command;
}

function list(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'list',
    summary: 'Shows all accounts of the bridge, and how the poller is doing with each.',
    examples: ['operations-bridge accounts list --json'],
  });
  return declared(command).action(async (values: CommonValues) => {
    const client = await clientFor(values, surroundings);
    let cursor: string | undefined;
    do {
      const query = { limit: 100, cursor };
      const read = await client.read({ method: 'GET', path: PATH, query }, page);
      for (const each of read.accounts)
        surroundings.print(values.json ? JSON.stringify(each) : lineOfAccount(each));
      cursor = read.cursor;
    } while (cursor !== undefined);
  });
}

function add(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'add <account-id>',
    summary: 'Adds an account, once the upstream has accepted its key.',
    description:
      'With --key-env or --key-stdin it first puts the key into the secret, with your credentials of AWS or on the bridge of this machine. In a secret that holds the keys of many accounts, a JSON object, the key stands under the id of the account. Without them the key must be in the secret already.',
    examples: [
      'operations-bridge accounts add tenant-7 --key-env TENANT_KEY',
      'operations-bridge accounts add tenant-8 --secret operations-bridge/upstream-keys/tenants --settings \'{"poll_interval_seconds": 1}\'',
    ],
  });
  return declared(declareSettings(command))
    .option(
      '--upstream <url>',
      "the address of the upstream, which ends with /api/v2 (default: that of the token's account)",
    )
    .option('--key-env <variable>', 'the environment variable that holds the key')
    .option('--key-stdin', 'reads the key from the standard input')
    .option(
      '--name <name>',
      'the name of the bridge, with which the default secret begins',
      'operations-bridge',
    )
    .action(async (text: string, values: AddValues) => {
      const accountId = parseAccountId(text);
      const body = {
        ...readSettings(values),
        account_id: accountId,
        ...(values.upstream !== undefined && { upstream_base_url: values.upstream }),
      };
      await storeKey(accountId, values, surroundings);
      const client = await clientFor(values, surroundings);
      const answer = await client.read({ method: 'POST', path: PATH, body: JSON.stringify(body) }, added);
      if (values.json) return surroundings.print(JSON.stringify(answer));
      surroundings.print(lineOfAccount(answer.account));
      surroundings.note(checkSentence(answer.check));
    });
}

async function storeKey(accountId: string, values: AddValues, surroundings: Surroundings): Promise<void> {
  const key = await readKey(values, surroundings);
  if (key === undefined) return;
  const prefix = `${values.name}/upstream-keys/`;
  const secretId = values.secret ?? `${prefix}${accountId}`;
  // The bridge refuses such a secret as well, but by then the key would stand in a secret of another purpose.
  if (!secretId.startsWith(prefix)) {
    throw new UsageError(
      `The key was not stored: the name of the secret must begin with "${prefix}", and "${secretId}" does not. Name another one with --secret, or the bridge with --name.`,
    );
  }
  const run = await localRunOf(values, surroundings);
  const { putKey } = await import('../accounts/put-key.ts');
  const isWritten = await putKey({ secretId, accountId }, key, run);
  surroundings.note(
    isWritten ? `The key is in the secret ${secretId}.` : `The secret ${secretId} held this key already.`,
  );
}

/** Resolves to the run of this machine when the account is added there, and to undefined for a bridge on AWS. */
async function localRunOf({ url }: AddValues, surroundings: Surroundings): Promise<LocalRun | undefined> {
  const run = findLocalRun(surroundings.environment);
  const find = await connectionFinder({ ...(url !== undefined && { url }) }, surroundings).catch(
    () => undefined,
  );
  return find?.()?.url === run?.url ? run : undefined;
}

function checkSentence(check: z.output<typeof added>['check']): string {
  if (check === undefined) return 'It had been added before with the same settings; nothing was changed.';
  const { project_count: count, has_more_projects: hasMore } = check;
  const projects = hasMore ? `${count} projects or more` : `${count} ${count === 1 ? 'project' : 'projects'}`;
  return `The key sees ${projects}. The bridge polls the account within a minute.`;
}

function set(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'set <account-id>',
    summary: 'Changes settings of an account that was added; what is not given stays.',
    examples: [
      'operations-bridge accounts set tenant-7 --settings \'{"poller_requests_per_minute": 600, "limit_requests_per_minute": 1000}\'',
    ],
  });
  return declared(declareSettings(command)).action((text: string, values: CommonValues & SettingValues) =>
    change(text, readSettings(values), values, surroundings),
  );
}

function pause(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'pause <account-id>',
    summary: 'Pauses an account: nothing is sent to the upstream for it until it is resumed.',
    description:
      'It is not polled, calls are refused with 503, and queued commands wait within their deadlines. An account of the deployment can be paused, too.',
    examples: ['operations-bridge accounts pause tenant-7'],
  });
  return declared(command).action((text: string, values: CommonValues) =>
    change(text, { state: 'paused' }, values, surroundings),
  );
}

function resume(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'resume <account-id>',
    summary: 'Lets a paused account go on.',
    examples: ['operations-bridge accounts resume tenant-7'],
  });
  return declared(command).action((text: string, values: CommonValues) =>
    change(text, { state: 'active' }, values, surroundings),
  );
}

function pin(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'pin <account-id> <lane>',
    summary: 'Has an account polled in this lane; "none" takes the pin away.',
    examples: ['operations-bridge accounts pin tenant-7 3', 'operations-bridge accounts pin tenant-7 none'],
  });
  return declared(command).action((text: string, lane: string, values: CommonValues) =>
    change(text, { lane: lane === 'none' ? null : parseLane(lane) }, values, surroundings),
  );
}

async function change(
  text: string,
  body: object,
  values: CommonValues,
  surroundings: Surroundings,
): Promise<void> {
  const path = `${PATH}/${parseAccountId(text)}`;
  if (Object.keys(body).length === 0) throw new UsageError('There is nothing to change; --help shows how.');
  const client = await clientFor(values, surroundings);
  const { account } = await client.read({ method: 'PATCH', path, body: JSON.stringify(body) }, changed);
  surroundings.print(values.json ? JSON.stringify(account) : lineOfAccount(account));
}

function remove(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'remove <account-id>',
    summary: 'Removes an account that was added; what was recorded of it stays.',
    description: 'Its secret stays, too. It is refused while commands of the account wait in line.',
    examples: ['operations-bridge accounts remove tenant-7'],
  });
  return declared(command).action(async (text: string, values: CommonValues) => {
    const accountId = parseAccountId(text);
    const client = await clientFor(values, surroundings);
    await client.read({ method: 'DELETE', path: `${PATH}/${accountId}` }, z.unknown());
    const removed = { account_id: accountId, removed: true };
    surroundings.print(values.json ? JSON.stringify(removed) : `The account ${accountId} is removed.`);
  });
}

function declareSettings(command: Command): Command {
  return command
    .option('--secret <name>', 'the secret with the key (default: <name>/upstream-keys/<account-id>)')
    .option('--lane <number>', 'the lane that polls the account (default: it follows from the id)')
    .option('--settings <json>', 'further settings as JSON, such as rates (docs/deploy/add-an-account.md)');
}

function declared(command: Command): Command {
  return declareConnectionOptions(command).option('--json', 'prints JSON, one line for each account');
}

async function clientFor(values: CommonValues, surroundings: Surroundings): Promise<BridgeClient> {
  return createBridgeClient(await connectionFinder(values, surroundings), surroundings.signal);
}
