import { describe, expect, test } from 'vitest';
import { isListingDue } from '../../../../functions/poller/account/account-memory.ts';
import { discoverProjects } from '../../../../functions/poller/account/discovery/project-list.ts';
import { anInvocation, named } from '../invocation-under-test.ts';

const MINUTE_MS = 60_000;

describe('whether a listing is due', () => {
  test('it is at first', () => {
    const { deps, memory } = anInvocation();

    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(true);
  });

  async function listed(isNews = true) {
    const account = anInvocation();
    await discoverProjects(account.deps, account.discovery);
    account.memory.listings.hasReadWholeList = isNews;
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
    const { deps, memory, pass } = await listed();
    pass(60 * MINUTE_MS);

    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(false);
  });

  test('it is a minute later when a project may be gone', async () => {
    const { deps, memory, nowMs, pass } = await listed();
    memory.projects.absences.set('b', wanted(nowMs()));
    pass(MINUTE_MS - 1);
    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(false);
    pass(1);

    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(true);
  });

  test('it is a minute later while what is there may not be known as a whole', async () => {
    const { deps, memory, pass } = await listed(false);
    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(false);
    pass(MINUTE_MS);

    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(true);
  });

  test('it is only after twice the time that the last one took', async () => {
    const { deps, memory, pass } = await listed(false);
    memory.listings.durationMs = 5 * MINUTE_MS;
    pass(10 * MINUTE_MS - 1);
    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(false);
    pass(1);

    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(true);
  });

  test('it is not for a minute after one has failed', async () => {
    const { deps, memory, nowMs, pass } = await listed(false);
    pass(60 * MINUTE_MS);
    memory.listings.failedAtMs = nowMs();
    pass(MINUTE_MS - 1);
    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(false);
    pass(1);

    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(true);
  });

  test('it is at once when one was cut short', async () => {
    const { deps, memory } = await listed();
    const other = anInvocation();
    other.script.pages = { '': { projects: named('a'), cursor: 'a' }, a: 'cancelled' };
    await discoverProjects(other.deps, other.discovery).catch(() => {});
    memory.listings.underWay = other.memory.listings.underWay;

    expect(isListingDue(deps, memory.listings, memory.projects)).toBe(true);
  });

  test('it never is again when the configuration names the projects', async () => {
    const account = anInvocation({ fixedProjectIds: ['a'] });
    expect(isListingDue(account.deps, account.memory.listings, account.memory.projects)).toBe(true);
    await discoverProjects(account.deps, account.discovery);
    account.memory.listings.hasReadWholeList = false;
    account.pass(60 * MINUTE_MS);

    expect(isListingDue(account.deps, account.memory.listings, account.memory.projects)).toBe(false);
  });
});
