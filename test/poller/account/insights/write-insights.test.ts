import { describe, expect, test } from 'vitest';
import {
  ACCOUNT_WAIT_MS_MAX,
  CHANGE_WAIT_MS_MAX,
  createInsights,
  PROJECT_WAIT_MS_MAX,
  WAITING_SAMPLES_MAX,
  WAITING_VALUES_MAX,
} from '../../../../functions/poller/account/insights.ts';
import { ACTIONS_MAX, createInsightsStore, type UtcDay } from '../../../../shared/insights/day-insights.ts';
import { createHourCountsStore, type UtcHour } from '../../../../shared/insights/hour-counts.ts';
import { hourCountsKey } from '../../../../shared/store/keys.ts';
import type { Table } from '../../../../shared/store/table.ts';
import { NOON_MS } from '../../../builders.ts';
import { aChange, addTo, aSample, LAST_HOUR } from '../../../insights/values.ts';
import { createMemoryTable } from '../../../simulation/memory-table.ts';

const LOOK_MS = 10_000;
const THIS_HOUR = '2026-01-15T12' as UtcHour;
const HOUR_KEY = hourCountsKey('main', LAST_HOUR);
const HOUR = `INSIGHTS#main / HOUR#${LAST_HOUR}`;
const ACCOUNT = 'INSIGHTS#main / DAY#2026-01-15';
const PROJECT = `INSIGHTS#main#P#${aSample().projectId} / DAY#2026-01-15`;

type Write = () => ReturnType<Table['update']>;

function setUp() {
  let nowMs = NOON_MS;
  let stop = new AbortController();
  let looksLeft = 0;
  /** A signal that ends a sleep makes it reject, as the real clock does. */
  const sleep = async (durationMs: number) => {
    nowMs += durationMs;
    looksLeft -= 1;
    if (looksLeft > 0) return;
    stop.abort();
    throw stop.signal.reason;
  };
  const table = createMemoryTable();
  const own = table.as('poller');
  /** The next calls of the process go so. The calls after them go well. */
  const writes: ((write: Write) => ReturnType<Write>)[] = [];
  const reads: (() => never)[] = [];
  const faulty: Table = {
    ...own,
    get: async (key) => (reads.shift() ?? (() => own.get(key)))(),
    update: async (update) => (writes.shift() ?? ((write) => write()))(() => own.update(update)),
  };
  const insights = createInsights({
    days: createInsightsStore(faulty, 'main'),
    hours: createHourCountsStore(faulty, 'main'),
    clock: { now: () => nowMs, sleep },
    writer: 'a-process',
  });
  const logs: unknown[] = [];
  /** Runs an invocation until it has looked `looks` times for what is due. */
  const run = async (looks = 1) => {
    stop = new AbortController();
    looksLeft = looks;
    const telemetry = {
      log: (...line: readonly unknown[]) => void logs.push(line),
      measure: () => {},
    };
    await insights.writeRepeatedly({ telemetry, signal: stop.signal });
  };
  return {
    table,
    writes,
    reads,
    insights,
    logs,
    run,
    stop: () => stop.abort(),
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    takeSamples: (count: number, fields: Parameters<typeof aSample>[0] = {}) => {
      for (let index = 0; index < count; index++) insights.takeSample(aSample(fields));
    },
    /** Takes changes of the last hour that are due. */
    takeDue: (...changes: readonly Parameters<typeof aChange>[0][]) => {
      for (const fields of changes) insights.takeChange(aChange(fields));
      nowMs += CHANGE_WAIT_MS_MAX;
    },
    /** Counts ten failures of the last hour, as another poller. */
    countAsAnother: () =>
      addTo(createHourCountsStore(own, 'main').itemOf(LAST_HOUR), [aChange({ failedCount: 10 })]),
    /** Returns how many failures are counted in an hour. */
    failures: (hour = LAST_HOUR) => table.sync.peek(hourCountsKey('main', hour))?.['failed_count'] ?? 0,
    written: () => table.sync.items().map(({ pk, sk }) => `${pk} / ${sk}`),
  };
}

type Account = ReturnType<typeof setUp>;

const refuse = async () => 'refused' as const;
const throttle = () => {
  throw new Error('throttled');
};
const loseReply = async (write: Write) => {
  await write();
  throw new Error('no reply');
};

const dropped = (reason: string, value_count: number, item = HOUR) => [
  'warn',
  'insights.dropped',
  { item, value_count, reason },
];
const NOT_WRITTEN = ['warn', 'insights.not_written', { item: HOUR }];

describe('values that wait', () => {
  test.each([
    ['a change for its hour', HOUR, CHANGE_WAIT_MS_MAX],
    ['a sample for the account', ACCOUNT, ACCOUNT_WAIT_MS_MAX],
    ['a sample for its project', PROJECT, PROJECT_WAIT_MS_MAX],
  ])('are written in time: %s', async (_what, item, waitMsMax) => {
    const { insights, run, pass, written } = setUp();
    insights.takeChange(aChange());
    insights.takeSample(aSample());

    pass(waitMsMax - 1);
    await run();
    expect(written()).not.toContain(item);
    await run();

    expect(written()).toContain(item);
  });

  test('do not wait until a clock that was set back has come that far again', async () => {
    const { insights, pass, run, failures } = setUp();
    insights.takeChange(aChange());

    pass(-24 * 60 * CHANGE_WAIT_MS_MAX);
    await run();

    expect(failures()).toBe(1);
  });

  test('are written at once when enough samples wait for their item', async () => {
    const { takeSamples, run, written } = setUp();
    takeSamples(WAITING_SAMPLES_MAX - 1);
    takeSamples(1, { projectId: 'another' });

    await run();
    expect(written()).toEqual([ACCOUNT]);
    takeSamples(1);
    await run();

    expect(written()).toEqual([ACCOUNT, PROJECT]);
  });

  test('go into the item of their day or hour, as far back as people look', async () => {
    const { insights, pass, run, written } = setUp();
    for (const day of ['2026-01-08', '2026-01-09', '2026-01-15', '2026-01-16'] as UtcDay[])
      insights.takeSample(aSample({ day }));
    for (const hour of ['2026-01-14T12', '2026-01-14T13', '2026-01-15T12', '2026-01-15T13'] as UtcHour[])
      insights.takeChange(aChange({ hour }));

    pass(ACCOUNT_WAIT_MS_MAX);
    await run();

    const kept = ['DAY#2026-01-09', 'DAY#2026-01-15', 'HOUR#2026-01-14T13', 'HOUR#2026-01-15T12'];
    expect(written()).toEqual(kept.map((sk) => `INSIGHTS#main / ${sk}`));
  });

  test('are all written once half of what may wait does, and make place for others', async () => {
    const { insights, run, failures, logs } = setUp();
    const takeHalf = () => {
      for (let index = 0; index < WAITING_VALUES_MAX / 2; index++) insights.takeChange(aChange());
    };

    for (let times = 0; times < 3; times++) {
      takeHalf();
      await run();
    }

    expect(failures()).toBe(1.5 * WAITING_VALUES_MAX);
    expect(logs).toEqual([]);
  });

  test('are dropped beyond their bound, which is said once', async () => {
    const { insights, run, failures, logs } = setUp();
    for (let index = 0; index < WAITING_VALUES_MAX + 3; index++) insights.takeChange(aChange());

    await run(2);

    expect(failures()).toBe(WAITING_VALUES_MAX);
    expect(logs).toEqual([['warn', 'insights.dropped', { value_count: 3, reason: 'too_many' }]]);
  });
});

describe('an invocation', () => {
  test('writes at once what a warm process has kept, and looks every ten seconds', async () => {
    const { insights, takeDue, run, failures } = setUp();
    takeDue({}, { failedCount: 2 });

    await run();
    expect(failures()).toBe(3);
    insights.takeChange(aChange());
    await run(CHANGE_WAIT_MS_MAX / LOOK_MS);
    expect(failures()).toBe(3);
    await run();

    expect(failures()).toBe(4);
  });

  test('leaves what is left for the next one when the stop signal comes between two items', async () => {
    const { takeDue, run, writes, stop, failures } = setUp();
    takeDue({}, { hour: THIS_HOUR });
    writes.push((write) => {
      stop();
      return write();
    });

    await run();
    expect([failures(), failures(THIS_HOUR)]).toEqual([1, 0]);
    await run();

    expect([failures(), failures(THIS_HOUR)]).toEqual([1, 1]);
  });
});

describe('a write', () => {
  test('counts what another poller has counted in between, too', async () => {
    const { takeDue, run, writes, countAsAnother, failures, logs } = setUp();
    takeDue({});
    const race = async (write: Write) => {
      await countAsAnother();
      return write();
    };
    writes.push(race, race);

    await run();

    expect(failures()).toBe(21);
    expect(logs).toEqual([]);
  });

  test.each([
    ['it was made and its reply was lost', loseReply],
    [
      'the SDK has repeated it after it was made, and the repetition is refused',
      async (write: Write) => {
        await write();
        return write();
      },
    ],
    ['it was not made, and is tried again', throttle],
    [
      'another poller has written in its place',
      async (_write: Write, { countAsAnother }: Account) => {
        await countAsAnother();
        throw new Error('no reply');
      },
    ],
    [
      'the table has taken it, without a look at the item',
      async (write: Write, { reads }: Account) => {
        const outcome = await write();
        reads.push(throttle);
        return outcome;
      },
    ],
  ])('counts once when %s', async (_when, fault) => {
    const account = setUp();
    const { takeDue, run, writes, failures, logs } = account;
    takeDue({}, { projectId: 'another', failedCount: 2 });
    writes.push((write) => fault(write, account));

    await run(2);

    expect(Number(failures()) % 10).toBe(3);
    expect(logs).toEqual([]);
  });

  test.each([
    ['cannot be read', { reads: [throttle], writes: [] }],
    ['refuses three writes', { reads: [], writes: [refuse, refuse, refuse] }],
  ])('is made later, with what came meanwhile, when the item %s', async (_what, faults) => {
    const { takeDue, insights, run, reads, writes, failures, logs } = setUp();
    takeDue({});
    reads.push(...faults.reads);
    writes.push(...faults.writes);

    await run();
    expect([failures(), logs]).toEqual([0, [NOT_WRITTEN]]);
    insights.takeChange(aChange({ failedCount: 2 }));
    await run();

    expect(failures()).toBe(3);
  });

  test('keeps what is taken while it is under way, and is due as early as before', async () => {
    const { takeDue, insights, run, writes, failures } = setUp();
    takeDue({});
    writes.push(
      async () => {
        insights.takeChange(aChange({ failedCount: 2 }));
        return 'refused';
      },
      refuse,
      refuse,
    );

    await run(2);

    expect(failures()).toBe(3);
  });

  test('is given up when its reply is lost and the item cannot be read afterwards', async () => {
    const { takeDue, run, reads, writes, failures, logs } = setUp();
    takeDue({}, {});
    writes.push(async (write) => {
      reads.push(throttle);
      return loseReply(write);
    });

    await run(8);

    expect(failures()).toBe(2);
    expect(logs).toEqual([dropped('write_unknown', 2)]);
  });

  test('is given up when another poller has written since and nothing says whether it was made', async () => {
    const { takeDue, run, writes, countAsAnother, failures, logs } = setUp();
    takeDue({});
    writes.push(async (write) => {
      await write();
      await countAsAnother();
      throw new Error('no reply');
    });

    await run(8);

    expect(failures()).toBe(11);
    expect(logs).toEqual([dropped('write_unknown', 1)]);
  });

  test('leaves an item of a newer version alone', async () => {
    const { table, takeDue, run, logs } = setUp();
    const newer = { kind: 'hour_counts', revision: 3, writer: 'newer', failing: 'packed' };
    table.sync.update({ key: HOUR_KEY, set: newer });
    takeDue({});

    await run(8);

    expect(table.sync.peek(HOUR_KEY)).toEqual({ ...HOUR_KEY, ...newer });
    expect(logs).toEqual([dropped('unreadable', 1)]);
  });

  test('says how many samples have no place in their day', async () => {
    const { insights, run, logs } = setUp();
    for (let index = 0; index <= ACTIONS_MAX; index++)
      insights.takeSample(aSample({ projectId: `project-${index}`, action: `action_${index}` }));

    await run();

    expect(logs).toEqual([dropped('too_many_actions', 1, ACCOUNT)]);
  });
});
