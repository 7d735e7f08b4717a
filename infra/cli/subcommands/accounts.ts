/** `operations-bridge accounts` adds accounts of the upstream while the bridge runs, and pauses, changes and removes them. */

import { ACCOUNT_ID_PATTERN } from '../../../shared/config/account-rules.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { parseJson } from '../../../shared/runtime/foreign-text.ts';
import { createSecret, type Secret } from '../../../shared/runtime/secret.ts';
import { parseInteger, UsageError } from '../../process/command.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import {
  type AccountAnswer,
  type AccountsClient,
  type Administered,
  createAccountsClient,
  localRunOf,
  sendWithKey,
} from '../access/account-requests.ts';
import type { PurgePlace } from '../access/purge-account.ts';
import { CONNECTION_OPTIONS, type ConnectionValues } from '../connection.ts';
import { type Columns, rowPrinter } from '../pages.ts';
import { type Asked, asking, group, type OptionRow } from './subcommand.ts';

interface AddValues extends SettingValues, KeyValues {
  readonly upstream?: string;
  readonly replaceKey?: true;
}

interface RemoveValues {
  readonly purge?: true;
  readonly table: string;
  readonly endpoint?: string;
}

const JSON_ROW: OptionRow = ['--json', 'prints JSON, one line for each account'];

/** The options of an account's settings and key, with those of the connection between them. */
const ACCOUNT_ROWS: readonly OptionRow[] = [
  ['--secret <name>', 'the secret with the key (default: <name>/upstream-keys/<account-id>)'],
  ['--lane <number>', 'the lane that polls the account (default: it follows from the id)'],
  ['--settings <json>', 'further settings as JSON, such as rates (docs/deploy/add-an-account.md)'],
  ...CONNECTION_OPTIONS,
  JSON_ROW,
  ['--key-env <variable>', 'the environment variable that holds the key'],
  ['--key-stdin', 'reads the key from the standard input'],
];

const COLUMNS: Columns<AccountAnswer> = {
  ACCOUNT: ({ account_id }) => account_id,
  STATE: ({ state }) => state,
  ORIGIN: ({ origin }) => origin,
  LANE: ({ lane }) => lane,
  PROJECTS: ({ project_count }) => project_count,
  HEALTH: healthOf,
};

function healthOf({ state, fault, healthy, reasons = [] }: AccountAnswer): string | undefined {
  if (fault !== undefined) return fault;
  // A paused account is not polled, so it has not been read for a while, and nothing is wrong with that.
  if (state !== 'active' || healthy === undefined) return undefined;
  return healthy ? 'healthy' : reasons.join(' ');
}

const list = asking({
  usage: 'list',
  summary: 'Shows all accounts of the bridge, and how the poller is doing with each.',
  examples: ['operations-bridge accounts list --json'],
  options: [JSON_ROW],
  async act(asked) {
    const accounts: AccountAnswer[] = [];
    for await (const account of (await clientFor(asked)).list()) accounts.push(account);
    rowPrinter(COLUMNS, asked)(accounts);
    if (accounts.some(({ state }) => state === undefined))
      asked.note('Without accounts:read the token sees its own account only, and not how it is set.');
  },
});

const add = asking<AddValues>({
  usage: 'add <account-id>',
  summary: 'Adds an account, once the upstream has accepted its key.',
  description:
    'With --key-env or --key-stdin it puts the key into the secret, with your credentials of AWS or on the bridge of this machine, once the bridge finds nothing wrong with the rest; if the bridge then refuses the key, the secret gets back what it held. In a secret that holds the keys of many accounts, a JSON object, the key stands under the id of the account. Without these options the key must be in the secret already.',
  examples: [
    'operations-bridge accounts add tenant-7 --key-env TENANT_KEY',
    'operations-bridge accounts add tenant-8 --secret operations-bridge/upstream-keys/tenants --settings \'{"poll_interval_seconds": 1}\'',
  ],
  options: [
    ...ACCOUNT_ROWS,
    [
      '--upstream <url>',
      "the address of the upstream, which ends with /api/v2 (default: that of the token's account)",
    ],
    ['--replace-key', 'replaces a key that stands in the secret for this account'],
  ],
  async act(asked) {
    const { values } = asked;
    const accountId = accountIdOf(asked);
    const account = { account_id: accountId, upstream_base_url: values.upstream };
    const body = { ...account, ...readSettings(values, account) };
    const key = await readKey(values, asked);
    const client = await clientFor(asked);
    const send = () => client.add(body);
    if (key === undefined) return showAdded(await send(), asked);
    const secretId = await client.validateAddition(body);
    const place = await placeOf(asked, client, {
      accountId,
      secretId,
      mayReplace: values.replaceKey === true,
    });
    showAdded(await sendWithKey(send, { key, place }, asked), asked);
  },
});

interface KeyPlace {
  readonly accountId: string;
  readonly secretId: string;
  readonly mayReplace: boolean;
}

/** Where the key is put, with whom the secret is shared, and the run of this machine, if it is one. */
async function placeOf(asked: Asked<unknown>, client: AccountsClient, place: KeyPlace) {
  const sharedWith = await client.sharing(place.secretId, place.accountId);
  return { ...place, sharedWith, run: await localRunOf(asked.values, asked) };
}

/** The bridge tries the key of a new account, and only of a new one. */
function showAdded(added: Administered, asked: Asked<unknown>): void {
  show(added, asked);
  if (added.check === undefined)
    asked.note('It had been added before with the same settings; nothing was changed.');
}

function show({ account, check, warnings = [] }: Administered, asked: Asked<unknown>): void {
  rowPrinter(COLUMNS, asked)([{ ...account, check, warnings }]);
  if (check !== undefined) asked.note(checkSentence(check));
  for (const warning of warnings) asked.note(warning);
}

function checkSentence({
  project_count: count,
  has_more_projects: hasMore,
}: NonNullable<Administered['check']>): string {
  return `The key sees ${counted(count, 'project')}${hasMore ? ' or more' : ''}. The bridge polls the account within a minute.`;
}

const set = asking<SettingValues & KeyValues>({
  usage: 'set <account-id>',
  summary: 'Changes settings of an account that was added; what is not given stays.',
  description:
    'With --key-env or --key-stdin it replaces the key of the account in its secret, or puts it into the secret of --secret; if the bridge then refuses the key, the secret gets back what it held. In --settings, null takes a setting back to its default.',
  examples: [
    'operations-bridge accounts set tenant-7 --settings \'{"poller_requests_per_minute": 600, "limit_requests_per_minute": 1000}\'',
    'operations-bridge accounts set tenant-7 --key-env TENANT_KEY',
  ],
  options: ACCOUNT_ROWS,
  async act(asked) {
    const accountId = accountIdOf(asked);
    const settings = readSettings(asked.values);
    const key = await readKey(asked.values, asked);
    if (key === undefined) return change(asked, settings);
    const client = await clientFor(asked);
    const own = await client.secretOf(accountId);
    const secretId = await client.validateChange(accountId, { key_secret_id: own, ...settings });
    const place = await placeOf(asked, client, { accountId, secretId, mayReplace: secretId === own });
    const send = () => client.change(accountId, { ...settings, key_secret_id: secretId });
    show(await sendWithKey(send, { key, place }, asked), asked);
  },
});

const pause = asking({
  usage: 'pause <account-id>',
  summary: 'Pauses an account: nothing is sent to the upstream for it until it is resumed.',
  description:
    'It is not polled, calls are refused with 503, and queued commands wait within their deadlines. An account of the deployment can be paused, too.',
  examples: ['operations-bridge accounts pause tenant-7'],
  options: [JSON_ROW],
  act: (asked) => change(asked, { state: 'paused' }),
});

const resume = asking({
  usage: 'resume <account-id>',
  summary: 'Lets a paused account go on.',
  examples: ['operations-bridge accounts resume tenant-7'],
  options: [JSON_ROW],
  act: (asked) => change(asked, { state: 'active' }),
});

const pin = asking({
  usage: 'pin <account-id> <lane>',
  summary: 'Has an account polled in this lane; "none" takes the pin away.',
  examples: ['operations-bridge accounts pin tenant-7 3', 'operations-bridge accounts pin tenant-7 none'],
  options: [JSON_ROW],
  act(asked) {
    accountIdOf(asked);
    return change(asked, { lane: parsePin(asked.args[1] ?? '') });
  },
});

async function change(asked: Asked<unknown>, body: Readonly<Record<string, unknown>>): Promise<void> {
  const accountId = accountIdOf(asked);
  if (Object.keys(body).length === 0) throw new UsageError('There is nothing to change; --help shows how.');
  show(await (await clientFor(asked)).change(accountId, body), asked);
}

const remove = asking<RemoveValues>({
  usage: 'remove <account-id>',
  summary: 'Removes an account that was added; what was recorded of it stays.',
  description:
    'Its secret stays, too. It is refused while commands of the account wait in line. Its id comes back only with a key of the same owner. With --purge the command also deletes all records and tokens of the account, with your credentials of AWS or on the bridge of this machine; the audit stays for its 400 days, and the id is free for anybody then. A command that was stopped goes on when it is repeated.',
  examples: [
    'operations-bridge accounts remove tenant-7',
    'operations-bridge accounts remove tenant-7 --purge',
  ],
  options: [
    JSON_ROW,
    ['--purge', 'deletes what was recorded of the account, for good'],
    ['--table <name>', 'the table of the bridge, for --purge', 'operations-bridge'],
    ['--endpoint <url>', 'a local AWS for --purge, whose access key is in AWS_ACCESS_KEY_ID'],
  ],
  async act(asked) {
    const { values } = asked;
    const accountId = accountIdOf(asked);
    await (await clientFor(asked)).remove(accountId);
    const removed = { account_id: accountId, removed: true };
    if (values.purge !== true) return asked.show(removed, `The account ${accountId} is removed.`);
    // The client of AWS takes longer to load than most subcommands run.
    const { purgeAccount } = await import('../access/purge-account.ts');
    const place = { table: values.table, local: await localAwsOf(asked) };
    const deleted_items = await purgeAccount(place, accountId, asked);
    asked.show(
      { ...removed, deleted_items },
      `The account ${accountId} is removed, and ${deleted_items} items of it are deleted. Its id is free.`,
    );
  },
});

async function localAwsOf(asked: Asked<RemoveValues>): Promise<PurgePlace['local']> {
  const { endpoint } = asked.values;
  if (endpoint === undefined) return localRunOf(asked.values, asked);
  return { aws_endpoint: endpoint, access_key_id: asked.environment['AWS_ACCESS_KEY_ID'] ?? '' };
}

const accountIdOf = ({ args: [text = ''] }: Asked<unknown>) => parseAccountId(text);

async function clientFor({ connect }: Asked<unknown>): Promise<AccountsClient> {
  return createAccountsClient(await connect());
}

export const accountsSubcommand = group(
  {
    usage: 'accounts',
    summary: 'Adds accounts of the upstream while the bridge runs, and pauses, changes and removes them.',
    description: 'It needs a token with accounts:read and accounts:write.',
    examples: [
      'operations-bridge accounts add tenant-7 --key-env TENANT_KEY',
      'operations-bridge accounts list',
    ],
  },
  [list, add, set, pause, resume, pin, remove],
);

interface SettingValues {
  readonly secret?: string;
  readonly lane?: string;
  readonly settings?: string;
}

interface KeyValues extends ConnectionValues {
  readonly keyEnv?: string;
  readonly keyStdin?: true;
}

/** The bridge refuses a higher number of a lane, too. */
const LANE_MAX = 499;

function parseAccountId(text: string): string {
  if (ACCOUNT_ID_PATTERN.test(text)) return text;
  throw new UsageError(
    `"${text}" is no id of an account; an id begins with a letter or a digit, and has up to 63 lower-case letters, digits and dashes; "constructor" is none.`,
  );
}

/** Returns null for "none", which takes the pin away. */
function parsePin(text: string): number | null {
  if (text === 'none') return null;
  if (/^\d+$/.test(text) && Number(text) <= LANE_MAX) return Number(text);
  throw new UsageError(
    `"${text}" is no lane; it takes a whole number from 0 to ${LANE_MAX}, or "none", which takes the pin away.`,
  );
}

/**
 * Returns the fields that the route takes; `others` are those that come from elsewhere on the command line. Throws
 * `UsageError` for what is no JSON object, and for a field that is given twice.
 */
function readSettings(
  { secret, lane, settings }: SettingValues,
  others: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const named = {
    ...(secret !== undefined && { key_secret_id: secret }),
    ...(lane !== undefined && { lane: parseInteger('lane', lane, { min: 0, max: LANE_MAX }) }),
  };
  const written = settings === undefined ? {} : parseObject(settings);
  const given = { ...others, ...named };
  const twice = Object.keys(written).find((name) => (given as Record<string, unknown>)[name] !== undefined);
  if (twice !== undefined) throw new UsageError(`${twice} is given twice; leave it out of --settings.`);
  return { ...written, ...named };
}

function parseObject(text: string): object {
  const parsed = parseJson(text);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new UsageError(
    '--settings takes a JSON object, such as \'{"poll_interval_seconds": 1}\'; docs/deploy/add-an-account.md lists the settings.',
  );
}

/** Returns undefined when the key is in the secret already. A key on the command line would stand in the list of processes. */
async function readKey(
  { keyEnv, keyStdin, tokenStdin }: KeyValues,
  { environment, readInput }: Pick<Surroundings, 'environment' | 'readInput'>,
): Promise<Secret | undefined> {
  if (keyEnv === undefined && keyStdin !== true) return undefined;
  if (keyEnv !== undefined && keyStdin === true)
    throw new UsageError('--key-env and --key-stdin are two ways for one key; use one of them.');
  if (keyStdin === true && tokenStdin === true)
    throw new UsageError('--key-stdin and --token-stdin read the same input; put one of them elsewhere.');
  const text = (keyEnv === undefined ? await readInput() : environment[keyEnv])?.trim();
  if (!text)
    throw new UsageError(
      keyEnv === undefined ? 'There is no key on the standard input.' : `The variable ${keyEnv} is empty.`,
    );
  return createSecret(text);
}
