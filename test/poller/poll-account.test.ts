import { describe, expect, test } from 'vitest';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { anOperation } from '../builders.ts';
import { START_MS } from '../simulation/close-stage.ts';
import { anAccount, PROJECT_ID } from './account-under-test.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const atSecond = (seconds: number) => `${new Date(START_MS + seconds * 1_000).toISOString().slice(0, 19)}Z`;

/** Returns rows with the newest first, one a second, from the start of the test on. */
const manyOperations = (count: number, status = 'finished') =>
  Array.from({ length: count }, (_, place) =>
    anOperation({
      id: `operation-${count - place}`,
      status,
      created_at: atSecond(count - place),
      updated_at: atSecond(count - place),
    }),
  );

describe('an operation that ends its watch', () => {
  const stuck = anOperation({ created_at: atSecond(1), status: 'failed', failures_count: 1 });

  test('has vanished only after two 404s a minute apart, and that is published once', async () => {
    const { script, poll, events } = anAccount();
    const running = { ...stuck, status: 'running' };
    script.operations = [running];
    await poll(10_000);
    script.operations = [];

    // The operation is read every five seconds, so there are several 404s in this time.
    await poll(50_000);
    expect(events().map(({ type }) => type)).toEqual(['Operation State Changed']);
    await poll(5 * MINUTE_MS);

    const ends = events().filter(({ type }) => type === 'Operation Watch Ended');
    expect(ends).toMatchObject([{ reason: 'vanished', status: 'running', operation_id: stuck.id }]);
  });

  test('a 404 that passes ends nothing', async () => {
    const { script, poll, events } = anAccount();
    script.operations = [stuck];
    await poll(10_000);
    script.operations = [];
    await poll(30_000);
    script.hidden = [stuck];
    await poll(5 * MINUTE_MS);

    expect(events().map(({ type }) => type)).toEqual(['Operation State Changed']);
  });

  test('has failed and was not retried for thirty days', async () => {
    const { script, poll, pass, events } = anAccount();
    script.operations = [stuck];
    await poll(10_000);
    await pass(30 * DAY_MS);
    await poll(30_000);

    expect(events().at(-1)).toMatchObject({
      type: 'Operation Watch Ended',
      reason: 'not_retried',
      failures_count: 1,
    });
  });

  test('is published all the same when it is retried after that, and its chain goes on', async () => {
    const { script, poll, pass, events } = anAccount();
    script.operations = [stuck];
    await poll(10_000);
    await pass(30 * DAY_MS);
    await poll(30_000);
    script.operations = [{ ...stuck, status: 'finished' }];
    await poll(30_000);

    expect(events().at(-1)).toMatchObject({
      type: 'Operation State Changed',
      sequence: 2,
      previous_status: 'failed',
    });
  });

  test('a failed operation that no page shows is read at a falling rate', async () => {
    const { script, poll, calls } = anAccount();
    script.operations = [stuck];
    await poll(10_000);
    script.hidden = script.operations;
    script.operations = [];
    calls.length = 0;
    await poll(10 * MINUTE_MS);

    const reads = calls.filter((call) => call.startsWith('operation '));
    expect(reads.length).toBeGreaterThanOrEqual(9);
    expect(reads.length).toBeLessThanOrEqual(11);
  });
});

describe('requests', () => {
  test('of the list as a hint are as many as it has pages: a short one is the last', async () => {
    const { poll, calls } = anAccount();
    await poll(MINUTE_MS);
    const first = calls.filter((call) => call === 'projects').length;
    const further = calls.filter((call) => call.startsWith('projects ')).length;

    expect(first).toBeGreaterThan(8);
    // A discovery reads on until a page is empty, which happens three times in this minute.
    expect(further).toBeLessThanOrEqual(4);
  });

  test('are as many as permits that were taken and not given back, in an account where little is due', async () => {
    const { poll, calls, deps } = anAccount();
    const { budget } = deps();
    const counts = { taken: 0, givenBack: 0 };
    Object.assign(deps(), {
      budget: {
        take: async (signal?: AbortSignal) => {
          await budget.take(signal);
          counts.taken += 1;
        },
        giveBack: () => {
          counts.givenBack += 1;
          budget.giveBack();
        },
        learned: () => budget.learned(),
        restore: () => {},
      },
    });
    await poll(MINUTE_MS);
    const discoveryCount = 8;

    expect(counts.taken).toBeGreaterThan(counts.givenBack);
    expect(counts.taken - counts.givenBack).toBeLessThanOrEqual(calls.length);
    expect(counts.taken - counts.givenBack).toBeGreaterThanOrEqual(calls.length - discoveryCount);
  });
});

describe('a sweep', () => {
  test('whose first page is a few rows teaches nothing of how often something happens', async () => {
    const walkLimits = { firstPageRows: 5, widePageRows: 10, pagesMax: 9, overlapMs: 5_000 };
    const { script, poll, deps, table, calls } = anAccount({ walkLimits, sweepIntervalMs: 20_000 });
    script.operations = Array.from({ length: 25 }, (_, index) =>
      anOperation({ id: `row-${index}`, created_at: atSecond(-10 * index), status: 'finished' }),
    );
    const { planner } = deps();
    const report = planner.report.bind(planner);
    const counts: (number | undefined)[] = [];
    planner.report = (projectId, result, nowMs) => {
      counts.push(result.activity?.arrivalCount);
      report(projectId, result, nowMs);
    };
    await poll(10 * MINUTE_MS);
    const project = table.sync.items().find(({ kind }) => kind === 'project');

    expect(project?.['swept_at_ms']).toBeGreaterThan(START_MS + 9 * MINUTE_MS);
    const firstPageCount = calls.filter((call) => call === `operations ${PROJECT_ID}`).length;
    expect(firstPageCount).toBeGreaterThan(counts.length + 20);
    expect(Math.min(...counts.filter((count) => count !== undefined))).toBeGreaterThanOrEqual(5);
  });
});

describe('writes', () => {
  test('are none for a list of several pages that did not change', async () => {
    const walkLimits = { firstPageRows: 5, widePageRows: 10, pagesMax: 9, overlapMs: 60_000 };
    const { script, poll, table } = anAccount({ walkLimits });
    script.operations = Array.from({ length: 25 }, (_, index) =>
      anOperation({ id: `row-${index}`, created_at: atSecond(-1 - index), status: 'finished' }),
    );
    const isProtocol = ({ sk }: { sk: string }) => sk !== 'LEASE' && sk !== 'STATUS';
    await poll(MINUTE_MS);
    let writeCount = 0;
    const update = table.sync.update.bind(table.sync);
    table.sync.update = (change) => {
      if (isProtocol(change.key)) writeCount += 1;
      return update(change);
    };
    await poll(2 * MINUTE_MS);

    expect(writeCount).toBe(0);
  });
});

describe('the lease', () => {
  const heldFor = (tries: number) => {
    let count = 0;
    return async () => ++count > tries;
  };

  test('of the minute before is waited for while it ends', async () => {
    const { poll, calls, deps } = anAccount();
    Object.assign(deps().lease, { acquire: heldFor(4) });
    await poll(20_000);

    expect(calls.length).toBeGreaterThan(2);
  });

  test('of another process that goes on is left alone after some seconds', async () => {
    const { poll, calls, deps } = anAccount();
    Object.assign(deps().lease, { acquire: heldFor(1_000) });
    await poll(20_000);

    expect(calls).toEqual([]);
  });
});

describe('an open operation behind the first page', () => {
  const walkLimits = { firstPageRows: 5, widePageRows: 50, pagesMax: 3, overlapMs: 5_000 };
  const tensOfSecondsAgo = (count: number) => atSecond(-10 * count);
  const newer = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      anOperation({ id: `newer-${index}`, created_at: tensOfSecondsAgo(index), status: 'finished' }),
    );

  test('is read by itself where no page reaches it', async () => {
    const { script, poll, calls } = anAccount({ walkLimits });
    const slow = anOperation({
      id: 'slow',
      created_at: '2026-01-15T10:00:00Z',
      status: 'failed',
      failures_count: 1,
    });
    script.operations = [...newer(70), slow];
    await poll(10 * MINUTE_MS);

    const reads = calls.filter((call) => call.startsWith('operation '));
    expect(reads.length).toBeGreaterThanOrEqual(8);
    expect(reads.length).toBeLessThanOrEqual(11);
  });
});

describe('the set of projects', () => {
  const other = 'wild-river-87654321';

  test('what is there at first is no news, what appears later is, with all its operations', async () => {
    const { script, poll, events } = anAccount();
    await poll(10_000);
    script.projectIds.push(other);
    script.operations = [anOperation({ project_id: other, created_at: atSecond(5), status: 'finished' })];
    await poll(MINUTE_MS);

    expect(events()[0]).toMatchObject({ type: 'Project Discovered', project_id: other });
  });

  test('a project that a partial list lacks goes on being polled', async () => {
    const { script, poll, events, calls } = anAccount();
    script.projectIds.push(other);
    await poll(10_000);
    script.fails = ({ name }) => (name === 'projects' ? 'unavailable' : undefined);
    calls.length = 0;
    await poll(2 * MINUTE_MS);

    expect(calls.filter((call) => call === `operations ${other}`).length).toBeGreaterThan(10);
    expect(events()).toEqual([]);
  });

  test('one is unreachable after several 404s and a whole list without it, is published once, and is news when it returns', async () => {
    const { script, poll, events } = anAccount();
    script.projectIds.push(other);
    await poll(10_000);
    script.projectIds = [PROJECT_ID];
    await poll(3 * MINUTE_MS);
    script.projectIds.push(other);
    await poll(MINUTE_MS);

    expect(events().map(({ type, project_id }) => [type, project_id])).toEqual([
      ['Project Unreachable', other],
      ['Project Discovered', other],
    ]);
  });

  test('404s prove nothing while the list is partial', async () => {
    const { script, poll, events } = anAccount();
    script.projectIds.push(other);
    await poll(10_000);
    script.projectIds = [PROJECT_ID];
    script.unavailableProjectIds = ['yet-another-1'];
    await poll(3 * MINUTE_MS);

    expect(events().map(({ type }) => type)).not.toContain('Project Unreachable');
  });

  test('one that is listed as unavailable is polled all the same, first seen or new', async () => {
    const { script, poll, calls, events } = anAccount();
    script.unavailableProjectIds = [other];
    script.fails = ({ projectId }) => (projectId === other ? 'unavailable' : undefined);
    await poll(10_000);
    expect(calls).toContain(`operations ${other}`);
    script.unavailableProjectIds = [];
    script.projectIds.push(other);
    await poll(MINUTE_MS);
    script.unavailableProjectIds = ['one-more-1'];
    await poll(MINUTE_MS);

    expect(calls).toContain('operations one-more-1');
    expect(events().map(({ type, project_id }) => [type, project_id])).toEqual([
      ['Project Discovered', 'one-more-1'],
    ]);
  });

  test('one sick project delays no other', async () => {
    const { script, poll, calls } = anAccount();
    script.projectIds.push(other);
    script.fails = ({ projectId }) => (projectId === other ? 'unavailable' : undefined);
    await poll(2 * MINUTE_MS);

    expect(calls.filter((call) => call === `operations ${PROJECT_ID}`).length).toBeGreaterThan(20);
  });
});

describe('a walk that is interrupted', () => {
  const walkLimits = { firstPageRows: 5, widePageRows: 10, pagesMax: 3, overlapMs: 5_000 };
  const published = (events: readonly Record<string, unknown>[]) =>
    new Set(events.map(({ operation_id }) => operation_id)).size;

  test('goes on from its cursor, poll by poll, until everything is read', async () => {
    const { script, poll, events, calls } = anAccount({ walkLimits });
    await poll(2 * MINUTE_MS);
    script.operations = manyOperations(100);
    await poll(3 * MINUTE_MS);

    expect(published(events())).toBe(100);
    expect(calls.filter((call) => call.includes('operation-')).length).toBeLessThan(15);
  });

  test('goes on in another process, and reads what is new first', async () => {
    const { script, poll, events } = anAccount({ walkLimits });
    script.operations = manyOperations(60);
    await poll(6_000);
    const before = published(events());
    script.operations = [anOperation({ id: 'newest', created_at: atSecond(70) }), ...script.operations];
    await poll(3 * MINUTE_MS, emptyAccountMemory());

    expect(before).toBeLessThan(60);
    expect(published(events())).toBe(61);
  });

  test('starts again at the head when its cursor is refused', async () => {
    const { script, poll, events } = anAccount({ walkLimits });
    script.operations = manyOperations(60);
    await poll(6_000);
    // With one more row, no page of a walk from the head ends where the old one stopped.
    script.operations = [anOperation({ id: 'newest', created_at: atSecond(70) }), ...script.operations];
    let refused: string | undefined;
    script.fails = ({ name, cursor }) => {
      if (name !== 'operations') return undefined;
      refused ??= cursor;
      return cursor !== undefined && cursor === refused ? 'rejected' : undefined;
    };
    await poll(5 * MINUTE_MS, emptyAccountMemory());

    expect(refused).toBeDefined();
    expect(published(events())).toBe(61);
  });
});

describe('the account', () => {
  test('stops at once on a rejected key, says so once, and says when it is over', async () => {
    const { script, poll, events, calls } = anAccount();
    await poll(10_000);
    script.fails = () => 'unauthorized';
    calls.length = 0;
    await poll(MINUTE_MS);
    await poll(MINUTE_MS);
    expect(calls.length).toBeLessThan(6);
    script.fails = () => undefined;
    script.hasAnotherKey = () => true;
    await poll(MINUTE_MS);

    expect(events().map(({ type, reason }) => [type, reason])).toEqual([
      ['Account Degraded', 'key_rejected'],
      ['Account Recovered', 'key_rejected'],
    ]);
  });

  test('notices a valid key within seconds, in the same invocation, and publishes both at once', async () => {
    const { script, begin, pass, deps, events, calls } = anAccount();
    const logged: string[] = [];
    Object.assign(deps(), {
      telemetry: { measure: () => {}, log: (_level: string, event: string) => void logged.push(event) },
    });
    const types = () => events().map(({ type }) => type);
    begin(MINUTE_MS);
    await pass(10_000);
    script.fails = () => 'unauthorized';
    await pass(8_000);
    expect(types()).toEqual(['Account Degraded']);
    calls.length = 0;
    await pass(12_000);
    expect(calls).toEqual([]);
    script.fails = () => undefined;
    script.hasAnotherKey = () => true;
    await pass(7_000);

    expect(types()).toEqual(['Account Degraded', 'Account Recovered']);
    expect(calls.length).toBeGreaterThan(0);
    expect(logged.filter((event) => event === 'key.rejected')).toHaveLength(1);
  });

  test('counts as answered once operations are read, however long the bus takes for them', async () => {
    const { script, poll, deps, memory } = anAccount();
    script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
    await poll(10_000);
    expect(memory().health.failingSinceMs).toBeDefined();
    script.fails = () => undefined;
    script.operations = [anOperation({ status: 'running', created_at: atSecond(1) })];
    const { bus } = deps();
    const failingSinceMs: unknown[] = [];
    const publish: typeof bus.publish = (events) => {
      if (events.some(({ detailType }) => detailType === 'Operation State Changed'))
        failingSinceMs.push(memory().health.failingSinceMs);
      return bus.publish(events);
    };
    Object.assign(deps(), { bus: { publish } });
    await poll(20_000);

    expect(failingSinceMs).toEqual([undefined]);
  });

  test('goes on when the table refuses to note a rejected key', async () => {
    const { script, begin, pass, deps, calls } = anAccount({ pollsAtOnce: 1 });
    const { store } = deps();
    let isThrottled = false;
    const readAccount: typeof store.readAccount = async () => {
      if (isThrottled) throw new Error('throttled');
      return store.readAccount();
    };
    Object.assign(deps(), { store: { ...store, readAccount } });
    begin(MINUTE_MS);
    await pass(10_000);
    isThrottled = true;
    script.fails = ({ name }) => (name === 'projects' ? 'unauthorized' : undefined);
    await pass(10_000);
    isThrottled = false;
    script.fails = () => undefined;
    script.hasAnotherKey = () => true;
    calls.length = 0;
    await pass(20_000);

    expect(calls.filter((call) => call.startsWith('operations'))).not.toEqual([]);
  });

  test('is degraded when nothing succeeded for long, and recovers', async () => {
    const { script, poll, events } = anAccount();
    await poll(10_000);
    script.fails = () => 'unavailable';
    await poll(MINUTE_MS);
    await poll(MINUTE_MS);
    script.fails = () => undefined;
    await poll(MINUTE_MS);

    expect(events().map(({ type, reason }) => [type, reason])).toEqual([
      ['Account Degraded', 'upstream_failing'],
      ['Account Recovered', 'upstream_failing'],
    ]);
  });

  test('leaves nothing running behind when it ends', async () => {
    const { poll, pass, calls } = anAccount();
    await poll(10_000);
    calls.length = 0;
    await pass(HOUR_MS);

    expect(calls).toEqual([]);
  });
});

describe('an operation that takes long', () => {
  test('is published as stalled once per threshold, and its chain of states goes on', async () => {
    const { script, poll, events } = anAccount();
    const slow = anOperation({ created_at: atSecond(1), status: 'running' });
    script.operations = [slow];

    await poll(90_000);
    await poll(60_000);
    script.operations = [{ ...slow, status: 'finished' }];
    await poll(20_000);

    const stalls = events().filter(({ type }) => type === 'Operation Stalled');
    const states = events().filter(({ type }) => type === 'Operation State Changed');
    expect(stalls.map(({ threshold_ms }) => threshold_ms)).toEqual([10_000, 100_000]);
    expect(states.map(({ sequence, status }) => [sequence, status])).toEqual([
      [1, 'running'],
      [2, 'finished'],
    ]);
  });
});

describe('a command', () => {
  const command = (operation_ids: readonly string[], deadlineSeconds: number) => ({
    kind: 'command' as const,
    account_id: 'main',
    project_id: PROJECT_ID,
    request_id: 'request-1',
    client_id: 'deployer',
    call: 'restartEndpoint',
    operation_ids,
    sent_at: atSecond(0),
    deadline_at_ms: START_MS + deadlineSeconds * 1_000,
    is_settled: false,
    revision: 0,
    published: 0,
    entries: [],
  });

  test('is settled by the poll that sees the last of its operations end, once', async () => {
    const { script, poll, events, record } = anAccount();
    const first = anOperation({ id: 'first', created_at: atSecond(1), status: 'finished' });
    const second = anOperation({ id: 'second', created_at: atSecond(2), status: 'running' });
    await record(command(['first', 'second'], 600));
    script.operations = [second, first];
    await poll(20_000);
    expect(events().map(({ type }) => type)).not.toContain('Command Settled');

    script.operations = [{ ...second, status: 'finished' }, first];
    await poll(30_000);

    const settled = events().filter(({ type }) => type === 'Command Settled');
    expect(settled).toMatchObject([{ outcome: 'succeeded', command: { client_id: 'deployer' } }]);
    const states = events().filter(({ type }) => type === 'Operation State Changed');
    expect(states.map((event) => event['command'])).toEqual(
      Array.from({ length: 3 }, () => ({ client_id: 'deployer', request_id: 'request-1' })),
    );
  });

  test('that comes last is settled within seconds, although nothing in its project has moved', async () => {
    const { script, deps, begin, pass, events, record } = anAccount();
    Object.assign(deps(), { limits: { ...deps().limits, workIntervalMs: 1_000 } });
    script.operations = [anOperation({ id: 'first', created_at: atSecond(1), status: 'finished' })];
    begin(60_000);
    await pass(30_000);
    await record(command(['first'], 600));
    await pass(3_000);

    expect(events()).toContainEqual(
      expect.objectContaining({ type: 'Command Settled', outcome: 'succeeded' }),
    );
  });

  test('whose project cannot be read any more is published at its deadline, with what is missing', async () => {
    const { script, poll, events, record } = anAccount();
    await poll(10_000);
    await record(command(['lost'], 30));
    script.projectIds = [];
    script.fails = ({ projectId }) => (projectId === undefined ? undefined : 'not_found');
    await poll(10_000);
    await poll(60_000);
    await poll(10_000);

    const settled = events().filter(({ type }) => type === 'Command Settled');
    expect(settled).toMatchObject([{ outcome: 'incomplete', missing: ['lost'], operations: [] }]);
  });

  const sent = {
    project_id: PROJECT_ID,
    request_id: 'request-1',
    client_id: 'deployer',
    call: 'restartEndpoint',
  };
  const started = [
    anOperation({ id: 'first', created_at: atSecond(1), status: 'running' }),
    anOperation({ id: 'second', created_at: atSecond(2), status: 'scheduling' }),
  ];
  const origin = { client_id: 'deployer', request_id: 'request-1' };

  test('makes its operations events at once, which the polls then go on with', async () => {
    const { script, poll, events, command: send } = anAccount();
    await poll(10_000);
    await send(sent, started);
    expect(events()).toMatchObject([
      { operation_id: 'first', sequence: 1, previous_status: null, observed_by: 'command', command: origin },
      { operation_id: 'second', sequence: 1, previous_status: null, observed_by: 'command', command: origin },
    ]);

    script.operations = started.map((operation) => ({ ...operation, status: 'finished' })).toReversed();
    await poll(20_000);

    const states = events().filter(({ type }) => type === 'Operation State Changed');
    const ended = states
      .slice(2)
      .toSorted((a, b) => String(a['operation_id']).localeCompare(String(b['operation_id'])));
    expect(ended).toMatchObject([
      {
        sequence: 2,
        previous_status: 'running',
        status: 'finished',
        observed_by: 'poll',
        command: origin,
      },
      {
        sequence: 2,
        previous_status: 'scheduling',
        status: 'finished',
        observed_by: 'poll',
        command: origin,
      },
    ]);
    const settled = events().filter(({ type }) => type === 'Command Settled');
    expect(settled).toMatchObject([{ outcome: 'succeeded', call: 'restartEndpoint', command: origin }]);
  });

  test('whose operations a poll saw first takes nothing back that the poll has seen', async () => {
    const { script, poll, events, command: send } = anAccount();
    script.operations = started.map((operation) => ({ ...operation, status: 'finished' })).toReversed();
    await poll(10_000);
    const before = events().length;
    await send(sent, started);

    expect(events().slice(before)).toMatchObject([{ type: 'Command Settled', outcome: 'succeeded' }]);
  });

  test('that started nothing has come to its end, which is published at once', async () => {
    const { events, command: send } = anAccount();
    await send(sent, []);

    expect(events()).toMatchObject([{ type: 'Command Settled', outcome: 'succeeded', command: origin }]);
  });
});
