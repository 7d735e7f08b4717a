import { describe, expect, test } from 'vitest';
import { discoverProjects, isListingDue } from '../../../functions/poller/account/discover-projects.ts';
import { fetchListPage, PROJECT_PAGE_ROWS } from '../../../functions/poller/account/fetch-list-page.ts';
import { readListPage } from '../../../functions/poller/account/read-list-page.ts';
import type { Permit } from '../../../shared/upstream/request-budget.ts';
import { UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../../builders.ts';
import { aRun, BOOT_AT, named } from './run-under-test.ts';

const MINUTE_MS = 60_000;
const permit: Permit = { use: () => true };

describe('the first listing of an account', () => {
  test('reads page after page to the end, adds every project, and tells of none: they are no news', async () => {
    const { run, script, listCalls, told, takeEvents, storedAccount } = aRun();
    script.pages = {
      '': { projects: named('a', 'b'), cursor: 'b' },
      b: { projects: named('c'), unavailableProjectIds: ['d'], cursor: 'c' },
      c: {},
    };

    await discoverProjects(run);

    expect(listCalls.map(({ cursor, limit }) => [cursor, limit])).toEqual([
      [undefined, PROJECT_PAGE_ROWS],
      ['b', PROJECT_PAGE_ROWS],
      ['c', PROJECT_PAGE_ROWS],
    ]);
    expect([...run.memory.projects.keys()]).toEqual(['a', 'b', 'c', 'd']);
    expect(told.added).toEqual(['a', 'b', 'c', 'd']);
    expect(takeEvents()).toEqual([]);
    expect(storedAccount()).toMatchObject({ is_listed: true, boot_at: '2026-01-15T12:00:00.000000000Z' });
    expect(run.memory.areSightingsNews).toBe(true);
    expect(run.bootAt).toBe('2026-01-15T12:00:00.000000000Z');
  });

  test("fixes by the upstream's own clock, in whole seconds, what counts as history", async () => {
    const { run, script, storedAccount } = aRun();
    script.serverDateMs = () => NOON_MS - 3_599_001;

    await discoverProjects(run);

    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T11:00:00.000000000Z' });
  });

  test('takes our clock when the upstream does not say what time it is', async () => {
    const { run, script, storedAccount } = aRun();
    script.serverDateMs = () => undefined;

    await discoverProjects(run);

    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T12:00:00.000000000Z' });
  });

  test('keeps what another process has fixed before', async () => {
    const { run, know, storedAccount } = aRun();
    await know({ isListed: false });

    await discoverProjects(run);

    expect(run.bootAt).toBe(BOOT_AT);
    expect(storedAccount()).toMatchObject({ boot_at: BOOT_AT, is_listed: true });
  });

  test('keeps what another process fixes at the same moment', async () => {
    const { run, deps, know } = aRun();
    const record = deps.store.record.bind(deps.store);
    deps.store.record = async (...args) => {
      deps.store.record = record;
      await know({ isListed: false });
      return record(...args);
    };

    await discoverProjects(run);

    expect(run.bootAt).toBe(BOOT_AT);
  });

  test('tells the planner of each page that it has read, with its rows', async () => {
    const { run, script, told } = aRun();
    script.pages = { '': { projects: named('a'), cursor: 'a' }, a: {} };

    await discoverProjects(run);

    expect(told.pages).toMatchObject([
      [0, { rows: [{ id: 'a' }], isEmpty: false, cursor: 'a' }, NOON_MS],
      [1, { rows: [], isEmpty: true }, NOON_MS],
    ]);
  });

  test('says once how many projects there are', async () => {
    const { run, script, logs } = aRun();
    script.pages = { '': { projects: named('a', 'b') } };
    await discoverProjects(run);
    await discoverProjects(run);

    expect(logs.filter(({ event }) => event === 'projects.listed')).toEqual([
      { level: 'info', event: 'projects.listed', project_count: 2 },
    ]);
  });

  test('with a row that cannot be read may hide a project, and proves nothing before the third', async () => {
    const { run, script, storedAccount } = aRun();
    script.pages = { '': { projects: named('a'), malformedRowCount: 1 } };
    await discoverProjects(run);
    await discoverProjects(run);
    expect(storedAccount()).toMatchObject({ is_listed: false });
    expect(run.memory.areSightingsNews).toBe(false);

    await discoverProjects(run);

    expect(storedAccount()).toMatchObject({ is_listed: true });
  });

  test('that ends in an account which somebody else has changed says nothing of news yet', async () => {
    const { run, deps } = aRun();
    const record = deps.store.record.bind(deps.store);
    deps.store.record = async (next, expected) =>
      next.kind === 'account' && next.is_listed ? 'conflict' : record(next, expected);

    await discoverProjects(run);

    expect(run.memory.areSightingsNews).toBe(false);
  });
});

describe('a listing', () => {
  test('that a deadline cuts goes on in the next invocation where it stopped', async () => {
    const { run, newRun, script, listCalls, deps } = aRun();
    script.pages = {
      '': { projects: named('a'), cursor: 'a' },
      a: { projects: named('b'), cursor: 'b' },
      b: {},
    };
    const { listProjects } = deps.upstream;
    deps.upstream.listProjects = async (query, options) => {
      if (query.cursor === 'a') run.stop.abort();
      return listProjects(query, options);
    };
    await discoverProjects(run);
    expect(run.memory.discoveredAtMs).toBeUndefined();
    deps.upstream.listProjects = listProjects;
    listCalls.length = 0;

    const next = { ...newRun(), memory: run.memory };
    await discoverProjects(next);

    expect(listCalls.map(({ cursor }) => cursor)).toEqual(['a', 'b']);
    expect(next.memory.discoveredAtMs).toBe(NOON_MS);
    expect(next.memory.listing).toBeUndefined();
  });

  test('begins anew when the upstream refuses the place where it stopped', async () => {
    const { run, script, listCalls } = aRun();
    script.pages = { '': { projects: named('a'), cursor: 'a' }, a: 'rejected' };
    await expect(discoverProjects(run)).rejects.toThrow(UpstreamError);
    expect(run.memory.listingFailedAtMs).toBe(NOON_MS);
    script.pages = { '': { projects: named('a') } };
    listCalls.length = 0;

    await discoverProjects(run);

    expect(listCalls.map(({ cursor }) => cursor)).toEqual([undefined]);
  });

  test.each(['unavailable', 'timeout', 'rate_limited'] as const)(
    'keeps its place when a page answers %s, and remembers when',
    async (kind) => {
      const { run, script, listCalls } = aRun();
      script.pages = { '': { projects: named('a'), cursor: 'a' }, a: kind };
      await expect(discoverProjects(run)).rejects.toThrow(UpstreamError);
      expect(run.memory.listingFailedAtMs).toBe(NOON_MS);
      script.pages = { ...script.pages, a: {} };
      listCalls.length = 0;

      await discoverProjects(run);

      expect(listCalls.map(({ cursor }) => cursor)).toEqual(['a']);
    },
  );

  test('that the end of the invocation cancels has not failed', async () => {
    const { run, script } = aRun();
    script.pages = { '': 'cancelled' };

    await expect(discoverProjects(run)).rejects.toThrow(UpstreamError);
    expect(run.memory.listingFailedAtMs).toBeUndefined();
  });

  test('that fails by a mistake of ours has failed, too', async () => {
    const { run, deps } = aRun();
    deps.upstream.listProjects = async () => {
      throw new TypeError('undefined is not a function');
    };

    await expect(discoverProjects(run)).rejects.toThrow(TypeError);
    expect(run.memory.listingFailedAtMs).toBe(NOON_MS);
  });

  test('remembers how long it took and when it ended', async () => {
    const { run, script, deps, pass, nowMs } = aRun();
    script.pages = { '': { projects: named('a'), cursor: 'a' }, a: {} };
    const { listProjects } = deps.upstream;
    deps.upstream.listProjects = async (query, options) => {
      pass(7_000);
      return listProjects(query, options);
    };

    await discoverProjects(run);

    expect(run.memory).toMatchObject({ listingMs: 14_000, discoveredAtMs: nowMs(), listingCount: 1 });
  });

  test('that meets a bound says so', async () => {
    const { run, script, logs, measures } = aRun();
    script.pages = new Proxy(
      {},
      {
        get: (_target, name) => ({ projects: named('a'), cursor: `${String(name)}x` }),
      },
    );

    await discoverProjects(run);

    expect(measures.filter(([metric]) => metric === 'BoundMet')).toEqual([['BoundMet', 1]]);
    expect(logs).toContainEqual({ level: 'warn', event: 'bound.met', bound: 'barren_pages', value: 100 });
  });

  test('judges the projects whose operations answer 404', async () => {
    const { run, script, pass } = aRun();
    script.pages = { '': { projects: named('a', 'b') } };
    await discoverProjects(run);
    const absence = {
      firstNotFoundAtMs: NOON_MS,
      lastNotFoundAtMs: NOON_MS,
      notFoundCount: 3,
      absentCount: 0,
      wholeAbsentCount: 0,
      lastAbsentAtMs: undefined,
      listedCount: 0,
      lastListedAtMs: undefined,
    };
    run.memory.absences.set('b', absence);
    script.pages = { '': { projects: named('a') } };
    pass(MINUTE_MS);

    await discoverProjects(run);

    expect(run.memory.absences.get('b')).toMatchObject({ absentCount: 1, wholeAbsentCount: 1 });
  });
});

describe('whether a listing is due', () => {
  test('it is at first', () => {
    expect(isListingDue(aRun().run)).toBe(true);
  });

  async function listed(isNews = true) {
    const account = aRun();
    await discoverProjects(account.run);
    account.run.memory.areSightingsNews = isNews;
    return account;
  }

  const wanted = (firstNotFoundAtMs: number) => ({
    firstNotFoundAtMs,
    lastNotFoundAtMs: firstNotFoundAtMs,
    notFoundCount: 3,
    absentCount: 0,
    wholeAbsentCount: 0,
    lastAbsentAtMs: undefined,
    listedCount: 0,
    lastListedAtMs: undefined,
  });

  test('it is not while nothing needs it', async () => {
    const { run, pass } = await listed();
    pass(60 * MINUTE_MS);

    expect(isListingDue(run)).toBe(false);
  });

  test('it is a minute later when a project may be gone', async () => {
    const { run, pass, nowMs } = await listed();
    run.memory.absences.set('b', wanted(nowMs()));
    pass(MINUTE_MS - 1);
    expect(isListingDue(run)).toBe(false);
    pass(1);

    expect(isListingDue(run)).toBe(true);
  });

  test('it is a minute later while what is there may not be known as a whole', async () => {
    const { run, pass } = await listed(false);
    expect(isListingDue(run)).toBe(false);
    pass(MINUTE_MS);

    expect(isListingDue(run)).toBe(true);
  });

  test('it is only after twice the time that the last one took', async () => {
    const { run, pass } = await listed(false);
    run.memory.listingMs = 5 * MINUTE_MS;
    pass(10 * MINUTE_MS - 1);
    expect(isListingDue(run)).toBe(false);
    pass(1);

    expect(isListingDue(run)).toBe(true);
  });

  test('it is not for a minute after one has failed', async () => {
    const { run, pass, nowMs } = await listed(false);
    pass(60 * MINUTE_MS);
    run.memory.listingFailedAtMs = nowMs();
    pass(MINUTE_MS - 1);
    expect(isListingDue(run)).toBe(false);
    pass(1);

    expect(isListingDue(run)).toBe(true);
  });

  test('it is at once when one was cut short', async () => {
    const { run } = await listed();
    const other = aRun();
    other.script.pages = { '': { projects: named('a'), cursor: 'a' }, a: 'cancelled' };
    await discoverProjects(other.run).catch(() => {});
    run.memory.listing = other.run.memory.listing;

    expect(isListingDue(run)).toBe(true);
  });

  test('it never is again when the configuration names the projects', async () => {
    const account = aRun({ fixedProjectIds: ['a'] });
    expect(isListingDue(account.run)).toBe(true);
    await discoverProjects(account.run);
    account.run.memory.areSightingsNews = false;
    account.pass(60 * MINUTE_MS);

    expect(isListingDue(account.run)).toBe(false);
  });
});

describe('projects that the configuration names', () => {
  test('are polled without any list, and the clock comes from the operations of the first that can be read', async () => {
    const { run, script, listCalls, operationCalls, storedAccount } = aRun({
      fixedProjectIds: ['gone', 'hidden', 'a', 'b'],
    });
    script.operations = { gone: 'not_found', hidden: 'forbidden' };
    script.serverDateMs = () => NOON_MS - 10_000;

    await discoverProjects(run);

    expect(listCalls).toEqual([]);
    expect(operationCalls).toEqual(['gone', 'hidden', 'a']);
    expect([...run.memory.projects.keys()]).toEqual(['gone', 'hidden', 'a', 'b']);
    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T11:59:50.000000000Z', is_listed: true });
    expect(run.memory.discoveredAtMs).toBe(NOON_MS);
  });

  test('that nobody can see are judged by our own clock', async () => {
    const { run, script, storedAccount } = aRun({ fixedProjectIds: ['gone'] });
    script.operations = { gone: 'not_found' };

    await discoverProjects(run);

    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T12:00:00.000000000Z' });
  });

  test('wait while the upstream fails: its clock decides what is history', async () => {
    const { run, script, storedAccount } = aRun({ fixedProjectIds: ['a'] });
    script.operations = { a: 'unavailable' };

    await expect(discoverProjects(run)).rejects.toThrow(UpstreamError);
    expect(storedAccount()).toBeUndefined();
  });

  test('are not known as a whole when the invocation ends meanwhile', async () => {
    const { run } = aRun({ fixedProjectIds: ['a'] });
    run.stop.abort();

    await discoverProjects(run);

    expect(run.memory.discoveredAtMs).toBeUndefined();
  });

  test('of which one is published as unreachable are asked about it seldom, and not announced', async () => {
    const { run, store, takeEvents } = aRun({ fixedProjectIds: ['a'] });
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

    await discoverProjects(run);

    expect([...run.memory.unreachable]).toEqual(['a']);
    expect(takeEvents()).toEqual([]);
    expect(run.memory.projects.has('a')).toBe(true);
  });
});

describe('a page of the project list', () => {
  test('is asked for with the signal of the deadline and the permit that was taken for it', async () => {
    const { run, listCalls } = aRun();
    await fetchListPage(run, 'a', permit);
    await fetchListPage(run, undefined);

    expect(listCalls).toEqual([
      { cursor: 'a', limit: 400, options: { signal: run.stop.signal, permit } },
      { cursor: undefined, limit: 400, options: { signal: run.stop.signal, permit: undefined } },
    ]);
    expect(Object.keys(listCalls[1] ?? {})).toContain('cursor');
  });

  test('says what it shows, when its projects were created, and what time it is upstream', async () => {
    const { run, script, nowMs } = aRun();
    script.serverDateMs = () => 17;
    script.pages = {
      '': {
        projects: [{ id: 'a', created_at: '2025-01-01T00:00:00Z' }, { id: 'b' }],
        unavailableProjectIds: ['c'],
        malformedRowCount: 2,
        cursor: 'b',
      },
    };

    expect(await fetchListPage(run, undefined)).toEqual({
      rows: [{ id: 'a', created_at: '2025-01-01T00:00:00Z' }, { id: 'b' }],
      projectIds: ['a', 'b'],
      unavailableProjectIds: ['c'],
      malformedRowCount: 2,
      isEmpty: false,
      cursor: 'b',
      createdAtOf: new Map([['a', '2025-01-01T00:00:00Z']]),
      serverDateMs: 17,
    });
    script.serverDateMs = () => undefined;
    expect((await fetchListPage(run, undefined)).serverDateMs).toBe(nowMs());
  });

  test.each([
    [{ projects: named('a') }, false],
    [{ unavailableProjectIds: ['a'] }, false],
    [{ malformedRowCount: 1 }, false],
    [{}, true],
  ])('%j is empty: %s', async (page, isEmpty) => {
    const { run, script } = aRun();
    script.pages = { '': page };

    expect(await fetchListPage(run, undefined)).toMatchObject({ isEmpty });
  });

  test('counts rows that cannot be read, and says nothing when there are none', async () => {
    const { run, script, measures } = aRun();
    await fetchListPage(run, undefined);
    expect(measures).toEqual([]);
    script.pages = { '': { malformedRowCount: 3 } };
    await fetchListPage(run, undefined);

    expect(measures).toEqual([['MalformedRows', 3]]);
  });
});

describe('a page of the project list in its turn', () => {
  const turn = { kind: 'list', page: 2, cursor: 'b' } as const;

  test('adds whom it shows as news, and reports its rows to the planner', async () => {
    const { run, know, script, told, takeEvents } = aRun();
    await know();
    run.bootAt = BOOT_AT;
    run.memory.areSightingsNews = true;
    script.pages = { b: { projects: named('new') } };

    await readListPage(run, turn, permit);

    expect(takeEvents()).toEqual([['Project Discovered', 'new']]);
    expect(told.pages).toMatchObject([[2, { projectIds: ['new'] }, NOON_MS]]);
    expect(told.added).toEqual(['new']);
  });

  test('begins the listings anew that had not shown a project which it shows', async () => {
    const { run, script, nowMs } = aRun();
    const absence = {
      firstNotFoundAtMs: NOON_MS,
      lastNotFoundAtMs: NOON_MS,
      notFoundCount: 3,
      absentCount: 2,
      wholeAbsentCount: 1,
      lastAbsentAtMs: NOON_MS,
      listedCount: 0,
      lastListedAtMs: undefined,
    };
    for (const id of ['shown', 'unavailable', 'absent']) run.memory.absences.set(id, absence);
    script.pages = { b: { projects: named('shown'), unavailableProjectIds: ['unavailable'] } };

    await readListPage(run, turn, permit);

    const anew = { absentCount: 0, wholeAbsentCount: 0, lastAbsentAtMs: undefined, lastListedAtMs: nowMs() };
    expect(run.memory.absences.get('shown')).toEqual({ ...absence, ...anew });
    expect(run.memory.absences.get('unavailable')).toEqual({ ...absence, ...anew });
    expect(run.memory.absences.get('absent')).toEqual(absence);
  });

  test('that fails is reported as not read, and fails', async () => {
    const { run, script, told } = aRun();
    script.pages = { b: 'unavailable' };

    await expect(readListPage(run, turn, permit)).rejects.toThrow(UpstreamError);
    expect(told.pages).toEqual([[2, undefined, NOON_MS]]);
  });
});
