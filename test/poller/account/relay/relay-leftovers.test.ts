import { describe, expect, test } from 'vitest';
import {
  EVENTS_PER_SECOND_MAX,
  type LeftoverEvents,
  relayLeftovers,
} from '../../../../functions/poller/account/relay-leftovers.ts';
import type { BusEvent } from '../../../../shared/events/render-event.ts';
import { anOperation, aRecord, commandRecord } from '../../../builders.ts';
import { anInvocation } from '../invocation-under-test.ts';

/** One page of the index has this many keys while the bus accepts events. */
const KEYS_PER_PAGE = 200;

const PROJECT_ID = anOperation().project_id;

function setUp() {
  const world = anInvocation();
  const { deps, leftovers, stop, store, hooks, sleeps } = world;
  const named: string[] = [];
  let publishedCount = 0;
  const relayEvents: LeftoverEvents = {
    onProjects: async (ids) => void named.push(...ids),
    isVisible: () => true,
    onPublished: (count) => {
      publishedCount += count;
    },
  };
  const relay = () => relayLeftovers(deps, leftovers, relayEvents);
  const hot: string[] = [];
  const askAtOnce = deps.planner.askAtOnce.bind(deps.planner);
  deps.planner.askAtOnce = (id) => {
    hot.push(id);
    askAtOnce(id);
  };
  const requested: number[] = [];
  const findWorkPage = store.findWorkPage.bind(store);
  deps.store.findWorkPage = async (request) => {
    requested.push(request.limit);
    return findWorkPage(request);
  };
  const published: number[] = [];
  const publish = deps.bus.publish.bind(deps.bus);
  let isDown = false;
  deps.bus.publish = async (events: readonly BusEvent[]) => {
    published.push(events.length);
    return isDown ? events.map(() => ({ kind: 'retry' as const, code: 'down' })) : publish(events);
  };
  return {
    ...world,
    relay,
    named,
    publishedCount: () => publishedCount,
    hot,
    requested,
    published,
    setDown: (value: boolean) => {
      isDown = value;
    },
    leave: (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, place) =>
          store.record(aRecord({ status: 'finished', id: `left-${place}` }), undefined),
        ),
      ),
    /** Runs the loop until it has slept `sleepCount` times. */
    relayFor: async (
      sleepCount: number,
      between: (sleepCount: number) => void | Promise<void> = () => {},
    ) => {
      hooks.onSleep = async () => {
        await between(sleeps.length);
        if (sleeps.length >= sleepCount) stop.abort();
      };
      await relay();
    },
  };
}

describe('what an earlier invocation left unpublished', () => {
  test('is published in the first pass, and counted', async () => {
    const { leave, relayFor, events, measures, logs, publishedCount, store } = setUp();
    await leave(3);
    await relayFor(1);

    expect(events).toHaveLength(3);
    expect(measures).toContainEqual(['EventsPublished', 3]);
    expect(logs).toEqual([{ level: 'info', event: 'leftovers.relayed', event_count: 3 }]);
    expect(publishedCount()).toBe(3);
    expect((await store.findWorkPage({ limit: 10 })).entries).toEqual([]);
  });

  test('is not logged when there is nothing', async () => {
    const { relayFor, logs } = setUp();
    await relayFor(3);

    expect(logs).toEqual([]);
  });

  test('is published oldest first', async () => {
    const { store, relayFor, events } = setUp();
    for (const [id, second] of [
      ['new', 30],
      ['old', 10],
      ['middle', 20],
    ] as const) {
      const observed_at = `2026-01-15T11:59:${second}.000Z`;
      const record = aRecord({ id, status: 'finished' });
      await store.record(
        { ...record, entries: record.entries.map((entry) => ({ ...entry, observed_at })) },
        undefined,
      );
    }
    await relayFor(1);

    expect(events.map(({ operation_id }) => operation_id)).toEqual(['old', 'middle', 'new']);
  });

  test('is read in pages, one behind the other, and no faster than the rate allows', async () => {
    const { leave, relayFor, requested, events, sleeps } = setUp();
    await leave(KEYS_PER_PAGE + 10);
    await relayFor(2);

    expect(requested).toEqual([KEYS_PER_PAGE, KEYS_PER_PAGE]);
    expect(events).toHaveLength(KEYS_PER_PAGE + 10);
    expect(sleeps[0]).toBeCloseTo((1_000 * KEYS_PER_PAGE) / EVENTS_PER_SECOND_MAX);
  });

  test('rests only for the time that is left of its turn, when the calls took some of it', async () => {
    const { leave, relayFor, deps, sleeps, pass } = setUp();
    const publish = deps.bus.publish.bind(deps.bus);
    let callCount = 0;
    deps.bus.publish = async (entries) => {
      if (callCount++ === 0) pass(100);
      return publish(entries);
    };
    await leave(55);
    await relayFor(1);

    expect(sleeps[0]).toBeCloseTo((1_000 * 55) / EVENTS_PER_SECOND_MAX - 100);
  });

  test('settles commands whose operations have ended', async () => {
    const { store, relayFor, events } = setUp();
    await store.record({ ...commandRecord(PROJECT_ID, 'request-1'), operation_ids: ['a'] }, undefined);
    await store.record({ ...aRecord({ id: 'a', status: 'finished' }), published: 1 }, undefined);
    await relayFor(1);

    expect(events).toMatchObject([{ type: 'Command Settled' }]);
  });

  test('makes projects hot in which something is open, in the first pass alone', async () => {
    const { store, relayFor, hot, leftovers } = setUp();
    await store.record({ ...aRecord({ id: 'open' }), published: 1 }, undefined);
    await store.record({ ...commandRecord('settled-1', 'request-2'), is_settled: true }, undefined);
    await store.record({ ...aRecord({ id: 'ended', status: 'finished', project_id: 'quiet-1' }) }, undefined);
    await store.record({ ...commandRecord('commanded-1', 'request-1') }, undefined);
    await relayFor(6, () => {
      leftovers.areExpected = true;
    });

    expect(hot.toSorted()).toEqual(['commanded-1', PROJECT_ID]);
  });
});

describe('the projects of the index', () => {
  test('are named page by page in the first pass, each once a page, and in no later pass', async () => {
    const { leave, relayFor, named, requested, setDown } = setUp();
    setDown(true);
    await leave(2);
    await relayFor(4);

    expect(requested.length).toBeGreaterThan(1);

    expect(named).toEqual([PROJECT_ID]);
  });
});

describe('while the bus takes nothing', () => {
  test('a page is probed less and less often, with fewer keys, and one line logs it', async () => {
    const { leave, relayFor, setDown, requested, sleeps, logs, leftovers, publishedCount } = setUp();
    setDown(true);
    await leave(100);
    await relayFor(7);

    expect(requested[0]).toBe(KEYS_PER_PAGE);
    expect(new Set(sleeps).size).toBeGreaterThan(1);
    expect(sleeps.every((slept) => slept <= 30_000)).toBe(true);
    expect(logs.filter(({ event }) => event === 'relay.backed_off')[0]).toEqual({
      level: 'warn',
      event: 'relay.backed_off',
      reason: 'the bus took nothing',
    });
    expect(leftovers.areExpected).toBe(true);
    expect(publishedCount()).toBe(0);
  });

  test('the pauses double up to half a minute', async () => {
    const { leave, relayFor, setDown, sleeps } = setUp();
    setDown(true);
    await leave(1);
    await relayFor(16);
    const pauses = sleeps.filter((slept) => slept >= 1_000);

    expect(pauses.slice(0, 8)).toEqual([1_000, 1_000, 1_000, 2_000, 1_000, 4_000, 1_000, 8_000]);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(30_000);
  });

  test('the pages behind the first one are small, one line logs it, and the invocation is not needed', async () => {
    const { leave, relayFor, setDown, requested, logs, leftovers } = setUp();
    setDown(true);
    await leave(KEYS_PER_PAGE + 100);
    const draining: boolean[] = [];
    await relayFor(3, () => void draining.push(leftovers.areDraining));

    expect(requested.slice(0, 3)).toEqual([KEYS_PER_PAGE, 40, 40]);
    expect(logs.map(({ event }) => event)).toEqual(['relay.backed_off']);
    expect(draining).toEqual([false, false, false]);
  });

  test('for some entries of a page, the others are published, and no page is probed for that', async () => {
    const { leave, relayFor, deps, logs, events } = setUp();
    const publish = deps.bus.publish.bind(deps.bus);
    deps.bus.publish = async (entries) => {
      const [first, ...rest] = await publish(entries.slice(0, 1));
      return [
        first ?? never(),
        ...rest,
        ...entries.slice(1).map(() => ({ kind: 'retry' as const, code: 'busy' })),
      ];
    };
    await leave(2);
    await relayFor(1);

    expect(events).toHaveLength(1);
    expect(logs).toEqual([{ level: 'info', event: 'leftovers.relayed', event_count: 1 }]);
  });

  test('the pauses begin anew once something got through', async () => {
    const { leave, relayFor, setDown, sleeps } = setUp();
    setDown(true);
    await leave(3);
    await relayFor(9, (count) => {
      if (count === 6) setDown(false);
      if (count === 7) setDown(true);
    });

    expect(sleeps.slice(0, 6)).toEqual([1_000, 1_000, 1_000, 2_000, 1_000, 4_000]);
    expect(sleeps[7]).toBe(1_000);
  });

  test('what it accepts again later is published by the next pass', async () => {
    const { leave, relayFor, setDown, events } = setUp();
    setDown(true);
    await leave(5);
    await relayFor(8, (count) => {
      if (count === 2) setDown(false);
    });

    expect(events).toHaveLength(5);
  });

  test('the age of the oldest entry is known, and forgotten once all is published', async () => {
    const { leave, relayFor, setDown, leftovers } = setUp();
    setDown(true);
    await leave(1);
    const known: (number | undefined)[] = [];
    await relayFor(8, (count) => {
      known.push(leftovers.oldestAtMs);
      if (count === 3) setDown(false);
    });

    expect(known[0]).toBe(Date.parse('2026-01-15T12:00:00.000Z'));
    expect(leftovers.oldestAtMs).toBeUndefined();
  });
});

// Seed 500063495 of the wide world: every invocation ended before its first page was read, so an event was never published.
describe('the invocation is needed for the first page of the index', () => {
  test('until it was dealt with', async () => {
    const { leave, relayFor, deps, leftovers } = setUp();
    await leave(1);
    const needed: boolean[] = [];
    const note =
      <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
      async (...args: Args) => {
        needed.push(leftovers.areDraining);
        return call(...args);
      };
    deps.store.findWorkPage = note(deps.store.findWorkPage.bind(deps.store));
    deps.store.readRecords = note(deps.store.readRecords.bind(deps.store));
    deps.bus.publish = note(deps.bus.publish.bind(deps.bus));
    await relayFor(1);

    expect(needed).toEqual([true, true, true]);
    expect(leftovers.areDraining).toBe(false);
  });

  test('and no longer when it cannot be read', async () => {
    const { relayFor, deps, leftovers } = setUp();
    deps.store.findWorkPage = () => Promise.reject(new Error('throttled'));
    const needed: boolean[] = [];
    await relayFor(1, () => void needed.push(leftovers.areDraining));

    expect(needed).toEqual([false]);
  });

  test('and no longer when its projects cannot be taken over, which ends the relay', async () => {
    const { leave, deps, leftovers } = setUp();
    await leave(1);
    const onProjects = () => Promise.reject(new Error('throttled'));
    await expect(
      relayLeftovers(deps, leftovers, { onProjects, isVisible: () => true, onPublished: () => {} }),
    ).rejects.toThrow('throttled');

    expect(leftovers.areDraining).toBe(false);
  });
});

describe('between two passes', () => {
  test('the index is looked at again only when something was left over', async () => {
    const { relayFor, requested, leftovers, sleeps } = setUp();
    await relayFor(6, (count) => {
      if (count === 3) leftovers.areExpected = true;
    });

    expect(requested).toHaveLength(2);
    expect(sleeps).toEqual([1_000, 1_000, 1_000, 1_000, 1_000, 1_000]);
  });

  test('the invocation is needed while a backlog drains, and not afterwards', async () => {
    const { leave, relayFor, leftovers } = setUp();
    await leave(KEYS_PER_PAGE + 1);
    const draining: boolean[] = [];
    await relayFor(4, () => {
      draining.push(leftovers.areDraining);
    });

    expect(draining[0]).toBe(true);
    expect(leftovers.areDraining).toBe(false);
  });
});

describe('a table that fails', () => {
  test('is asked again by the next pass, and a line logs it', async () => {
    const { leave, relayFor, deps, logs, events } = setUp();
    await leave(1);
    const findWorkPage = deps.store.findWorkPage.bind(deps.store);
    let failures = 2;
    deps.store.findWorkPage = async (request) => {
      if (failures-- > 0) throw new RangeError('busy');
      return findWorkPage(request);
    };
    await relayFor(8);

    expect(logs.filter(({ event }) => event === 'relay.index_not_read')[0]).toMatchObject({
      level: 'warn',
      reason: 'RangeError',
    });
    expect(events).toHaveLength(1);
  });

  test('for one page holds up no other, and the page is met again', async () => {
    const { leave, relayFor, deps, events, logs } = setUp();
    await leave(1);
    const readRecords = deps.store.readRecords.bind(deps.store);
    let failures = 1;
    deps.store.readRecords = async (keys) => {
      if (failures-- > 0) throw new RangeError('busy');
      return readRecords(keys);
    };
    await relayFor(8);

    expect(logs[0]).toEqual({ level: 'warn', event: 'relay.backed_off', reason: 'RangeError' });
    expect(events).toHaveLength(1);
  });
});

describe('the end of the invocation', () => {
  test('begins no page', async () => {
    const { leave, stop, relay, requested, events } = setUp();
    await leave(1);
    stop.abort();
    await relay();

    expect([requested, events]).toEqual([[], []]);
  });

  test('that comes while a page is read publishes nothing of it', async () => {
    const { leave, stop, relay, deps, events } = setUp();
    await leave(1);
    const readRecords = deps.store.readRecords.bind(deps.store);
    deps.store.readRecords = async (keys) => {
      stop.abort();
      return readRecords(keys);
    };
    await relay();

    expect(events).toEqual([]);
  });
});

function never(): never {
  throw new Error('The bus answers for each entry');
}
