/**
 * Tests one item of the table that cannot be read for a while, whichever it is and however it is damaged: the
 * production poller goes on with everything else, leaves the item as it is, and goes on with it once it can be read
 * again.
 */

import { describe, expect, test } from 'vitest';
import { type Random, seededRandom } from '../../shared/runtime/random.ts';
import { RECORD_ATTRIBUTES } from '../../shared/store/items.ts';
import { accountKey, commandKey, operationKey, projectKey } from '../../shared/store/keys.ts';
import { parseRecord } from '../../shared/store/parse-record.ts';
import type { Attribute, Item, Key } from '../../shared/store/table.ts';
import { anOperation } from '../builders.ts';
import { START_MS } from '../simulation/close-stage.ts';
import { anAccount, PROJECT_ID } from './account-under-test.ts';

const MINUTE_MS = 60_000;
const atSecond = (seconds: number) => `${new Date(START_MS + seconds * 1_000).toISOString().slice(0, 19)}Z`;
const OTHER_ID = 'loud-lake-12345678';
const NEW_ID = 'new-moon-12345678';
const KINDS = ['operation', 'project', 'account', 'command'] as const;
type Kind = (typeof KINDS)[number];
type Account = ReturnType<typeof anAccount>;

const row = (project_id: string, name: string, fields: Parameters<typeof anOperation>[0] = {}) =>
  anOperation({ id: `${name}-of-${project_id}`, project_id, ...fields });

/** This operation existed before the bridge. It is history, which must not be published. */
const history = (project_id: string) =>
  [3_600, 86_400].map((age) =>
    row(project_id, `history-${age}`, {
      status: age > 4_000 ? 'error' : 'finished',
      created_at: atSecond(-age),
      updated_at: atSecond(-age),
    }),
  );

const before = (project_id: string) => [
  row(project_id, 'commanded', { created_at: atSecond(3) }),
  row(project_id, 'running', { created_at: atSecond(2) }),
  row(project_id, 'ended', { status: 'finished', created_at: atSecond(1) }),
  ...history(project_id),
];

const after = (project_id: string) => [
  row(project_id, 'later', { status: 'failed', failures_count: 1, created_at: atSecond(60) }),
  row(project_id, 'commanded', { status: 'finished', created_at: atSecond(3), updated_at: atSecond(59) }),
  row(project_id, 'running', { status: 'finished', created_at: atSecond(2), updated_at: atSecond(58) }),
  row(project_id, 'ended', { status: 'finished', created_at: atSecond(1) }),
  ...history(project_id),
];

const KEYS: Readonly<Record<Kind, Key>> = {
  operation: operationKey('main', PROJECT_ID, `running-of-${PROJECT_ID}`),
  project: projectKey('main', PROJECT_ID),
  account: accountKey('main'),
  command: commandKey('main', PROJECT_ID, 'a-command'),
};

function put({ table }: Account, item: Item): void {
  const { pk, sk, ...set } = item;
  const names = Object.keys(table.sync.peek({ pk, sk }) ?? {});
  const remove = names.filter((name) => name !== 'pk' && name !== 'sk' && !(name in set));
  table.sync.update({ key: { pk, sk }, set, remove });
}

/** Removes an attribute, gives one another type or an unknown value, or cuts the journal. */
function damaged(item: Item, kind: Kind, random: Random): Item {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T;
  for (;;) {
    const names = RECORD_ATTRIBUTES[kind].filter((name) => item[name] !== undefined);
    const name = pick(names);
    const stored = item[name];
    const values: readonly (Attribute | undefined)[] = [
      undefined,
      pick([null, 'of a newer version', -1.5, true, [], {}]),
      Array.isArray(stored) ? stored.slice(random.next() < 0.5 ? 1 : 0, -1) : 'of a newer version',
      Array.isArray(stored) ? stored.map(() => ({ r: 1, t: 'of a newer version' })) : [stored ?? null],
    ];
    const { [name]: _removed, ...rest } = item;
    const value = pick(values);
    const changed = {
      ...rest,
      pk: item.pk,
      sk: item.sk,
      ...(value !== undefined && { [name]: value }),
    } as Item;
    if (parseRecord(changed).unreadable !== undefined) return changed;
  }
}

async function startedAccount(): Promise<Account> {
  const account = anAccount();
  account.script.projectIds = [PROJECT_ID, OTHER_ID];
  account.script.operations = [PROJECT_ID, OTHER_ID].flatMap(before);
  await account.command(
    { project_id: PROJECT_ID, request_id: 'a-command', client_id: 'an-app', call: 'startEndpoint' },
    [row(PROJECT_ID, 'commanded', { created_at: atSecond(3) })],
  );
  await account.poll(30_000);
  return account;
}

/** Changes everything once, and lets a project appear that the bridge did not know. */
async function change(account: Account): Promise<void> {
  account.script.projectIds = [PROJECT_ID, OTHER_ID, NEW_ID];
  // It is younger than the bridge, so its first operations are news.
  account.script.createdAtOf = (id) => (id === NEW_ID ? atSecond(1) : undefined);
  account.script.operations = [PROJECT_ID, OTHER_ID, NEW_ID].flatMap(after);
  await account.poll(2 * MINUTE_MS);
}

const published = (account: Account) =>
  new Set(
    account
      .events()
      .map(({ type, project_id, operation_id, sequence, status, outcome }) =>
        [type, project_id, operation_id, sequence, status, outcome].join(' | '),
      ),
  );

const sorted = (events: ReadonlySet<string>) => [...events].toSorted();

const IS_ABOUT: Readonly<Record<Kind, (event: string) => boolean>> = {
  operation: (event) => event.includes(`running-of-${PROJECT_ID}`),
  // The project's commands are settled by its polls.
  project: (event) => event.includes(PROJECT_ID),
  account: (event) => event.includes(NEW_ID),
  command: (event) => event.startsWith('Command Settled'),
};

let reference: Promise<ReadonlySet<string>> | undefined;
const undisturbed = () => {
  reference ??= (async () => {
    const account = await startedAccount();
    await change(account);
    await account.poll(6 * MINUTE_MS);
    return published(account);
  })();
  return reference;
};

describe('an item of the table that cannot be read', () => {
  test('the run without one publishes what it must', async () => {
    const events = sorted(await undisturbed());

    expect(events.filter((event) => event.includes('history'))).toEqual([]);
    expect(events.filter((event) => event.startsWith('Command Settled'))).toHaveLength(1);
    expect(events.filter((event) => event.startsWith('Project Discovered'))).toHaveLength(1);
    expect(events.filter((event) => event.startsWith('Operation State Changed'))).toHaveLength(16);
  });

  const cases = KINDS.flatMap((kind) => Array.from({ length: 12 }, (_, place) => [kind, place + 1] as const));
  test.each(cases)('%s, seed %i: all else goes on, it is kept, and nothing is lost', async (kind, seed) => {
    const random = seededRandom(seed);
    const expected = await undisturbed();
    const account = await startedAccount();
    const key = KEYS[kind];
    const whole = account.table.sync.peek(key);
    if (whole === undefined) throw new Error(`There is no ${kind}`);
    const bad = damaged(whole, kind, random);
    put(account, bad);
    if (random.next() < 0.5) account.restart();

    await change(account);

    const missing = [...expected].filter((event) => !published(account).has(event));
    expect(missing.filter((event) => !IS_ABOUT[kind](event))).toEqual([]);
    // Other attributes of an item that can be read in part change, and what cannot be read stays.
    const { record } = parseRecord(bad);
    if (record === undefined) expect(account.table.sync.peek(key)).toEqual(bad);

    put(account, whole);
    if (random.next() < 0.5) account.restart();
    await account.poll(6 * MINUTE_MS);

    expect(sorted(published(account))).toEqual(sorted(expected));
  });

  test('costs no write, not even a refused one, however often its row is met', async () => {
    const account = await startedAccount();
    await account.table.update({ key: KEYS.operation, set: { sequence: 'of tomorrow' } });
    const written: string[] = [];
    const update = account.table.sync.update.bind(account.table.sync);
    account.table.sync.update = (each) => {
      written.push(`${each.key.pk} ${each.key.sk}`);
      return update(each);
    };
    await account.poll(MINUTE_MS);

    expect(written.filter((key) => key.startsWith(KEYS.operation.pk))).toEqual([]);
    expect(account.calls.filter((call) => call === `operations ${PROJECT_ID}`).length).toBeGreaterThan(5);
  });

  test('of a project holds up nothing after a restart, when no other project has anything open', async () => {
    const account = anAccount();
    const ids = Array.from({ length: 30 }, (_, number) => `quiet-${number}`);
    account.script.projectIds = ids;
    await account.poll(30_000);
    for (const id of ['quiet-0', 'quiet-11'])
      await account.table.update({ key: projectKey('main', id), set: { revision: 'of tomorrow' } });
    account.restart();
    account.calls.length = 0;
    account.script.operations = ids.map((id) => row(id, 'new', { created_at: atSecond(40) }));
    await account.poll(MINUTE_MS);

    const seen = account.events().map(({ project_id }) => project_id);
    expect(ids.filter((id) => !seen.includes(id))).toEqual(['quiet-0', 'quiet-11']);
  });

  test('of an account leaves a project that was never read waiting, and its history is never news', async () => {
    const account = anAccount();
    account.script.projectIds = [PROJECT_ID, OTHER_ID];
    account.script.fails = ({ name, projectId }) =>
      name === 'operations' && projectId === OTHER_ID ? 'unavailable' : undefined;
    account.script.operations = [PROJECT_ID, OTHER_ID].flatMap(before);
    await account.poll(30_000);
    const whole = account.table.sync.peek(KEYS.account);
    await account.table.update({ key: KEYS.account, set: { boot_at: 'of tomorrow' } });
    account.restart();
    account.script.fails = () => undefined;
    account.script.operations = [PROJECT_ID, OTHER_ID].flatMap(after);
    await account.poll(2 * MINUTE_MS);
    const about = (id: string) => account.events().filter(({ project_id }) => project_id === id);
    expect(about(OTHER_ID)).toEqual([]);
    expect(about(PROJECT_ID).length).toBeGreaterThan(5);

    if (whole !== undefined) put(account, whole);
    await account.poll(6 * MINUTE_MS);

    const ids = new Set(about(OTHER_ID).map(({ operation_id }) => operation_id));
    expect(ids).toEqual(
      new Set(['commanded', 'ended', 'later', 'running'].map((name) => `${name}-of-${OTHER_ID}`)),
    );
  });

  test('of an operation does not keep the others of its command from being events at once', async () => {
    const account = await startedAccount();
    await account.table.update({ key: KEYS.operation, set: { sequence: 'of tomorrow' } });
    const started = [row(PROJECT_ID, 'running'), row(PROJECT_ID, 'started')];
    await account.command(
      { project_id: PROJECT_ID, request_id: 'another', client_id: 'an-app', call: 'startEndpoint' },
      started,
    );

    expect(account.events().at(-1)).toMatchObject({
      operation_id: `started-of-${PROJECT_ID}`,
      observed_by: 'command',
    });
  });

  test('of an operation is named as missing when the deadline of its command comes first', async () => {
    const account = await startedAccount();
    await account.table.update({
      key: operationKey('main', PROJECT_ID, `commanded-of-${PROJECT_ID}`),
      set: { sequence: 'of tomorrow' },
    });
    await account.poll(11 * MINUTE_MS);

    expect(account.events().filter(({ type }) => type === 'Command Settled')).toMatchObject([
      { outcome: 'incomplete', missing: [`commanded-of-${PROJECT_ID}`] },
    ]);
  });
});
