import { describe, expect, test } from 'vitest';
import type { Operation } from '../../../../shared/core/records/operation.ts';
import { operationKey } from '../../../../shared/store/keys.ts';
import { anOperation, NOON_MS } from '../../../builders.ts';
import { aProject, atMs, DAY_MS, MINUTE_MS, PROJECT_ID } from '../project-under-test.ts';

const open = (fields: Partial<Operation> = {}) =>
  anOperation({ id: 'open', created_at: atMs(NOON_MS - MINUTE_MS), ...fields });

/** Sets up an open operation that is published and that no page shows any more. */
async function unlisted(fields: Partial<Operation> = {}, further: readonly Operation[] = []) {
  const project = aProject();
  project.script.rows = [open(fields), ...further];
  await project.poll();
  project.script.rows = [...further];
  project.script.hidden = [open(fields)];
  project.takeCalls();
  project.takeEvents();
  return project;
}

const reads = (calls: readonly string[]) => calls.filter((call) => call.startsWith('get'));

describe('an open operation that no page shows', () => {
  test('is read by itself once its time has come, and what has changed is published', async () => {
    const { poll, pass, script, takeCalls, takeEvents } = await unlisted();
    pass(4_000);
    await poll();
    expect(reads(takeCalls())).toEqual([]);
    pass(1_000);
    script.hidden = [open({ status: 'finished' })];

    await poll();

    expect(reads(takeCalls())).toEqual(['get open']);
    expect(takeEvents()).toMatchObject([{ operation_id: 'open', status: 'finished', observed_by: 'poll' }]);
    pass(MINUTE_MS);
    await poll();
    expect(reads(takeCalls())).toEqual([]);
  });

  test('is read at once by a process that does not know when it was read last', async () => {
    const { poll, restart, takeCalls } = await unlisted();
    restart();

    await poll();

    expect(reads(takeCalls())).toEqual(['get open']);
  });

  test('is not read again before its interval has passed since the last reading', async () => {
    const { poll, pass, takeCalls } = await unlisted();
    pass(5_000);
    await poll();
    expect(reads(takeCalls())).toEqual(['get open']);
    pass(4_999);
    await poll();
    expect(reads(takeCalls())).toEqual([]);
    pass(1);
    await poll();

    expect(reads(takeCalls())).toEqual(['get open']);
  });

  test('is read with the signal of the deadline, and without any when there is none', async () => {
    const { poll, pass, calls } = await unlisted();
    const { signal } = new AbortController();
    pass(5_000);
    await poll({ signal });
    pass(5_000);
    await poll();

    const got = calls.filter(({ name }) => name === 'get');
    expect(got.map(({ options }) => options)).toEqual([{ signal }, undefined]);
  });

  test('is not read after the deadline', async () => {
    const { poll, pass, script, takeCalls } = await unlisted();
    pass(5_000);
    const stop = new AbortController();
    script.fails = () => {
      stop.abort();
      return undefined;
    };

    await poll({ signal: stop.signal });

    expect(reads(takeCalls())).toEqual([]);
  });

  test('is not read when the list could not be read, which might have shown it', async () => {
    const { poll, pass, script, takeCalls } = await unlisted();
    pass(5_000);
    script.fails = ({ name }) => (name === 'list' ? 'unavailable' : undefined);

    await poll();

    expect(reads(takeCalls())).toEqual([]);
  });

  test('whose reading is a mistake of ours hides no mistake', async () => {
    const { poll, pass, deps } = await unlisted();
    pass(5_000);
    deps.upstream.getOperation = async () => {
      throw new TypeError('undefined is not a function');
    };

    await expect(poll()).rejects.toThrow(TypeError);
  });
});

describe('an open operation that answers 404', () => {
  const gone = async () => {
    const project = await unlisted();
    project.script.hidden = [];
    project.pass(5_000);
    await project.poll();
    return project;
  };

  test('counts as vanished once polls that read the list have answered 404 for a minute, and is published once', async () => {
    const { poll, pass, events, takeCalls, store } = await gone();
    pass(59_999);
    await poll();
    pass(1);
    await poll();
    expect(events).toEqual([]);
    pass(1);
    await poll();
    pass(MINUTE_MS);
    takeCalls();
    await poll();

    expect(events).toMatchObject([
      { type: 'Operation Watch Ended', reason: 'vanished', status: 'running', operation_id: 'open' },
    ]);
    expect(reads(takeCalls())).toEqual([]);
    expect(await store.readOperation(PROJECT_ID, 'open')).toMatchObject({ watch_ended: true });
  });

  test('is asked for again each time, and keeps the time of the first 404', async () => {
    const { poll, pass, takeCalls, memory, nowMs } = await gone();
    const firstMs = nowMs();
    takeCalls();
    pass(1_000);
    await poll();

    expect(reads(takeCalls())).toEqual(['get open']);
    expect(memory().missing.get('open')).toEqual({ firstMs, lastMs: nowMs() });
  });

  test('because its whole project does so in the middle of a poll, has not vanished', async () => {
    const { poll, pass, events, script } = await gone();
    pass(2 * MINUTE_MS);
    await poll();
    script.hidden = [open()];
    pass(MINUTE_MS);
    await poll();

    expect(events).toEqual([]);
  });

  test('once, and is there again, has to be missing for a minute anew', async () => {
    const { poll, pass, events, script, memory } = await gone();
    script.hidden = [open()];
    pass(5_000);
    await poll();
    expect(memory().missing.size).toBe(0);
    script.hidden = [];
    pass(20 * DAY_MS);
    await poll();
    expect(events).toEqual([]);
    pass(59_999);
    await poll();

    expect(events).toEqual([]);
  });

  test('once, and stands on a page again, has to be missing for a minute anew', async () => {
    const { poll, pass, events, script } = await gone();
    script.rows = [open()];
    pass(5_000);
    await poll();
    script.rows = [];
    pass(20 * DAY_MS);
    await poll();

    expect(events).toEqual([]);
  });

  test.each(['unavailable', 'timeout', 'rate_limited', 'forbidden', 'network', 'locked'] as const)(
    'and then %s is not missing for longer',
    async (kind) => {
      const { poll, pass, events, script } = await unlisted();
      script.fails = ({ name }) => (name === 'get' ? kind : undefined);
      for (let count = 0; count < 5; count++) {
        pass(MINUTE_MS);
        await poll();
      }

      expect(events).toEqual([]);
    },
  );

  test('is not published while its journal is full', async () => {
    const failures = Array.from({ length: 64 }, (_, index) => ({
      status: 'failed',
      failures_count: index + 1,
    }));
    const { deps, script, poll, pass, events, store } = aProject();
    deps.bus.publish = async (published) => published.map(() => ({ kind: 'retry', code: 'down' }) as never);
    for (const fields of failures) {
      script.rows = [open(fields)];
      await poll();
    }
    script.rows = [];
    for (let count = 0; count < 4; count++) {
      pass(MINUTE_MS);
      await poll();
    }

    expect(events).toEqual([]);
    expect(await store.readOperation(PROJECT_ID, 'open')).toMatchObject({ revision: 64, watch_ended: false });
  });

  test('and that another process has changed meanwhile keeps that change', async () => {
    const { poll, pass, deps, events, store } = await gone();
    pass(MINUTE_MS);
    const record = deps.store.record.bind(deps.store);
    deps.store.record = async (next, expected) => {
      if (next.kind === 'operation') return 'conflict';
      return record(next, expected);
    };
    await poll();

    expect(events).toEqual([]);
    expect(await store.readOperation(PROJECT_ID, 'open')).toMatchObject({ watch_ended: false });
  });
});

describe('a failed operation that is not retried', () => {
  const failed = { status: 'failed', failures_count: 1 };

  test('is watched for thirty days, and then an event says that this is over', async () => {
    const { poll, pass, events } = await unlisted(failed);
    pass(30 * DAY_MS - 1);
    await poll();
    expect(events).toEqual([]);
    pass(MINUTE_MS * 60);
    await poll();

    expect(events).toMatchObject([
      { type: 'Operation Watch Ended', reason: 'not_retried', status: 'failed' },
    ]);
  });

  test('ends its watch by age alone when the upstream does not say how it is now', async () => {
    const { poll, pass, events, script } = await unlisted(failed);
    pass(31 * DAY_MS);
    script.fails = ({ name }) => (name === 'get' ? 'unavailable' : undefined);

    await poll();

    expect(events).toMatchObject([{ reason: 'not_retried' }]);
  });

  test('ends its watch also when the list still shows it', async () => {
    const { poll, pass, events, script } = await unlisted(failed);
    script.rows = [open(failed)];
    pass(30 * DAY_MS);

    await poll();

    expect(events).toMatchObject([{ reason: 'not_retried' }]);
  });

  test('that moves at the last moment is published as it moves, and its watch does not end', async () => {
    const { poll, pass, events, script } = await unlisted(failed);
    script.hidden = [open({ status: 'running', failures_count: 1 })];
    pass(30 * DAY_MS);

    await poll();

    expect(events).toMatchObject([{ type: 'Operation State Changed', status: 'running' }]);
    expect(events).toHaveLength(1);
  });
});

describe('what a process remembers of open operations', () => {
  test('is forgotten once they have ended', async () => {
    const { poll, pass, script, memory } = await unlisted();
    script.hidden = [];
    pass(5_000);
    await poll();
    expect([memory().readAtMs.size, memory().missing.size]).toEqual([1, 1]);
    script.hidden = [open({ status: 'finished' })];
    pass(5_000);
    await poll();

    expect([memory().readAtMs.size, memory().missing.size]).toEqual([0, 0]);
  });

  test('is kept while they are open', async () => {
    const { poll, pass, memory, nowMs } = await unlisted();
    pass(5_000);
    const readAtMs = nowMs();
    await poll();
    pass(1_000);
    await poll();

    expect(memory().readAtMs.get('open')).toBe(readAtMs);
  });
});

test('an operation that becomes unreadable while it is read is left alone by this poll', async () => {
  const { poll, pass, table, script, events } = await unlisted();
  pass(5_000);
  script.hidden = [open({ status: 'finished' })];
  script.fails = ({ name }) => {
    if (name === 'get')
      table.sync.update({ key: operationKey('main', PROJECT_ID, 'open'), set: { revision: 9, status: 17 } });
    return undefined;
  };

  expect(await poll()).toMatchObject({ outcome: 'complete', recordedCount: 0 });
  expect(events).toEqual([]);
});
