/** `operations-bridge accounts` adds accounts of the upstream while the bridge runs, and pauses, changes and removes them. */

import type { Command } from 'commander';
import { UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { lineOfAccount } from '../accounts/account-lines.ts';
import {
  type KeyValues,
  parseAccountId,
  parsePin,
  readKey,
  readSettings,
  type SettingValues,
} from '../accounts/account-options.ts';
import { type AccountsClient, type Administered, createAccountsClient } from '../accounts/accounts-client.ts';
import type { PurgePlace } from '../accounts/purge-account.ts';
import { localRunOf, sendWithKey } from '../accounts/store-key.ts';
import { createBridgeClient } from '../connection/bridge-client.ts';
import {
  type ConnectionValues,
  connectionFinder,
  declareConnectionOptions,
} from '../connection/find-connection.ts';
import { createSubcommand } from './subcommand.ts';

interface CommonValues extends ConnectionValues {
  readonly json?: true;
}

interface AddValues extends CommonValues, SettingValues, KeyValues {
  readonly upstream?: string;
  readonly replaceKey?: true;
}

interface RemoveValues extends CommonValues {
  readonly purge?: true;
  readonly table: string;
  readonly endpoint?: string;
}

interface SetValues extends CommonValues, SettingValues, KeyValues {}

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
    let isOwnOnly = false;
    for await (const account of (await clientFor(values, surroundings)).list()) {
      surroundings.print(values.json ? JSON.stringify(account) : lineOfAccount(account));
      isOwnOnly ||= account.state === undefined;
    }
    if (isOwnOnly)
      surroundings.note('Without accounts:read the token sees its own account only, and not how it is set.');
  });
}

function add(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'add <account-id>',
    summary: 'Adds an account, once the upstream has accepted its key.',
    description:
      'With --key-env or --key-stdin it puts the key into the secret, with your credentials of AWS or on the bridge of this machine, once the bridge finds nothing wrong with the rest; if the bridge then refuses the key, the secret gets back what it held. In a secret that holds the keys of many accounts, a JSON object, the key stands under the id of the account. Without these options the key must be in the secret already.',
    examples: [
      'operations-bridge accounts add tenant-7 --key-env TENANT_KEY',
      'operations-bridge accounts add tenant-8 --secret operations-bridge/upstream-keys/tenants --settings \'{"poll_interval_seconds": 1}\'',
    ],
  });
  return declareKeyOptions(declared(declareSettings(command)))
    .option(
      '--upstream <url>',
      "the address of the upstream, which ends with /api/v2 (default: that of the token's account)",
    )
    .option('--replace-key', 'replaces a key that stands in the secret for this account')
    .action(async (text: string, values: AddValues) => {
      const accountId = parseAccountId(text);
      const account = { account_id: accountId, upstream_base_url: values.upstream };
      const body = { ...account, ...readSettings(values, account) };
      const key = await readKey(values, surroundings);
      const client = await clientFor(values, surroundings);
      const send = () => client.add(body);
      if (key === undefined) return showAdded(await send(), values, surroundings);
      const secretId = await client.validateAddition(body);
      const place = {
        accountId,
        secretId,
        mayReplace: values.replaceKey === true,
        sharedWith: await client.sharing(secretId, accountId),
        run: await localRunOf(values, surroundings),
      };
      showAdded(await sendWithKey(send, { key, place }, surroundings), values, surroundings);
    });
}

/** The bridge tries the key of a new account, and only of a new one. */
function showAdded(added: Administered, values: CommonValues, surroundings: Surroundings): void {
  show(added, values, surroundings);
  if (added.check === undefined)
    surroundings.note('It had been added before with the same settings; nothing was changed.');
}

function show(
  { account, check, warnings = [] }: Administered,
  values: CommonValues,
  { print, note }: Surroundings,
): void {
  print(values.json ? JSON.stringify({ ...account, check, warnings }) : lineOfAccount(account));
  if (check !== undefined) note(checkSentence(check));
  for (const warning of warnings) note(warning);
}

function checkSentence({
  project_count: count,
  has_more_projects: hasMore,
}: NonNullable<Administered['check']>): string {
  const projects = hasMore ? `${count} projects or more` : `${count} ${count === 1 ? 'project' : 'projects'}`;
  return `The key sees ${projects}. The bridge polls the account within a minute.`;
}

function set(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'set <account-id>',
    summary: 'Changes settings of an account that was added; what is not given stays.',
    description:
      'With --key-env or --key-stdin it replaces the key of the account in its secret, or puts it into the secret of --secret; if the bridge then refuses the key, the secret gets back what it held. In --settings, null takes a setting back to its default.',
    examples: [
      'operations-bridge accounts set tenant-7 --settings \'{"poller_requests_per_minute": 600, "limit_requests_per_minute": 1000}\'',
      'operations-bridge accounts set tenant-7 --key-env TENANT_KEY',
    ],
  });
  return declareKeyOptions(declared(declareSettings(command))).action(
    async (text: string, values: SetValues) => {
      const accountId = parseAccountId(text);
      const settings = readSettings(values);
      const key = await readKey(values, surroundings);
      if (key === undefined) return change(accountId, settings, values, surroundings);
      const client = await clientFor(values, surroundings);
      const own = await client.secretOf(accountId);
      const secretId = await client.validateChange(accountId, { key_secret_id: own, ...settings });
      const place = {
        accountId,
        secretId,
        mayReplace: secretId === own,
        sharedWith: await client.sharing(secretId, accountId),
        run: await localRunOf(values, surroundings),
      };
      const send = () => client.change(accountId, { ...settings, key_secret_id: secretId });
      show(await sendWithKey(send, { key, place }, surroundings), values, surroundings);
    },
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
    change(parseAccountId(text), { state: 'paused' }, values, surroundings),
  );
}

function resume(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'resume <account-id>',
    summary: 'Lets a paused account go on.',
    examples: ['operations-bridge accounts resume tenant-7'],
  });
  return declared(command).action((text: string, values: CommonValues) =>
    change(parseAccountId(text), { state: 'active' }, values, surroundings),
  );
}

function pin(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'pin <account-id> <lane>',
    summary: 'Has an account polled in this lane; "none" takes the pin away.',
    examples: ['operations-bridge accounts pin tenant-7 3', 'operations-bridge accounts pin tenant-7 none'],
  });
  return declared(command).action((text: string, lane: string, values: CommonValues) =>
    change(parseAccountId(text), { lane: parsePin(lane) }, values, surroundings),
  );
}

async function change(
  accountId: string,
  body: Readonly<Record<string, unknown>>,
  values: CommonValues,
  surroundings: Surroundings,
): Promise<void> {
  if (Object.keys(body).length === 0) throw new UsageError('There is nothing to change; --help shows how.');
  const client = await clientFor(values, surroundings);
  show(await client.change(accountId, body), values, surroundings);
}

function remove(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'remove <account-id>',
    summary: 'Removes an account that was added; what was recorded of it stays.',
    description:
      'Its secret stays, too. It is refused while commands of the account wait in line. Its id comes back only with a key of the same owner. With --purge the command also deletes all records and tokens of the account, with your credentials of AWS or on the bridge of this machine; the audit stays for its 400 days, and the id is free for anybody then. A command that was stopped goes on when it is repeated.',
    examples: [
      'operations-bridge accounts remove tenant-7',
      'operations-bridge accounts remove tenant-7 --purge',
    ],
  });
  return declared(command)
    .option('--purge', 'deletes what was recorded of the account, for good')
    .option('--table <name>', 'the table of the bridge, for --purge', 'operations-bridge')
    .option('--endpoint <url>', 'a local AWS for --purge, whose access key is in AWS_ACCESS_KEY_ID')
    .action(async (text: string, values: RemoveValues) => {
      const accountId = parseAccountId(text);
      const client = await clientFor(values, surroundings);
      await client.remove(accountId);
      const removed = { account_id: accountId, removed: true };
      if (values.purge !== true) {
        surroundings.print(values.json ? JSON.stringify(removed) : `The account ${accountId} is removed.`);
        return;
      }
      // The client of AWS takes longer to load than most subcommands run.
      const { purgeAccount } = await import('../accounts/purge-account.ts');
      const place = { table: values.table, local: await localAwsOf(values, surroundings) };
      const deleted = await purgeAccount(place, accountId, surroundings);
      surroundings.print(
        values.json
          ? JSON.stringify({ ...removed, deleted_items: deleted })
          : `The account ${accountId} is removed, and ${deleted} items of it are deleted. Its id is free.`,
      );
    });
}

async function localAwsOf(values: RemoveValues, surroundings: Surroundings): Promise<PurgePlace['local']> {
  if (values.endpoint === undefined) return localRunOf(values, surroundings);
  return {
    aws_endpoint: values.endpoint,
    access_key_id: surroundings.environment['AWS_ACCESS_KEY_ID'] ?? '',
  };
}

function declareSettings(command: Command): Command {
  return command
    .option('--secret <name>', 'the secret with the key (default: <name>/upstream-keys/<account-id>)')
    .option('--lane <number>', 'the lane that polls the account (default: it follows from the id)')
    .option('--settings <json>', 'further settings as JSON, such as rates (docs/deploy/add-an-account.md)');
}

function declareKeyOptions(command: Command): Command {
  return command
    .option('--key-env <variable>', 'the environment variable that holds the key')
    .option('--key-stdin', 'reads the key from the standard input');
}

function declared(command: Command): Command {
  return declareConnectionOptions(command).option('--json', 'prints JSON, one line for each account');
}

async function clientFor(values: CommonValues, surroundings: Surroundings): Promise<AccountsClient> {
  return createAccountsClient(createBridgeClient(await connectionFinder(values, surroundings), surroundings));
}
