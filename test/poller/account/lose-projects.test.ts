import { describe, expect, test } from 'vitest';
import {
  isEvidenceWanted,
  judgeMissingProjects,
  noteAnsweringProject,
  noteMissingProject,
  noteShownProjects,
  restOf,
} from '../../../functions/poller/account/lose-projects.ts';
import { addProjects } from '../../../functions/poller/account/sight-projects.ts';
import { createListing } from '../../../functions/poller/planner/listing.ts';
import { NOON_MS } from '../../builders.ts';
import { aRun, BOOT_AT } from './run-under-test.ts';

const MINUTE_MS = 60_000;

/** An account of these projects, all of which can be seen. */
async function account(ids: readonly string[], fields: Parameters<typeof aRun>[0] = {}) {
  const world = aRun(fields);
  await world.know();
  world.run.bootAt = BOOT_AT;
  const shown = { projectIds: ids, unavailableProjectIds: [], createdAtOf: new Map(), serverDateMs: NOON_MS };
  await addProjects(world.run, shown);
  const list = (projectIds: readonly string[], malformedRowCount = 0) => {
    const listing = createListing(world.nowMs());
    listing.take({ projectIds, unavailableProjectIds: [], malformedRowCount, cursor: undefined });
    const result = listing.result();
    if (result === undefined) throw new Error('The listing goes on');
    return judgeMissingProjects(world.run, result);
  };
  const missFor = async (id: string, minutes: number) => {
    for (let minute = 0; minute <= minutes; minute++) {
      await noteMissingProject(world.run, id);
      world.pass(MINUTE_MS);
    }
  };
  return { ...world, list, missFor };
}

describe('a project whose operations answer 404', () => {
  test('is gone after 404s of two minutes and two whole listings without it, is told of once and polled no more', async () => {
    const { run, list, missFor, takeEvents, told, storedProject } = await account(['a', 'b']);
    await missFor('b', 2);
    await list(['a']);
    expect(takeEvents()).toEqual([]);
    await list(['a']);
    await list(['a']);

    expect(takeEvents()).toEqual([['Project Unreachable', 'b']]);
    expect(told.removed).toEqual(['b']);
    expect([...run.memory.projects.keys()]).toEqual(['a']);
    expect(run.memory.sighted.has('b')).toBe(false);
    expect(run.memory.absences.size).toBe(0);
    expect(storedProject('b')).toMatchObject({ is_visible: false });
  });

  test('is not gone however often it answers so while the list shows it', async () => {
    const { list, missFor, takeEvents } = await account(['a', 'b']);
    await missFor('b', 30);
    await list(['a', 'b']);
    await missFor('b', 30);
    await list(['a', 'b']);

    expect(takeEvents()).toEqual([]);
  });

  test('is not gone by listings that began before its first 404', async () => {
    const { run, missFor, takeEvents, nowMs, pass } = await account(['a', 'b']);
    const early = createListing(nowMs());
    early.take({ projectIds: ['a'], unavailableProjectIds: [], malformedRowCount: 0, cursor: undefined });
    const result = early.result();
    if (result === undefined) throw new Error('The listing goes on');
    pass(1);
    await missFor('b', 20);
    for (let count = 0; count < 5; count++) await judgeMissingProjects(run, result);

    expect(takeEvents()).toEqual([]);
  });

  test('is gone at its next 404 once the listings have said so', async () => {
    const { run, list, takeEvents, pass } = await account(['a', 'b']);
    await noteMissingProject(run, 'b');
    await list(['a']);
    await list(['a']);
    await noteMissingProject(run, 'b');
    pass(MINUTE_MS);
    expect(takeEvents()).toEqual([]);
    await noteMissingProject(run, 'b');

    expect(takeEvents()).toEqual([['Project Unreachable', 'b']]);
  });

  test('and that answers again begins anew', async () => {
    const { run, list, missFor, takeEvents } = await account(['a', 'b']);
    await missFor('b', 2);
    await list(['a']);
    await noteAnsweringProject(run, 'b');
    await missFor('b', 2);
    await list(['a']);

    expect(takeEvents()).toEqual([]);
  });

  test('is nobody any more once it was found gone: a poll of it that ends later changes nothing', async () => {
    const { run, list, missFor, takeEvents } = await account(['a', 'b']);
    await missFor('b', 2);
    await list(['a']);
    await list(['a']);
    takeEvents();
    await missFor('b', 5);

    expect(run.memory.absences.size).toBe(0);
    expect(takeEvents()).toEqual([]);
  });

  test('is not forgotten when somebody else has changed its record: the next listing decides again', async () => {
    const { run, list, missFor, deps, takeEvents } = await account(['a', 'b']);
    await missFor('b', 2);
    const record = deps.store.record.bind(deps.store);
    deps.store.record = async () => 'conflict';
    await list(['a']);
    await list(['a']);
    expect(run.memory.projects.has('b')).toBe(true);
    expect(takeEvents()).toEqual([]);
    deps.store.record = record;
    await list(['a']);

    expect(takeEvents()).toEqual([['Project Unreachable', 'b']]);
  });

  test('is polled no more when its record says already that it is out of reach', async () => {
    const { run, list, missFor, store, takeEvents } = await account(['a', 'b']);
    const recorded = await store.readProject('b');
    if (recorded !== undefined) await store.record({ ...recorded, is_visible: false }, recorded.revision);
    await missFor('b', 2);
    await list(['a']);
    await list(['a']);

    expect(takeEvents()).toEqual([]);
    expect(run.memory.projects.has('b')).toBe(false);
  });

  test('is left to the next invocation when this one ends', async () => {
    const { run, list, missFor, takeEvents } = await account(['a', 'b']);
    await missFor('b', 2);
    await list(['a']);
    run.stop.abort();
    await list(['a']);

    expect(takeEvents()).toEqual([]);
    expect(run.memory.absences.has('b')).toBe(true);
  });

  test('and that answers while the listing is judged is not gone', async () => {
    const ids = Array.from({ length: 12 }, (_, place) => `p${place}`);
    const { run, list, missFor, deps, takeEvents } = await account(ids);
    for (const id of ids) await missFor(id, 0);
    for (let minute = 0; minute < 3; minute++) for (const id of ids) await missFor(id, 0);
    await list([]);
    const readProject = deps.store.readProject.bind(deps.store);
    deps.store.readProject = async (id) => {
      run.memory.absences.delete('p11');
      return readProject(id);
    };
    await list([]);

    expect(takeEvents()).toHaveLength(11);
    expect(run.memory.projects.has('p11')).toBe(true);
  });
});

describe('a listing as evidence', () => {
  test('is wanted after three 404s, and not after two', async () => {
    const { run } = await account(['a']);
    await noteMissingProject(run, 'a');
    await noteMissingProject(run, 'a');
    expect(isEvidenceWanted(run)).toBe(false);
    await noteMissingProject(run, 'a');

    expect(isEvidenceWanted(run)).toBe(true);
  });

  test('is not wanted while nothing is missing', async () => {
    expect(isEvidenceWanted((await account(['a'])).run)).toBe(false);
  });

  test('of a page says of whom it shows alone', async () => {
    const { run, nowMs, missFor } = await account(['a', 'b']);
    await missFor('a', 2);
    const shown = {
      projectIds: ['a', 'b'],
      unavailableProjectIds: [],
      malformedRowCount: 0,
      cursor: undefined,
    };
    noteShownProjects(run, shown);

    expect(run.memory.absences.get('a')).toMatchObject({ lastListedAtMs: nowMs() });
    expect(run.memory.absences.has('b')).toBe(false);
  });
});

describe('a fixed project', () => {
  const fixed = () => account(['a', 'b'], { fixedProjectIds: ['a', 'b'] });

  test('is gone after ten minutes of 404s, since no list can say so, and is asked for again seldom', async () => {
    const { run, missFor, takeEvents, told } = await fixed();
    await missFor('b', 9);
    expect(takeEvents()).toEqual([]);
    await missFor('b', 1);

    expect(takeEvents()).toEqual([['Project Unreachable', 'b']]);
    expect(run.memory.projects.has('b')).toBe(true);
    expect(run.memory.unreachable.has('b')).toBe(true);
    expect(told.removed).toEqual([]);
    expect(restOf(run, 'b')).toBe(15 * MINUTE_MS);
  });

  test('is announced once when it answers again', async () => {
    const { run, missFor, takeEvents } = await fixed();
    await missFor('b', 10);
    takeEvents();
    await noteAnsweringProject(run, 'b');
    await noteAnsweringProject(run, 'b');

    expect(takeEvents()).toEqual([['Project Discovered', 'b']]);
    expect(run.memory.unreachable.size).toBe(0);
  });

  test('that is out of reach and goes on answering 404 is not told of again', async () => {
    const { run, missFor, takeEvents } = await fixed();
    await missFor('b', 10);
    takeEvents();
    await missFor('b', 30);

    expect(takeEvents()).toEqual([]);
    expect(run.memory.absences.size).toBe(0);
  });

  test('that another process announces at this moment is not announced twice', async () => {
    const { run, missFor, takeEvents, deps } = await fixed();
    await missFor('b', 10);
    takeEvents();
    deps.store.record = async () => 'conflict';
    await noteAnsweringProject(run, 'b');

    expect(takeEvents()).toEqual([]);
  });
});

describe('a project that answers', () => {
  test('as it always did costs no call of the table', async () => {
    const { run, deps } = await account(['a']);
    deps.store.readProject = () => Promise.reject(new Error('nobody should ask'));

    await noteAnsweringProject(run, 'a');
  });

  test('is polled as any other, and has no rest', async () => {
    const { run } = await account(['a', 'b']);
    await noteMissingProject(run, 'b');

    expect(restOf(run, 'a')).toBeUndefined();
    // One project that answers 404 has a fifth of 600 requests a minute.
    expect(restOf(run, 'b')).toBe(500);
    await noteMissingProject(run, 'a');
    expect(restOf(run, 'b')).toBe(1_000);
  });
});

test('many projects that are gone are recorded eight at a time', async () => {
  const ids = Array.from({ length: 20 }, (_, place) => `p${place}`);
  const { list, missFor, deps, pass, takeEvents } = await account(ids);
  for (let minute = 0; minute < 3; minute++) {
    for (const id of ids) await missFor(id, 0);
    pass(MINUTE_MS);
  }
  await list([]);
  const readProject = deps.store.readProject.bind(deps.store);
  let [underWay, most] = [0, 0];
  deps.store.readProject = async (id) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return readProject(id);
  };
  await list([]);

  expect(most).toBe(8);
  expect(takeEvents()).toHaveLength(20);
});
