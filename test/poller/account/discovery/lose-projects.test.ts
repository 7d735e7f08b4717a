import { describe, expect, test } from 'vitest';
import { addProjects } from '../../../../functions/poller/account/discovery/list-page.ts';
import {
  countNotFound,
  endAbsence,
  judgeMissingProjects,
  restartAbsences,
  restMsOf,
} from '../../../../functions/poller/account/discovery/lose-projects.ts';
import { NOON_MS } from '../../../builders.ts';
import { anInvocation, BOOT_AT, named } from '../invocation-under-test.ts';

const MINUTE_MS = 60_000;

/** Sets up an account of these projects, all of which can be seen. */
async function account(ids: readonly string[], fields: Parameters<typeof anInvocation>[0] = {}) {
  const world = anInvocation(fields);
  await world.know();
  world.discovery.origin.bootAt = BOOT_AT;
  const shown = { projectIds: ids, unavailableProjectIds: [], createdAtOf: new Map(), readAtMs: NOON_MS };
  await addProjects(world.deps, world.discovery, shown);
  const pageOf = (projectIds: readonly string[]) => {
    const page = {
      unavailableProjectIds: [],
      malformedRowCount: 0,
      cursor: undefined,
      rows: named(...projectIds),
    };
    return { ...page, projectIds, createdAtOf: new Map(), readAtMs: world.nowMs() };
  };
  /** Reads the whole list, which has one page. */
  const list = async (projectIds: readonly string[]) => {
    const { projects } = world.memory;
    const listing = {
      startedAtMs: world.nowMs(),
      unavailableCount: 0,
      malformedRowCount: 0,
      end: 'end',
    } as const;
    restartAbsences(projects, pageOf(projectIds), world.nowMs());
    await judgeMissingProjects(world.deps, projects, listing);
  };
  const missFor = async (id: string, minutes: number) => {
    for (let minute = 0; minute <= minutes; minute++) {
      await countNotFound(world.deps, world.memory.projects, id);
      world.pass(MINUTE_MS);
    }
  };
  return { ...world, list, pageOf, missFor };
}

describe('a project whose operations answer 404', () => {
  test('is gone after 404s of two minutes and two whole listings without it, is published once and polled no more', async () => {
    const { memory, list, missFor, takeEvents, planned, storedProject } = await account(['a', 'b']);
    memory.readings.completedAtMs.set('b', NOON_MS);
    await missFor('b', 2);
    await list(['a']);
    expect(takeEvents()).toEqual([]);
    await list(['a']);
    await list(['a']);

    expect(takeEvents()).toEqual([['Project Unreachable', 'b']]);
    expect(planned.removed).toEqual(['b']);
    expect([...memory.projects.memories.keys()]).toEqual(['a']);
    expect(memory.projects.sighted.has('b')).toBe(false);
    expect(memory.readings.completedAtMs.has('b')).toBe(false);
    expect(memory.projects.absences.size).toBe(0);
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
    const { deps, memory, nowMs, missFor, takeEvents, pass } = await account(['a', 'b']);
    const early = { startedAtMs: nowMs(), unavailableCount: 0, malformedRowCount: 0, end: 'end' } as const;
    pass(1);
    await missFor('b', 20);
    for (let count = 0; count < 5; count++) await judgeMissingProjects(deps, memory.projects, early);

    expect(takeEvents()).toEqual([]);
  });

  test('is gone at its next 404 once the listings have shown its absence', async () => {
    const { deps, memory, list, takeEvents, pass } = await account(['a', 'b']);
    await countNotFound(deps, memory.projects, 'b');
    await list(['a']);
    await list(['a']);
    await countNotFound(deps, memory.projects, 'b');
    pass(MINUTE_MS);
    expect(takeEvents()).toEqual([]);
    await countNotFound(deps, memory.projects, 'b');

    expect(takeEvents()).toEqual([['Project Unreachable', 'b']]);
  });

  test('and that answers again begins anew', async () => {
    const { deps, memory, list, missFor, takeEvents } = await account(['a', 'b']);
    await missFor('b', 2);
    await list(['a']);
    await endAbsence(deps, memory.projects, 'b');
    await missFor('b', 2);
    await list(['a']);

    expect(takeEvents()).toEqual([]);
  });

  test('that was found gone is not changed by a poll of it that ends later', async () => {
    const { memory, list, missFor, takeEvents } = await account(['a', 'b']);
    await missFor('b', 2);
    await list(['a']);
    await list(['a']);
    takeEvents();
    await missFor('b', 5);

    expect(memory.projects.absences.size).toBe(0);
    expect(takeEvents()).toEqual([]);
  });

  test('is not forgotten when another process has changed its record: the next listing decides again', async () => {
    const { deps, memory, list, missFor, takeEvents } = await account(['a', 'b']);
    await missFor('b', 2);
    const record = deps.store.record.bind(deps.store);
    deps.store.record = async () => 'conflict';
    await list(['a']);
    await list(['a']);
    expect(memory.projects.memories.has('b')).toBe(true);
    expect(takeEvents()).toEqual([]);
    deps.store.record = record;
    await list(['a']);

    expect(takeEvents()).toEqual([['Project Unreachable', 'b']]);
  });

  test('is polled no more when its record says already that it is out of reach', async () => {
    const { memory, list, missFor, store, takeEvents } = await account(['a', 'b']);
    const recorded = await store.readProject('b');
    if (recorded !== undefined) await store.record({ ...recorded, is_visible: false }, recorded.revision);
    await missFor('b', 2);
    await list(['a']);
    await list(['a']);

    expect(takeEvents()).toEqual([]);
    expect(memory.projects.memories.has('b')).toBe(false);
  });

  test('is left to the next invocation when this one ends', async () => {
    const { memory, stop, list, missFor, takeEvents } = await account(['a', 'b']);
    await missFor('b', 2);
    await list(['a']);
    stop.abort();
    await list(['a']);

    expect(takeEvents()).toEqual([]);
    expect(memory.projects.absences.has('b')).toBe(true);
  });

  test('and that answers while the listing is judged is not gone', async () => {
    const ids = Array.from({ length: 12 }, (_, place) => `p${place}`);
    const { deps, memory, list, missFor, takeEvents } = await account(ids);
    for (const id of ids) await missFor(id, 0);
    for (let minute = 0; minute < 3; minute++) for (const id of ids) await missFor(id, 0);
    await list([]);
    const readProject = deps.store.readProject.bind(deps.store);
    deps.store.readProject = async (id) => {
      memory.projects.absences.delete('p11');
      return readProject(id);
    };
    await list([]);

    expect(takeEvents()).toHaveLength(11);
    expect(memory.projects.memories.has('p11')).toBe(true);
  });
});

describe('a listing as evidence', () => {
  test('is asked for after three 404s, and not after two', async () => {
    const { deps, memory } = await account(['a']);
    let askedCount = 0;
    const planner = { ...deps.planner, askForListing: () => void askedCount++ };
    const miss = () => countNotFound({ ...deps, planner }, memory.projects, 'a');
    await miss();
    await miss();
    expect(askedCount).toBe(0);
    await miss();

    expect(askedCount).toBe(1);
  });

  test('of one page concerns only the projects that it shows', async () => {
    const { memory, nowMs, missFor, pageOf } = await account(['a', 'b']);
    await missFor('a', 2);
    restartAbsences(memory.projects, pageOf(['a', 'b']), nowMs());

    expect(memory.projects.absences.get('a')).toMatchObject({ lastListedAtMs: nowMs() });
    expect(memory.projects.absences.has('b')).toBe(false);
  });
});

describe('a fixed project', () => {
  const fixed = () => account(['a', 'b'], { fixedProjectIds: ['a', 'b'] });

  test('is gone after ten minutes of 404s, since no list can show it, and is polled seldom from then on', async () => {
    const { memory, missFor, takeEvents, planned } = await fixed();
    await missFor('b', 9);
    expect(takeEvents()).toEqual([]);
    await missFor('b', 1);

    expect(takeEvents()).toEqual([['Project Unreachable', 'b']]);
    expect(memory.projects.memories.has('b')).toBe(true);
    expect(memory.projects.unreachable.has('b')).toBe(true);
    expect(planned.removed).toEqual([]);
    expect(restMsOf(memory.projects, 'b', 600)).toBe(15 * MINUTE_MS);
  });

  test('is published once as discovered when it answers again', async () => {
    const { deps, memory, missFor, takeEvents } = await fixed();
    await missFor('b', 10);
    takeEvents();
    await endAbsence(deps, memory.projects, 'b');
    await endAbsence(deps, memory.projects, 'b');

    expect(takeEvents()).toEqual([['Project Discovered', 'b']]);
    expect(memory.projects.unreachable.size).toBe(0);
  });

  test('that is out of reach and goes on answering 404 is not published again', async () => {
    const { memory, missFor, takeEvents } = await fixed();
    await missFor('b', 10);
    takeEvents();
    await missFor('b', 30);

    expect(takeEvents()).toEqual([]);
    expect(memory.projects.absences.size).toBe(0);
  });

  test('that another process publishes at this moment is not published twice', async () => {
    const { deps, memory, missFor, takeEvents } = await fixed();
    await missFor('b', 10);
    takeEvents();
    deps.store.record = async () => 'conflict';
    await endAbsence(deps, memory.projects, 'b');

    expect(takeEvents()).toEqual([]);
  });
});

describe('a project that answers', () => {
  test('as it always did costs no call of the table', async () => {
    const { deps, memory } = await account(['a']);
    deps.store.readProject = () => Promise.reject(new Error('the table must not be asked'));

    await endAbsence(deps, memory.projects, 'a');
  });

  test('is polled as any other, and has no rest', async () => {
    const { deps, memory } = await account(['a', 'b']);
    await countNotFound(deps, memory.projects, 'b');

    expect(restMsOf(memory.projects, 'a', 600)).toBeUndefined();
    // One project that answers 404 may use a fifth of 600 requests a minute.
    expect(restMsOf(memory.projects, 'b', 600)).toBe(500);
    await countNotFound(deps, memory.projects, 'a');
    expect(restMsOf(memory.projects, 'b', 600)).toBe(1_000);
  });
});

test('projects that are gone and projects that are missing share the rest between them', async () => {
  const { deps, memory, missFor } = await account(['a', 'b'], { fixedProjectIds: ['a', 'b'] });
  await missFor('b', 10);
  await countNotFound(deps, memory.projects, 'a');

  expect(memory.projects.unreachable.has('b')).toBe(true);
  // Two projects that answer 404 may use a fifth of 600 requests a minute.
  expect(restMsOf(memory.projects, 'a', 600)).toBe(1_000);
});

test('many projects that are gone are recorded eight at a time', async () => {
  const ids = Array.from({ length: 20 }, (_, place) => `p${place}`);
  const { deps, list, missFor, pass, takeEvents } = await account(ids);
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
