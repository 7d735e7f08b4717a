import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { entriesOf } from '../../shared/records/journal-entries.ts';

const operationEntry = z.discriminatedUnion('type', entriesOf.operation);
const [projectSeenEntry] = entriesOf.project;
const [accountHealthEntry, accountWatchedEntry] = entriesOf.account;
const [commandSettledEntry] = entriesOf.command;
const [branchEntry] = entriesOf.branch;
const [computeChangedEntry] = entriesOf.compute;

const every = { id: 'event-1', revision: 1, observed_at: '2026-01-15T12:00:00.000Z' };

const stateChanged = {
  ...every,
  type: 'state_changed',
  sequence: 1,
  previous_status: null,
  status: 'running',
  failures_count: 0,
  new_failures: 0,
  operation_updated_at: '2026-01-15T11:59:59Z',
  observed_by: 'poll',
};
const stalled = {
  ...every,
  type: 'operation_stalled',
  status: 'running',
  failures_count: 0,
  open_ms: 700_000,
  threshold_ms: 600_000,
};
const watchEnded = {
  ...every,
  type: 'watch_ended',
  reason: 'vanished',
  status: 'running',
  failures_count: 0,
};
const projectSeen = { ...every, type: 'project_discovered' };
const health = { ...every, type: 'account_degraded', reason: 'key_rejected' };
const operation = { operation_id: 'a', action: 'start_compute', status: 'finished', failures_count: 0 };
const settled = {
  ...every,
  type: 'command_settled',
  outcome: 'succeeded',
  operations: [operation],
  missing: ['b'],
};
const watched = { ...every, type: 'account_watched', project_count: 12, failing_count: 0 };
const branchChanged = { ...every, type: 'branch_ready', operations: [operation], endpoint_ids: ['ep-1'] };
const computeChanged = {
  ...every,
  type: 'compute_state_changed',
  sequence: 1,
  state: 'active',
  previous_state: null,
  operation_id: 'a',
  action: 'start_compute',
  operation_updated_at: '2026-01-15T11:59:59Z',
};

const samples = [
  ['a State Changed', operationEntry, stateChanged],
  ['a stall', operationEntry, stalled],
  ['the end of a watch', operationEntry, watchEnded],
  ['a sight of a project', projectSeenEntry, projectSeen],
  ['the health of an account', accountHealthEntry, health],
  ['the end of a command', commandSettledEntry, settled],
  ['the first sight of an account', accountWatchedEntry, watched],
  ['the readiness of a branch', branchEntry, branchChanged],
  ['the state of a compute', computeChangedEntry, computeChanged],
] as const;

describe.each(samples)('a stored entry of %s', (_name, schema, sample) => {
  const parses = (fields: Readonly<Record<string, unknown>>) =>
    schema.safeParse({ ...sample, ...fields }).success;

  test('is read as it was written', () => {
    expect(schema.parse(sample)).toEqual(sample);
  });

  test.each(Object.keys(sample))('cannot be read without its %s, nor with another type of it', (name) => {
    const { [name]: _left, ...rest } = sample as Readonly<Record<string, unknown>>;

    expect(schema.safeParse(rest).success).toBe(false);
    expect(parses({ [name]: { of: 'a newer version' } })).toBe(false);
  });

  test('cannot be read with a type that this version does not know', () => {
    expect(parses({ type: 'something_new' })).toBe(false);
    expect(parses({ type: '' })).toBe(false);
  });

  test('has a revision from one on, in whole numbers', () => {
    expect(parses({ revision: 0 })).toBe(false);
    expect(parses({ revision: 1.5 })).toBe(false);
    expect(parses({ revision: 7 })).toBe(true);
  });

  test('has a time that can be read', () => {
    expect(parses({ observed_at: 'soon' })).toBe(false);
  });
});

describe('a stored State Changed', () => {
  const parses = (fields: Readonly<Record<string, unknown>>) =>
    operationEntry.safeParse({ ...stateChanged, ...fields }).success;

  test.each(['poll', 'command', 'backfill', 'sweep'])('may have been observed by a %s', (observed_by) => {
    expect(parses({ observed_by })).toBe(true);
  });

  test('is observed by nothing else', () => {
    expect(parses({ observed_by: '' })).toBe(false);
    expect(parses({ observed_by: 'chance' })).toBe(false);
  });

  test('may say more: duration, error, command, that it is late or irregular, or ends a stall', () => {
    const more = {
      total_duration_ms: 12.5,
      error: 'it broke',
      late: true,
      irregular: true,
      was_stalled: true,
      command: { client_id: 'an-app', request_id: 'request-1' },
      previous_status: 'scheduling',
    };

    expect(operationEntry.parse({ ...stateChanged, ...more })).toEqual({ ...stateChanged, ...more });
    expect(parses({ late: false })).toBe(false);
    expect(parses({ irregular: false })).toBe(false);
    expect(parses({ was_stalled: false })).toBe(false);
    expect(parses({ total_duration_ms: 'long' })).toBe(false);
    expect(parses({ error: 1 })).toBe(false);
    expect(parses({ command: { client_id: 'an-app' } })).toBe(false);
    expect(parses({ command: { request_id: 'request-1' } })).toBe(false);
  });

  test('has a sequence from one on, in whole numbers', () => {
    expect(parses({ sequence: 0 })).toBe(false);
    expect(parses({ sequence: 1.5 })).toBe(false);
  });
});

describe('a stored stall', () => {
  const usual = { basis: 'project', operation_count: 20, p50_ms: 900, p95_ms: 2_000.5, p99_ms: 4_000 };

  test.each(['project', 'account'])('may name the usual duration in its %s on which it rests', (basis) => {
    const entry = { ...stalled, usual_duration: { ...usual, basis } };

    expect(operationEntry.parse(entry)).toEqual(entry);
  });

  test.each(Object.keys(usual))('names that usual duration wholly, with its %s', (name) => {
    const { [name]: _left, ...rest } = usual as Readonly<Record<string, unknown>>;
    const parses = (usual_duration: unknown) =>
      operationEntry.safeParse({ ...stalled, usual_duration }).success;

    expect(parses(rest)).toBe(false);
    expect(parses({ ...usual, [name]: '' })).toBe(false);
  });
});

describe('the words of stored entries', () => {
  test.each([
    [operationEntry, watchEnded, 'reason', ['vanished', 'not_retried']],
    [projectSeenEntry, projectSeen, 'reason', ['gone', 'not_read', undefined]],
    [projectSeenEntry, projectSeen, 'type', ['project_discovered', 'project_unreachable']],
    [accountHealthEntry, health, 'reason', ['key_rejected', 'upstream_failing']],
    [accountHealthEntry, health, 'type', ['account_degraded', 'account_recovered']],
    [commandSettledEntry, settled, 'outcome', ['succeeded', 'failed', 'incomplete']],
    [branchEntry, branchChanged, 'type', ['branch_ready', 'branch_failed']],
    [computeChangedEntry, computeChanged, 'state', ['active', 'idle']],
    [computeChangedEntry, computeChanged, 'previous_state', ['active', 'idle', null]],
    [
      computeChangedEntry,
      computeChanged,
      'reason',
      ['started', 'restarted', 'configured', 'suspended', 'inactivity', undefined],
    ],
  ] as const)('are those that this version knows (%#)', (schema, sample, name, words) => {
    for (const word of words) expect(schema.safeParse({ ...sample, [name]: word }).success).toBe(true);
    for (const word of ['', 'something_new'])
      expect(schema.safeParse({ ...sample, [name]: word }).success).toBe(false);
  });

  test('name each operation of a command wholly', () => {
    for (const name of Object.keys(operation)) {
      const { [name]: _left, ...rest } = operation as Readonly<Record<string, unknown>>;
      expect(commandSettledEntry.safeParse({ ...settled, operations: [rest] }).success).toBe(false);
    }
    expect(commandSettledEntry.safeParse({ ...settled, missing: [1] }).success).toBe(false);
    expect(commandSettledEntry.parse({ ...settled, operations: [], missing: [] })).toMatchObject({
      missing: [],
    });
  });
});
