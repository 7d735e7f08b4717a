import { describe, expect, test } from 'vitest';
import { addProjects, PROJECTS_MAX } from '../../../../functions/poller/account/discovery/list-page.ts';
import { emptyMemory } from '../../../../functions/poller/project/project-memory.ts';
import type { ProjectRecord } from '../../../../shared/records/project-record.ts';
import { accountKey, projectKey } from '../../../../shared/store/keys.ts';
import { NOON_MS } from '../../../builders.ts';
import { anInvocation, BOOT_AT } from '../invocation-under-test.ts';

const page = (projectIds: readonly string[], unavailableProjectIds: readonly string[] = []) => ({
  projectIds,
  unavailableProjectIds,
  createdAtOf: new Map<string, string>(),
  readAtMs: NOON_MS,
});

const aProject = (project_id: string, fields: Partial<ProjectRecord> = {}): ProjectRecord => ({
  kind: 'project',
  account_id: 'main',
  project_id,
  is_visible: true,
  revision: 0,
  published: 0,
  entries: [],
  ...fields,
});

/** Sets up an account whose projects were listed once. */
async function known() {
  const account = anInvocation();
  await account.know();
  account.discovery.origin.bootAt = BOOT_AT;
  account.memory.listings.hasReadWholeList = true;
  return account;
}

describe('a project that a page shows', () => {
  test('is added once, published once as discovered and polled, also when it is listed as unavailable', async () => {
    const { deps, discovery, memory, takeEvents, planned } = await known();

    expect(await addProjects(deps, discovery, page(['a'], ['b', 'a']))).toBe(true);
    expect(await addProjects(deps, discovery, page(['a', 'b']))).toBe(true);

    expect(takeEvents()).toEqual([
      ['Project Discovered', 'a'],
      ['Project Discovered', 'b'],
    ]);
    expect(planned.added).toEqual(['a', 'b']);
    expect([...memory.projects.memories.keys()]).toEqual(['a', 'b']);
    expect(discovery.addedNow.size).toBe(0);
  });

  test('is no news before the projects were listed once', async () => {
    const { deps, discovery, memory, takeEvents, storedProject } = await known();
    memory.listings.hasReadWholeList = false;

    await addProjects(deps, discovery, page(['a']));

    expect(takeEvents()).toEqual([]);
    expect(storedProject('a')).toMatchObject({ is_visible: true, revision: 0 });
    expect(storedProject('a')).not.toHaveProperty('history_until');
  });

  test('keeps the memory of a poll that has begun before it was sighted', async () => {
    const { deps, discovery, memory } = await known();
    const remembered = emptyMemory();
    memory.projects.memories.set('a', remembered);

    await addProjects(deps, discovery, page(['a']));

    expect(memory.projects.memories.get('a')).toBe(remembered);
    expect(memory.projects.sighted.has('a')).toBe(true);
  });

  test('that another page is adding at this moment is left to it', async () => {
    const { deps, discovery, planned } = await known();
    discovery.addedNow.add('a');

    await addProjects(deps, discovery, page(['a']));

    expect(planned.added).toEqual([]);
  });

  test('ends its history when it was first seen, by the clock of the upstream', async () => {
    const { deps, discovery, storedProject } = await known();

    await addProjects(deps, discovery, { ...page(['a']), readAtMs: NOON_MS - 60_000 });

    expect(storedProject('a')).toMatchObject({ history_until: '2026-01-15T11:59:00.000000000Z' });
  });

  test('has no end of its history while it is unknown since when the account is seen', async () => {
    const { deps, discovery, storedProject } = await known();
    discovery.origin.bootAt = undefined;

    await addProjects(deps, discovery, page(['a']));

    expect(storedProject('a')?.['history_until']).toBeUndefined();
  });

  test('and that two pages show at once is added and published once', async () => {
    const { deps, discovery, takeEvents, planned } = await known();

    await Promise.all([1, 2].map(() => addProjects(deps, discovery, page(['a']))));

    expect(takeEvents()).toEqual([['Project Discovered', 'a']]);
    expect(planned.added).toEqual(['a']);
  });

  test('that is younger than the bridge has no history of its own', async () => {
    const { deps, discovery, storedProject } = await known();
    const createdAtOf = new Map([['a', '2026-01-15T11:30:00Z']]);

    await addProjects(deps, discovery, { ...page(['a']), createdAtOf });

    expect(storedProject('a')).toMatchObject({ history_until: BOOT_AT });
  });

  test('brings along how often operations have begun there', async () => {
    const { deps, discovery, store } = await known();
    await store.record(aProject('a'), undefined);
    await store.saveProgress('a', { arrivals: { count: 7, observed_ms: 1_000 } }, null);
    const histories: unknown[] = [];
    Object.assign(deps.planner, { addProjects: (_ids: unknown, each: unknown) => void histories.push(each) });

    await addProjects(deps, discovery, page(['a', 'b']));

    expect(histories).toEqual([new Map([['a', { arrivalCount: 7, observedMs: 1_000 }]])]);
  });

  test('that was out of reach is published as discovered when it is shown again, with what is kept of it', async () => {
    const { deps, discovery, store, takeEvents, storedProject } = await known();
    await store.record(aProject('a', { is_visible: false }), undefined);
    const bound = '2026-01-15T11:50:00.000000000Z';
    await store.saveProgress('a', { bound: bound as typeof BOOT_AT }, null);

    await addProjects(deps, discovery, page(['a']));

    expect(takeEvents()).toEqual([['Project Discovered', 'a']]);
    expect(storedProject('a')).toMatchObject({ is_visible: true, bound });
  });

  test('and that another process publishes at this moment is not published twice', async () => {
    const { deps, discovery, memory, takeEvents } = await known();
    deps.store.record = async () => 'conflict';

    await addProjects(deps, discovery, page(['a']));

    expect(takeEvents()).toEqual([]);
    expect(memory.projects.sighted.has('a')).toBe(true);
  });
});

describe('a project whose item cannot be read', () => {
  test('is polled in its turn, and sighted again with every page until it can be read', async () => {
    const { deps, discovery, memory, table, planned, takeEvents } = await known();
    table.sync.update({ key: projectKey('main', 'a'), set: { kind: 'project', is_visible: 'perhaps' } });

    await addProjects(deps, discovery, page(['a']));

    expect(memory.projects.memories.has('a')).toBe(true);
    expect(memory.projects.sighted.has('a')).toBe(false);
    expect(planned.added).toEqual(['a']);
    expect(takeEvents()).toEqual([]);
    const before = memory.projects.memories.get('a');
    await addProjects(deps, discovery, page(['a']));
    expect(memory.projects.memories.get('a')).toBe(before);
  });

  test('is another matter than a table that fails: those before it are polled all the same', async () => {
    const { deps, discovery, planned } = await known();
    const readProject = deps.store.readProject.bind(deps.store);
    deps.store.readProject = async (id) => {
      if (id === 'b') throw new Error('the table is busy');
      return readProject(id);
    };

    await expect(addProjects(deps, discovery, page(['a', 'b']))).rejects.toThrow('the table is busy');

    expect(planned.added).toEqual(['a']);
    expect(discovery.addedNow.size).toBe(0);
  });
});

describe('while the account cannot be read', () => {
  test('a project that is recorded is polled, and a new one waits, because it is unknown whether it is news', async () => {
    const { deps, discovery, memory, store, table, planned, takeEvents } = await known();
    await store.record(aProject('known'), undefined);
    table.sync.update({ key: accountKey('main'), set: { boot_at: 17 } });
    discovery.origin.isUnreadable = true;

    await addProjects(deps, discovery, page(['known', 'new']));

    expect(planned.added).toEqual(['known']);
    expect([...memory.projects.sighted]).toEqual(['known']);
    expect(takeEvents()).toEqual([]);
  });

  test('a project that was out of reach is not published as discovered yet', async () => {
    const { deps, discovery, store, takeEvents } = await known();
    await store.record(aProject('a', { is_visible: false }), undefined);
    discovery.origin.isUnreadable = true;

    await addProjects(deps, discovery, page(['a']));

    expect(takeEvents()).toEqual([]);
  });
});

describe('bounds', () => {
  test('an account with more projects than can be polled reports the bound, and its first ones are polled', async () => {
    const { deps, discovery, memory, planned, logs } = await known();
    for (let place = 0; place < PROJECTS_MAX - 1; place++)
      memory.projects.memories.set(`p${place}`, emptyMemory());

    await addProjects(deps, discovery, page(['a', 'b']));

    expect(planned.added).toEqual(['a']);
    expect(logs).toContainEqual({
      level: 'warn',
      event: 'bound.met',
      bound: 'projects',
      value: PROJECTS_MAX,
    });
  });

  test('an account with as many as can be polled is within its bound', async () => {
    const { deps, discovery, memory, logs } = await known();
    for (let place = 0; place < PROJECTS_MAX - 2; place++)
      memory.projects.memories.set(`p${place}`, emptyMemory());

    await addProjects(deps, discovery, page(['a', 'b']));

    expect(logs).toEqual([]);
  });

  test('a page of many projects costs one reading of all their records, and eight writes at once', async () => {
    const { deps, discovery } = await known();
    const reads: number[] = [];
    const readProjects = deps.store.readProjects.bind(deps.store);
    deps.store.readProjects = (ids) => {
      reads.push(ids.length);
      return readProjects(ids);
    };
    deps.store.readProject = () => Promise.reject(new Error('no record is read alone'));
    const record = deps.store.record.bind(deps.store);
    let [underWay, most] = [0, 0];
    deps.store.record = async (...args: Parameters<typeof record>) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return record(...args);
    };

    await addProjects(deps, discovery, page(Array.from({ length: 30 }, (_, place) => `p${place}`)));

    expect(reads).toEqual([30]);
    expect(most).toBe(8);
  });

  test('a page of a few projects costs a reading of each record, eight at once', async () => {
    const { deps, discovery } = await known();
    const readProject = deps.store.readProject.bind(deps.store);
    let [underWay, most] = [0, 0];
    deps.store.readProject = async (id) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return readProject(id);
    };

    await addProjects(deps, discovery, page(Array.from({ length: 8 }, (_, place) => `p${place}`)));

    expect(most).toBe(8);
  });

  test('of many projects, one whose record cannot be read is polled, and the others are added', async () => {
    const { deps, discovery, memory, table } = await known();
    const ids = Array.from({ length: 30 }, (_, place) => `p${place}`);
    await addProjects(deps, discovery, page(ids));
    table.sync.replaceAll(
      table.sync
        .items()
        .map((item) => (item.pk === projectKey('main', 'p7').pk ? { ...item, revision: 'x' } : item)),
    );
    memory.projects.sighted.clear();
    memory.projects.memories.clear();

    await addProjects(deps, discovery, page(ids));

    expect(memory.projects.memories.size).toBe(30);
    expect(memory.projects.sighted.size).toBe(29);
  });

  test('a project that is polled already has its place, however many are polled', async () => {
    const { deps, discovery, memory, logs } = await known();
    const full = { ...deps, limits: { ...deps.limits, projectsMax: 2 } };
    for (const id of ['a', 'b']) memory.projects.memories.set(id, emptyMemory());

    await addProjects(full, discovery, page(['a', 'b']));
    expect([...memory.projects.sighted]).toEqual(['a', 'b']);
    expect(logs).toEqual([]);

    await addProjects(full, discovery, page(['c']));
    expect(memory.projects.sighted.has('c')).toBe(false);
    expect(logs).toMatchObject([{ event: 'bound.met', value: 2 }]);
  });

  test('commands name projects beyond the bound, which is reported once the list shows them', async () => {
    const { deps, discovery, memory, logs } = await known();
    const full = { ...deps, limits: { ...deps.limits, projectsMax: 2 } };
    for (const id of ['a', 'b', 'c']) memory.projects.memories.set(id, emptyMemory());

    await addProjects(full, discovery, page(['a', 'b', 'c']));

    expect([...memory.projects.sighted]).toEqual(['a', 'b', 'c']);
    expect(logs).toMatchObject([{ event: 'bound.met', value: 2 }]);
  });

  test('a page that the end of the invocation cuts was not added as a whole', async () => {
    const { deps, discovery, stop, planned } = await known();
    stop.abort();

    expect(await addProjects(deps, discovery, page(['a']))).toBe(false);
    expect(planned.added).toEqual([]);
  });
});
