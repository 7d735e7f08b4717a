import { describe, expect, test } from 'vitest';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { emptyMemory } from '../../functions/poller/project/project-memory.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { anOperation } from '../builders.ts';
import { START_MS } from '../simulation/close-stage.ts';
import { anAccount, PROJECT_ID } from './account-under-test.ts';

const MINUTE_MS = 60_000;
const OTHER = 'wild-river-87654321';
const SICK = 'sick-moon-11111111';
const projectIds = (count: number) => Array.from({ length: count }, (_, place) => `project-${place}`);
const atSecond = (seconds: number) => `${new Date(START_MS + seconds * 1_000).toISOString().slice(0, 19)}Z`;

type Account = ReturnType<typeof anAccount>;

/**
 * Returns the projects that events of one type name, in the order in which they were published. All copies of one
 * event count once.
 */
const published = ({ events }: Account, type: string) => {
  // A project that is listed and cannot be read for long is published as unreachable, too, for another reason.
  const ofType = events().filter((event) => event['type'] === type && event['reason'] !== 'not_read');
  return [...new Map(ofType.map((event) => [event['id'], String(event['project_id'])])).values()];
};

/** Runs an invocation a minute in a warm environment, as the schedule does. */
async function pollMinutes(account: Account, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) await account.poll(MINUTE_MS - 1_000);
}

const listCount = ({ calls }: Account) => calls.filter((call) => call.startsWith('projects')).length;
const pollCountOf = ({ calls }: Account, projectId: string) =>
  calls.filter((call) => call === `operations ${projectId}`).length;

describe.each([
  ['one project is unavailable', { unavailableProjectIds: [SICK] }],
  ['one row cannot be read', { malformedProjectRowCount: 1 }],
])('while %s for ever', (_, doubt) => {
  function aDoubtfulAccount(options = {}) {
    const account = anAccount(options);
    Object.assign(account.script, structuredClone(doubt));
    account.script.projectIds.push(OTHER);
    account.script.fails = ({ projectId }) => (projectId === SICK ? 'unavailable' : undefined);
    return account;
  }

  test('a new project is discovered', async () => {
    const account = aDoubtfulAccount();
    await pollMinutes(account, 4);
    account.script.projectIds.push('new-1');
    await pollMinutes(account, 2);

    expect(published(account, 'Project Discovered')).toEqual(['new-1']);
  });

  test('a deleted project is published as unreachable once and polled no more', async () => {
    const account = aDoubtfulAccount();
    await pollMinutes(account, 4);
    account.script.projectIds = [PROJECT_ID];
    await pollMinutes(account, 9);
    expect(published(account, 'Project Unreachable')).toEqual([]);
    await pollMinutes(account, 16);
    account.calls.length = 0;
    await pollMinutes(account, 10);

    expect(published(account, 'Project Unreachable')).toEqual([OTHER]);
    expect(pollCountOf(account, OTHER)).toBe(0);
  });

  test('the project list costs a twentieth of the requests, also while a project is missing', async () => {
    const account = aDoubtfulAccount({ requestsPerMinute: 350, pollsAtOnce: 12 });
    account.script.projectIds = projectIds(1_000);
    await pollMinutes(account, 5);
    account.script.projectIds = projectIds(999);
    account.calls.length = 0;
    await pollMinutes(account, 15);

    expect(listCount(account) / account.calls.length).toBeLessThan(0.05);
  });
});

describe('a deletion of 500 projects among 2,000', () => {
  test('costs three polls of each, and one listing serves all that wait', async () => {
    const account = anAccount({ requestsPerMinute: 350, pollsAtOnce: 12 });
    const all = projectIds(2_000);
    const gone = all.filter((_, place) => place % 4 === 0);
    account.script.projectIds = [...all];
    await pollMinutes(account, 15);
    account.calls.length = 0;
    await pollMinutes(account, 20);
    const listCountBefore = listCount(account);
    account.calls.length = 0;
    account.script.projectIds = all.filter((id) => !gone.includes(id));
    // Each of the three polls comes within two rounds of six minutes after the rest that follows a failure.
    await pollMinutes(account, 30);

    expect(published(account, 'Project Unreachable').toSorted()).toEqual(gone.toSorted());
    expect(listCount(account)).toBeLessThan(1.5 * listCountBefore);
    const pollsOfGone = account.calls.filter((call) => gone.includes(call.slice('operations '.length)));
    expect(pollsOfGone.length / gone.length).toBeLessThan(3.5);
  });
});

describe('the project list', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'publishes every project once, with pages, doubts and deletions drawn by seed %i',
    async (seed) => {
      const random = seededRandom(seed);
      const upTo = (max: number) => Math.floor(random.next() * (max + 1));
      const account = anAccount();
      const { script } = account;
      const sick = Array.from({ length: upTo(2) }, (_, place) => `sick-${place}`);
      script.projectIds = projectIds(5 + upTo(30));
      script.projectPageRowsMax = 1 + upTo(12);
      script.unavailableProjectIds = sick;
      script.malformedProjectRowCount = upTo(2);
      script.fails = ({ projectId }) => (sick.includes(projectId ?? '') ? 'unavailable' : undefined);
      await pollMinutes(account, 5);
      const gone = script.projectIds.filter(() => random.next() < 0.3);
      const added = ['new-1', 'new-2'].slice(upTo(2));
      script.projectIds = [...script.projectIds.filter((id) => !gone.includes(id)), ...added];
      await pollMinutes(account, 25);

      expect(published(account, 'Project Unreachable').toSorted()).toEqual(gone.toSorted());
      expect(published(account, 'Project Discovered').toSorted()).toEqual(added.toSorted());
      for (const id of script.projectIds) expect(pollCountOf(account, id)).toBeGreaterThan(50);
    },
  );

  test('that takes longer than an invocation goes on where it was cut', async () => {
    const account = anAccount({ requestsPerMinute: 60, pollsAtOnce: 12 });
    account.script.projectIds = projectIds(150);
    account.script.projectPageRowsMax = 1;
    await pollMinutes(account, 40);

    const fromTheStart = account.calls.filter((call) => call === 'projects').length;
    expect(account.memory().projects.memories.size).toBe(150);
    expect(account.memory().listings.areSightingsNews).toBe(true);
    expect(fromTheStart).toBeLessThan(30);
  });

  test('that cannot be read is hardly asked for, and proves nothing', async () => {
    const account = anAccount({ requestsPerMinute: 350, pollsAtOnce: 12 });
    account.script.projectIds.push(OTHER);
    await pollMinutes(account, 3);
    account.script.projectIds = [PROJECT_ID];
    account.script.fails = ({ name }) => (name === 'projects' ? 'unavailable' : undefined);
    account.calls.length = 0;
    await pollMinutes(account, 30);

    expect(published(account, 'Project Unreachable')).toEqual([]);
    // A listing is tried every twenty seconds here, and its pages have turns of their own.
    expect(listCount(account) / 30).toBeLessThan(5);
  });

  test('that lacks a project whose operations answer proves nothing', async () => {
    const account = anAccount();
    account.script.projectIds.push(OTHER);
    await pollMinutes(account, 2);
    const { listOperations } = account.deps().upstream;
    account.deps().upstream.listOperations = (query, options) =>
      query.projectId === OTHER
        ? Promise.resolve({ operations: [], malformedRowCount: 0, cursor: undefined })
        : listOperations(query, options);
    account.script.projectIds = [PROJECT_ID];
    await pollMinutes(account, 30);

    expect(account.events()).toEqual([]);
  });

  test('is hardly read for a project that it shows and whose operations answer 404', async () => {
    const account = anAccount({ requestsPerMinute: 350, pollsAtOnce: 12 });
    account.script.projectIds = projectIds(50);
    await pollMinutes(account, 5);
    account.calls.length = 0;
    await pollMinutes(account, 30);
    const usual = listCount(account);
    account.script.fails = ({ projectId }) => (projectId === 'project-7' ? 'not_found' : undefined);
    account.calls.length = 0;
    await pollMinutes(account, 30);

    expect(account.events()).toEqual([]);
    expect(listCount(account)).toBeLessThan(1.1 * usual);
  });

  test('with more projects than are polled says which bound was met, once per invocation', async () => {
    const account = anAccount({ requestsPerMinute: 60 });
    const projectsMax = 5_000;
    Object.assign(account.deps().limits, { projectsMax });
    for (const id of projectIds(projectsMax - 1)) {
      account.memory().projects.memories.set(id, emptyMemory());
      account.memory().projects.sighted.add(id);
    }
    account.script.projectIds = ['new-1', 'new-2'];
    await account.poll(4 * MINUTE_MS);
    expect(listCount(account)).toBeGreaterThan(2);

    const bounds = account.logs.filter(({ event }) => event === 'bound.met');
    expect(bounds).toEqual([{ level: 'warn', event: 'bound.met', bound: 'projects', value: projectsMax }]);
    expect(account.measures.filter(({ metric }) => metric === 'BoundMet')).toHaveLength(1);
    expect(account.memory().projects.memories.has('new-1')).toBe(true);
    expect(account.memory().projects.memories.has('new-2')).toBe(false);
  });

  test('whose rows cannot be read all says so in a metric', async () => {
    const account = anAccount();
    account.script.malformedProjectRowCount = 3;
    await account.poll(4_000);

    expect(account.measures.find(({ metric }) => metric === 'MalformedRows')).toMatchObject({ value: 3 });
  });
});

describe('a project that comes back', () => {
  const finished = (id: string, second: number) =>
    anOperation({ id, project_id: OTHER, created_at: atSecond(second), status: 'finished' });

  test('is discovered again, and nothing of it is published twice', async () => {
    const account = anAccount();
    account.script.projectIds.push(OTHER);
    await account.poll(10_000);
    account.script.operations = [finished('first', 2)];
    await account.poll(20_000);
    account.script.projectIds = [PROJECT_ID];
    await pollMinutes(account, 4);
    account.script.projectIds = [PROJECT_ID, OTHER];
    account.script.operations = [finished('second', 100), finished('first', 2)];
    await pollMinutes(account, 3);

    expect(account.events().map(({ type, operation_id }) => [type, operation_id])).toEqual([
      ['Operation State Changed', 'first'],
      ['Project Unreachable', undefined],
      ['Project Discovered', undefined],
      ['Operation State Changed', 'second'],
    ]);
  });

  test('has an item that expires only while it is gone', async () => {
    const account = anAccount();
    const expiry = () =>
      account.table.sync.items().find(({ kind, project_id }) => kind === 'project' && project_id === OTHER)?.[
        'expires_at'
      ];
    account.script.projectIds.push(OTHER);
    await account.poll(10_000);
    expect(expiry()).toBeUndefined();
    account.script.projectIds = [PROJECT_ID];
    await pollMinutes(account, 4);
    const days = (Number(expiry()) - account.nowMs() / 1_000) / 86_400;
    expect(days).toBeGreaterThan(395);
    expect(days).toBeLessThanOrEqual(400);
    account.script.projectIds.push(OTHER);
    await pollMinutes(account, 2);

    expect(expiry()).toBeUndefined();
  });
});

describe('of the fixed projects of a key that may not list', () => {
  function aFixedAccount() {
    const account = anAccount({ fixedProjectIds: [PROJECT_ID, OTHER] });
    account.script.projectIds.push(OTHER);
    return account;
  }

  test('one that answers 404 for ten minutes is published as unreachable once, and polled seldom', async () => {
    const account = aFixedAccount();
    await pollMinutes(account, 2);
    account.script.projectIds = [PROJECT_ID];
    await pollMinutes(account, 8);
    expect(account.events()).toEqual([]);
    await pollMinutes(account, 12);
    account.calls.length = 0;
    await pollMinutes(account, 60);

    expect(published(account, 'Project Unreachable')).toEqual([OTHER]);
    expect(pollCountOf(account, OTHER)).toBeGreaterThanOrEqual(2);
    expect(pollCountOf(account, OTHER)).toBeLessThanOrEqual(5);
    expect(listCount(account)).toBe(0);
  });

  test('one that is unreachable stays so in another process, and is discovered when it answers again', async () => {
    const account = aFixedAccount();
    await pollMinutes(account, 2);
    account.script.projectIds = [PROJECT_ID];
    await pollMinutes(account, 20);
    account.restart();
    await pollMinutes(account, 20);
    expect(account.events().map(({ type }) => type)).toEqual(['Project Unreachable']);
    account.script.projectIds.push(OTHER);
    await pollMinutes(account, 20);

    expect(published(account, 'Project Discovered')).toEqual([OTHER]);
    expect(published(account, 'Project Unreachable')).toEqual([OTHER]);
    account.script.projectIds = [PROJECT_ID];
    await pollMinutes(account, 20);

    expect(published(account, 'Project Unreachable')).toEqual([OTHER, OTHER]);
  });

  test('one that is unreachable does not make the account look unread', async () => {
    const account = aFixedAccount();
    await pollMinutes(account, 2);
    account.script.projectIds = [PROJECT_ID];
    await pollMinutes(account, 60);

    const status = await account.deps().status?.read();
    const ageMs = account.nowMs() - Date.parse(status?.last_complete_walk_at ?? '');
    expect(ageMs).toBeLessThan(3 * MINUTE_MS);
  });
});

test('an account whose only project is gone is not degraded', async () => {
  const account = anAccount();
  await pollMinutes(account, 2);
  account.script.projectIds = [];
  await pollMinutes(account, 10);

  expect(account.events().map(({ type }) => type)).toEqual(['Project Unreachable']);
});

test('an account without projects whose list failed for a while is healthy once the list answers', async () => {
  const account = anAccount();
  account.script.projectIds = [];
  await pollMinutes(account, 2);
  account.script.fails = ({ name }) => (name === 'projects' ? 'unavailable' : undefined);
  await pollMinutes(account, 6);
  account.script.fails = () => undefined;
  await pollMinutes(account, 12);

  const types = account.events().map(({ type }) => type);
  expect(types.filter((type) => type === 'Account Degraded').length).toBeLessThanOrEqual(1);
  expect(account.memory().health).toMatchObject({ failingSinceMs: undefined, isDegraded: false });
});

test('a listing that was interrupted for weeks does not keep the next one waiting for as long', async () => {
  const account = anAccount({ requestsPerMinute: 30 });
  account.script.projectPageRowsMax = 1;
  account.script.projectIds = [PROJECT_ID, OTHER, ...projectIds(20)];
  await account.poll(20_000);
  await account.pass(20 * 24 * 60 * MINUTE_MS);
  await pollMinutes(account, 10);
  account.script.projectIds = account.script.projectIds.filter((id) => id !== OTHER);
  await pollMinutes(account, 20);

  expect(published(account, 'Project Unreachable')).toEqual([OTHER]);
});

test('a project is new after the first whole listing, also when the table refused to note that at first', async () => {
  const account = anAccount();
  const { store } = account.deps();
  let refusedCount = 0;
  const readOrigin: typeof store.readOrigin = async () => {
    const isListed = account.calls.filter((call) => call.startsWith('projects')).length >= 2;
    if (isListed && refusedCount++ === 0) throw new Error('throttled');
    return store.readOrigin();
  };
  Object.assign(account.deps(), { store: { ...store, readOrigin } });
  await account.poll(15_000);
  account.script.projectIds.push(OTHER);
  await account.poll(20_000);

  expect(refusedCount).toBeGreaterThan(0);
  expect(published(account, 'Project Discovered')).toEqual([OTHER]);
});

test('a project is new for a warm environment, too, after another one has read the first whole listing', async () => {
  const account = anAccount({ requestsPerMinute: 60 });
  account.script.projectPageRowsMax = 1;
  account.script.projectIds = projectIds(10);
  const warm = account.memory();
  await account.poll(5_000, warm);
  account.restart();
  await pollMinutes(account, 3);
  account.script.projectIds = ['new-1', ...account.script.projectIds];
  // Ten pages of one project are read once in five minutes.
  for (let minute = 0; minute < 6; minute++) await account.poll(MINUTE_MS, warm);

  expect(published(account, 'Project Discovered')).toEqual(['new-1']);
});

test('of two processes that read the first whole listing at once, both take a later project for new', async () => {
  const account = anAccount();
  const other = emptyAccountMemory();
  account.begin(10_000);
  await account.poll(10_000, other);

  const expected = { count: 1, areSightingsNews: true };
  expect([account.memory().listings, other.listings]).toMatchObject([expected, expected]);
});

test('a command does not make the history of a project news that the list has not shown yet', async () => {
  const account = anAccount({ backfill: 'open' });
  await pollMinutes(account, 1);
  const past = anOperation({ id: 'past', project_id: OTHER, status: 'finished', created_at: atSecond(30) });
  const sent = anOperation({ id: 'sent', project_id: OTHER, status: 'running', created_at: atSecond(70) });
  await account.command({ project_id: OTHER, request_id: 'r-1', client_id: 'c-1', call: 'restartEndpoint' }, [
    sent,
  ]);
  account.script.operations = [{ ...sent, status: 'finished' }, past];
  account.script.projectIds = [PROJECT_ID, OTHER];
  account.restart();
  const { upstream } = account.deps();
  const { listProjects } = upstream;
  let isShown = false;
  upstream.listProjects = async (query, options) => {
    const page = await listProjects(query, options);
    return { ...page, projects: page.projects.filter(({ id }) => isShown || id !== OTHER) };
  };
  await account.poll(20_000);
  isShown = true;
  await pollMinutes(account, 2);

  const told = account.events().filter(({ type }) => type === 'Operation State Changed');
  expect(told.map(({ operation_id, status }) => [operation_id, status])).toEqual([
    ['sent', 'running'],
    ['sent', 'finished'],
  ]);
});
