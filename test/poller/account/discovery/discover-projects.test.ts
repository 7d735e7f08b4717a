import { describe, expect, test } from 'vitest';
import { PROJECT_PAGE_ROWS } from '../../../../functions/poller/account/discovery/list-page.ts';
import { takeFixedProjects } from '../../../../functions/poller/account/discovery/project-list.ts';
import { UpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../../../builders.ts';
import { anInvocation, BOOT_AT, named } from '../invocation-under-test.ts';

const MINUTE_MS = 60_000;

describe('the first listing of an account', () => {
  test('reads page after page to the end, adds every project, and publishes none, because none is news', async () => {
    const { discovery, list, memory, script, listCalls, planned, takeEvents, storedAccount } = anInvocation();
    script.pages = {
      '': { projects: named('a', 'b'), cursor: 'b' },
      b: { projects: named('c'), unavailableProjectIds: ['d'], cursor: 'c' },
      c: {},
    };

    await list();

    expect(listCalls.map(({ cursor, limit }) => [cursor, limit])).toEqual([
      [undefined, PROJECT_PAGE_ROWS],
      ['b', PROJECT_PAGE_ROWS],
      ['c', PROJECT_PAGE_ROWS],
    ]);
    expect([...memory.projects.memories.keys()]).toEqual(['a', 'b', 'c', 'd']);
    expect(planned.added).toEqual(['a', 'b', 'c', 'd']);
    expect(takeEvents()).toEqual([]);
    expect(storedAccount()).toMatchObject({ is_listed: true, boot_at: '2026-01-15T12:00:00.000000000Z' });
    expect(memory.listings.hasReadWholeList).toBe(true);
    expect(discovery.origin.bootAt).toBe('2026-01-15T12:00:00.000000000Z');
  });

  test("fixes by the upstream's own clock, in whole seconds, what counts as history", async () => {
    const { list, script, storedAccount } = anInvocation();
    script.serverDateMs = () => NOON_MS - 3_599_001;

    await list();

    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T11:00:00.000000000Z' });
  });

  test('takes our clock when the upstream does not say what time it is', async () => {
    const { list, script, storedAccount } = anInvocation();
    script.serverDateMs = () => undefined;

    await list();

    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T12:00:00.000000000Z' });
  });

  test('keeps what another process has fixed before', async () => {
    const { discovery, know, list, storedAccount } = anInvocation();
    await know({ isListed: false });

    await list();

    expect(discovery.origin.bootAt).toBe(BOOT_AT);
    expect(storedAccount()).toMatchObject({ boot_at: BOOT_AT, is_listed: true });
  });

  test('keeps what another process fixes at the same moment', async () => {
    const { deps, discovery, know, list } = anInvocation();
    const record = deps.store.record.bind(deps.store);
    deps.store.record = async (...args) => {
      deps.store.record = record;
      await know({ isListed: false });
      return record(...args);
    };

    await list();

    expect(discovery.origin.bootAt).toBe(BOOT_AT);
  });

  test('reports each page to the planner that it has read, with its rows', async () => {
    const { list, script, planned } = anInvocation();
    script.pages = { '': { projects: named('a'), cursor: 'a' }, a: {} };

    await list();

    expect(planned.pages).toMatchObject([
      [0, { rows: [{ id: 'a' }], cursor: 'a' }, NOON_MS],
      [1, { rows: [] }, NOON_MS],
    ]);
  });

  test('logs once how many projects there are', async () => {
    const { list, script, logs, pass } = anInvocation();
    script.pages = { '': { projects: named('a', 'b') } };
    await list();
    pass(MINUTE_MS);
    await list();

    expect(logs.filter(({ event }) => event === 'projects.listed')).toEqual([
      { level: 'info', event: 'projects.listed', project_count: 2 },
    ]);
  });

  test('with a row that cannot be read may hide a project, and proves nothing before the third', async () => {
    const { memory, list, readDuePages, script, storedAccount, pass } = anInvocation();
    script.pages = { '': { projects: named('a'), malformedRowCount: 1 } };
    await list();
    pass(MINUTE_MS);
    await readDuePages();
    expect(storedAccount()).toMatchObject({ is_listed: false });
    expect(memory.listings).toMatchObject({ hasReadWholeList: false, count: 2 });

    pass(MINUTE_MS);
    await readDuePages();

    expect(storedAccount()).toMatchObject({ is_listed: true });
  });
});

describe('a listing', () => {
  test('that a deadline cuts goes on in the next invocation where it stopped', async () => {
    const { deps, list, memory, stop, begin, script, listCalls, pass } = anInvocation();
    script.pages = {
      '': { projects: named('a'), cursor: 'a' },
      a: { projects: named('b'), cursor: 'b' },
      b: {},
    };
    const { listProjects } = deps.upstream;
    deps.upstream.listProjects = async (query, options) => {
      if (query.cursor === 'a') stop.abort();
      return listProjects(query, options);
    };
    await list();
    expect(memory.listings.hasEnded).toBe(false);
    deps.upstream.listProjects = listProjects;
    listCalls.length = 0;

    pass(5_000);
    await begin().readDuePages();

    expect(listCalls.map(({ cursor }) => cursor)).toEqual(['a', 'b']);
    expect(memory.listings.hasEnded).toBe(true);
  });

  test.each(['unavailable', 'timeout', 'rate_limited', 'cancelled'] as const)(
    'goes on where it stopped when a page answers %s',
    async (kind) => {
      const { list, readDuePages, memory, script, listCalls, pass } = anInvocation();
      script.pages = { '': { projects: named('a'), cursor: 'a' }, a: kind };
      await expect(list()).rejects.toThrow(UpstreamError);
      script.pages = { ...script.pages, a: {} };
      listCalls.length = 0;

      pass(5_000);
      await readDuePages();

      expect(listCalls.map(({ cursor }) => cursor)).toEqual(['a']);
      expect(memory.listings.count).toBe(1);
    },
  );

  test('begins anew when the upstream refuses the cursor where it stopped', async () => {
    const { list, readDuePages, memory, script, listCalls, pass } = anInvocation();
    script.pages = { '': { projects: named('a'), cursor: 'a' }, a: 'rejected' };
    await expect(list()).rejects.toThrow(UpstreamError);
    pass(5_000);
    await expect(readDuePages()).rejects.toThrow(UpstreamError);
    script.pages = { '': { projects: named('a'), cursor: 'b' }, b: {} };
    listCalls.length = 0;

    pass(10_000);
    await readDuePages();

    expect(listCalls.map(({ cursor }) => cursor)).toEqual([undefined, 'b']);
    expect(memory.listings.count).toBe(1);
  });

  test('reads a page again of which a project could not be added, so that it is no news later', async () => {
    const { deps, list, readDuePages, memory, script, takeEvents, pass } = anInvocation();
    script.pages = { '': { projects: named('a') } };
    const readProject = deps.store.readProject.bind(deps.store);
    deps.store.readProject = () => Promise.reject(new Error('the table is busy'));
    await expect(list()).rejects.toThrow('the table is busy');
    expect(memory.listings.count).toBe(0);
    deps.store.readProject = readProject;

    pass(5_000);
    await readDuePages();

    expect([...memory.projects.sighted]).toEqual(['a']);
    expect(takeEvents()).toEqual([]);
  });

  test('that meets a bound reports it', async () => {
    const { list, script, logs, measures } = anInvocation();
    script.pages = new Proxy(
      {},
      {
        get: (_target, name) => ({ projects: named('a'), cursor: `${String(name)}x` }),
      },
    );

    await list();

    expect(measures.filter(([metric]) => metric === 'BoundMet')).toEqual([['BoundMet', 1]]);
    expect(logs).toContainEqual({ level: 'warn', event: 'bound.met', bound: 'barren_pages', value: 100 });
  });

  test('judges the projects whose operations answer 404', async () => {
    const { list, readDuePages, memory, script, pass } = anInvocation();
    script.pages = { '': { projects: named('a', 'b') } };
    await list();
    const absence = {
      firstNotFoundAtMs: NOON_MS,
      lastNotFoundAtMs: NOON_MS,
      notFoundCount: 3,
      absentCount: 0,
      isDoubtful: false,
      lastListedAtMs: undefined,
    };
    memory.projects.absences.set('b', absence);
    script.pages = { '': { projects: named('a') } };
    pass(MINUTE_MS);

    await readDuePages();

    expect(memory.projects.absences.get('b')).toMatchObject({ absentCount: 1, isDoubtful: false });
  });
});

describe('projects that the configuration names', () => {
  test('are polled without any list, and the clock comes from the operations of the first that can be read', async () => {
    const { deps, discovery, memory, script, listCalls, operationCalls, storedAccount } = anInvocation({
      fixedProjectIds: ['gone', 'hidden', 'a', 'b'],
    });
    script.operations = { gone: 'not_found', hidden: 'forbidden' };
    script.serverDateMs = () => NOON_MS - 10_000;

    await takeFixedProjects(deps, discovery, deps.fixedProjectIds ?? []);

    expect(listCalls).toEqual([]);
    expect(operationCalls).toEqual(['gone', 'hidden', 'a']);
    expect([...memory.projects.memories.keys()]).toEqual(['gone', 'hidden', 'a', 'b']);
    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T11:59:50.000000000Z', is_listed: true });
    expect(memory.listings.hasEnded).toBe(true);
  });

  test('that cannot be seen are judged by our own clock', async () => {
    const { deps, discovery, script, storedAccount } = anInvocation({ fixedProjectIds: ['gone'] });
    script.operations = { gone: 'not_found' };

    await takeFixedProjects(deps, discovery, deps.fixedProjectIds ?? []);

    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T12:00:00.000000000Z' });
  });

  test('wait while the upstream fails: its clock decides what is history', async () => {
    const { deps, discovery, script, storedAccount } = anInvocation({ fixedProjectIds: ['a'] });
    script.operations = { a: 'unavailable' };

    await expect(takeFixedProjects(deps, discovery, ['a'])).rejects.toThrow(UpstreamError);
    expect(storedAccount()).toBeUndefined();
  });

  test('are not known as a whole when the invocation ends meanwhile', async () => {
    const { deps, discovery, memory, stop } = anInvocation({ fixedProjectIds: ['a'] });
    stop.abort();

    await takeFixedProjects(deps, discovery, deps.fixedProjectIds ?? []);

    expect(memory.listings.hasEnded).toBe(false);
  });

  test('of which one is published as unreachable do not publish it as discovered', async () => {
    const { deps, discovery, memory, store, takeEvents } = anInvocation({ fixedProjectIds: ['a'] });
    await store.record(
      {
        kind: 'project',
        account_id: 'main',
        project_id: 'a',
        is_visible: false,
        revision: 0,
        published: 0,
        entries: [],
      },
      undefined,
    );

    await takeFixedProjects(deps, discovery, deps.fixedProjectIds ?? []);

    expect([...memory.projects.unreachable]).toEqual(['a']);
    expect(takeEvents()).toEqual([]);
    expect(memory.projects.memories.has('a')).toBe(true);
  });
});
