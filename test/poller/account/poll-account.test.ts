/** Tests which loops one invocation starts, what keeps it going, and what it reports. Each loop has tests of its own. */

import { describe, expect, test } from 'vitest';
import type { AccountDeps } from '../../../functions/poller/account/account-deps.ts';
import { pollAccount } from '../../../functions/poller/account/poll-account.ts';
import type { Replay } from '../../../shared/store/wishes.ts';
import { anOperation, commandRecord } from '../../builders.ts';
import { anAccount, PROJECT_ID } from '../account-under-test.ts';

type Account = ReturnType<typeof anAccount>;

const OPEN = anOperation({ created_at: '2026-01-15T12:00:01Z' });

/** Begins an invocation with these dependencies, and returns how it ends when the test stops it. */
function begin(account: Account, fields: Partial<AccountDeps> = {}) {
  const stop = new AbortController();
  let hasEnded = false;
  const deps = Object.assign(account.deps(), fields);
  const running = pollAccount(deps, account.memory(), { signal: stop.signal, leaseMs: 60_000 }).finally(
    () => {
      hasEnded = true;
    },
  );
  const end = async () => {
    stop.abort();
    await account.pass(10_000);
    return running;
  };
  return { end, hasEnded: () => hasEnded };
}

/** A replay that was asked for, and the bus takes none of its events, so it never ends. */
function anEndlessReplay(account: Account): Pick<AccountDeps, 'indexes' | 'store'> {
  const { clock } = account.deps();
  const replay: Replay = {
    replay_id: 'a-replay',
    since: '2026-01-15T11:00:00.000Z',
    until: '2026-01-15T12:00:00.000Z',
    requested_at: new Date(clock.now()).toISOString(),
    read_count: 0,
    sent_count: 0,
    refused_count: 0,
  };
  return {
    indexes: { query: async () => ({ keys: [], next: { pk: 'there is more' } }) },
    store: {
      ...account.deps().store,
      async readReplay() {
        await clock.sleep(100);
        return replay;
      },
      noteReplay: async () => 'recorded',
    },
  };
}

describe('an invocation reports', () => {
  test('how many projects it polled, and what it recorded and published', async () => {
    const account = anAccount();
    account.script.operations = [OPEN];
    const invocation = begin(account);
    await account.pass(3_000);
    const report = await invocation.end();

    expect(report).toEqual({
      outcome: 'stopped',
      pollCount: expect.any(Number),
      recordedCount: 1,
      publishedCount: expect.any(Number),
    });
    expect(report.pollCount).toBeGreaterThan(0);
    expect(report.publishedCount).toBeGreaterThan(0);
  });

  test('what it publishes of the work that an earlier one left', async () => {
    const account = anAccount();
    await account.record(commandRecord(PROJECT_ID, 'request-1'));
    account.script.operations = [OPEN];
    const { bus } = account.deps();
    const first = begin(account, {
      bus: { publish: async (events) => events.map(() => ({ kind: 'retry', code: 'busy' })) },
    });
    await account.pass(3_000);
    expect(await first.end()).toMatchObject({ recordedCount: 1, publishedCount: 0 });

    account.restart();
    account.script.fails = () => 'unavailable';
    const second = begin(account, { bus });
    await account.pass(10_000);

    expect((await second.end()).publishedCount).toBeGreaterThan(0);
  });

  test('that the upstream refuses the key', async () => {
    const account = anAccount();
    account.script.fails = () => 'unauthorized';
    const invocation = begin(account);
    await account.pass(5_000);

    expect(await invocation.end()).toMatchObject({ outcome: 'key_rejected' });
  });
});

describe('an invocation that may end early', () => {
  test('ends when everything was read', async () => {
    const account = anAccount({ lingerMs: 0 });
    const invocation = begin(account);
    await account.pass(20_000);

    expect(invocation.hasEnded()).toBe(true);
  });

  test('goes on while a replay is in progress', async () => {
    const account = anAccount({ lingerMs: 0 });
    const invocation = begin(account, anEndlessReplay(account));
    await account.pass(20_000);

    expect(invocation.hasEnded()).toBe(false);
    await invocation.end();
  });
});

describe('an invocation', () => {
  test('keeps the names of the projects', async () => {
    const account = anAccount();
    const taken: string[] = [];
    const written: unknown[] = [];
    const names: AccountDeps['names'] = {
      take: (rows) => void taken.push(...rows.map(({ id }) => id)),
      storedIds: async () => [],
      write: async (writing) => void written.push(writing),
    };
    const invocation = begin(account, { names });
    await account.pass(20_000);
    await invocation.end();

    expect(taken).toContain(PROJECT_ID);
    expect(written.length).toBeGreaterThan(0);
  });

  test('counts what began in each hour', async () => {
    const account = anAccount();
    account.script.operations = [OPEN];
    const invocation = begin(account);
    await account.pass(90_000);
    await invocation.end();

    const hours = account.table.sync.items().filter(({ kind }) => kind === 'hour_counts');
    expect(hours).toMatchObject([{ started_count: 1 }]);
  });
});

describe('a command of another process', () => {
  test('has its project read again, the table included, although that was quiet', async () => {
    const account = anAccount();
    const { store, limits } = account.deps();
    const invocation = begin(account, { limits: { ...limits, workIntervalMs: 1_000 } });
    await account.pass(20_000);
    let readCount = 0;
    const readProject = store.readProject.bind(store);
    Object.assign(store, {
      readProject: (projectId: string) => {
        readCount += 1;
        return readProject(projectId);
      },
    });
    await account.pass(20_000);
    const quietCount = readCount;
    await account.record(commandRecord(PROJECT_ID, 'request-1'));
    await account.pass(3_000);
    await invocation.end();

    expect([quietCount, readCount > 0]).toEqual([0, true]);
  });
});

describe('the first sight of an account', () => {
  test.each([[undefined], [[PROJECT_ID]]])('is published once, by a process that polls %o', async (fixed) => {
    const account = anAccount(fixed === undefined ? {} : { fixedProjectIds: fixed });
    for (let invocation = 0; invocation < 2; invocation++) {
      const { end } = begin(account);
      await account.pass(20_000);
      await end();
    }

    expect(account.firstSights()).toHaveLength(1);
    expect(account.memory().isFirstSightPublished).toBe(true);
  });
});

describe('after a cold start', () => {
  /** Begins a process whose project list cannot be read, and returns what it reads of operations. */
  async function readsWithoutAList(account: Account) {
    account.restart();
    account.calls.length = 0;
    account.script.fails = ({ name }) => (name === 'projects' ? 'unavailable' : undefined);
    const { end } = begin(account);
    await account.pass(10_000);
    await end();
    return account.calls.filter((call) => call.startsWith('operations'));
  }

  test('a project of which an earlier process left work is read before the list can be', async () => {
    const account = anAccount();
    await account.poll(20_000);
    await account.record(commandRecord(PROJECT_ID, 'request-1'));

    expect(await readsWithoutAList(account)).toContain(`operations ${PROJECT_ID}`);
  });

  test('no project is read before the list can be, when none was left work', async () => {
    const account = anAccount();
    await account.poll(20_000);

    expect(await readsWithoutAList(account)).toEqual([]);
  });
});
