/** Tests what the console decides: what needs a person, how the list of projects is chosen, and what a search finds. */

import { describe, expect, test } from 'vitest';
import { axisTop } from '../../functions/api/console/html/charts.ts';
import { unreadWords } from '../../functions/api/console/pages/account-page.ts';
import {
  chosenRows,
  type ProjectFacts,
  projectRows,
} from '../../functions/api/console/pages/account-state.ts';
import { verdictOf } from '../../functions/api/console/pages/overview-page.ts';
import { MATCHES_PER_KIND_MAX, searchMatches } from '../../functions/api/console/pages/search-page.ts';
import {
  concernOf,
  groupTroubles,
  isProduction,
  needsPerson,
  troubleOf,
} from '../../functions/api/console/pages/troubles.ts';
import { settledAmong } from '../../functions/api/read-model/account-activity.ts';
import { decideNextRecord, type OperationRecord } from '../../shared/records/operation-record.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';

function aRecord(
  fields: Parameters<typeof anOperation>[0] = {},
  more: Partial<OperationRecord> = {},
): OperationRecord {
  const record = decideNextRecord(undefined, anOperation(fields), { ...aContext(), nowMs: NOON_MS });
  if (record === undefined) throw new Error('A first reading is always recorded');
  return { ...record, ...more };
}

const minutesAgo = (minutes: number) => new Date(NOON_MS - minutes * 60_000).toISOString();
const failed = (failures_count: number, minutes: number) =>
  ({ status: 'failed', failures_count, updated_at: minutesAgo(minutes) }) as const;

describe('the trouble of an operation', () => {
  test.each([
    ['nothing, while it runs', aRecord({ status: 'running' }), undefined],
    ['nothing, when it has recovered', aRecord({ status: 'finished', failures_count: 5 }), undefined],
    ['failing, for five minutes after its first failure', aRecord(failed(1, 5)), 'failing'],
    ['failing, while it is tried again', aRecord({ status: 'running', failures_count: 1 }), 'failing'],
    ['lasting, when it has not recovered in five minutes', aRecord(failed(2, 6)), 'lasting'],
    ['repeated, from its third failure', aRecord(failed(3, 0)), 'repeated'],
    ['stalled', aRecord({ status: 'running' }, { stalled_threshold_ms: 60_000 }), 'stalled'],
    ['given up', aRecord({ status: 'error' }), 'given_up'],
    ['given up, when it was not retried', aRecord(failed(1, 0), { watch_ended: true }), 'given_up'],
    [
      'nothing, when it vanished while it ran',
      aRecord({ status: 'running' }, { watch_ended: true }),
      undefined,
    ],
  ])('is %s', (_name, record, trouble) => {
    expect(troubleOf(record, NOON_MS)).toBe(trouble);
    expect(needsPerson(trouble as never)).toBe(trouble !== undefined && trouble !== 'failing');
  });

  test('is shown once for each project and action, under the gravest of its kinds: the gravest first', () => {
    const groups = groupTroubles(
      [
        aRecord({ id: 'a1', project_id: 'a', action: 'start_compute', ...failed(1, 4) }),
        aRecord({ id: 'b1', project_id: 'b', action: 'start_compute', ...failed(1, 2) }),
        aRecord({ id: 'a2', project_id: 'a', action: 'start_compute', ...failed(4, 9) }),
        aRecord({ id: 'a3', project_id: 'a', action: 'apply_config', status: 'finished' }),
      ],
      NOON_MS,
    );

    expect(groups.map(({ project_id, trouble }) => [project_id, trouble])).toEqual([
      ['a', 'repeated'],
      ['b', 'failing'],
    ]);
    expect(groups[0]?.operations.map(({ operation_id }) => operation_id)).toEqual(['a1', 'a2']);
  });
});

test('of the same severity, production comes first, and then what changed last', () => {
  const groups = groupTroubles(
    [
      aRecord({ id: 'a', project_id: 'a', status: 'error', updated_at: minutesAgo(1) }),
      aRecord({ id: 'b', project_id: 'b', status: 'error', updated_at: minutesAgo(2) }),
      aRecord({ id: 'c', project_id: 'c', status: 'error', updated_at: minutesAgo(9) }),
      aRecord({ id: 'd', project_id: 'd', ...failed(3, 0) }),
    ],
    NOON_MS,
    (id) => id === 'c' || id === 'd',
  );

  expect(groups.map(({ project_id }) => project_id)).toEqual(['c', 'a', 'b', 'd']);
});

test.each([
  ['by its name', undefined, 'billing-Production', true],
  ['by its name', undefined, 'billing-staging', false],
  ['by the label of the alert policy', { project_names: ['*-live'] }, 'shop-live', true],
  ['by the label alone, where there is one', { project_names: ['*-live'] }, 'shop-production', false],
])('a project is production %s', (_how, label, project_name, expected) => {
  expect(isProduction(label, { account_id: 'main', project_id: 'a', project_name })).toBe(expected);
});

describe('a failure is settled', () => {
  const compute = { action: 'start_compute', endpoint_id: 'ep-a', branch_id: 'br-a' };
  const failure = aRecord({ id: 'f', ...compute, status: 'error', created_at: minutesAgo(60) });
  const later = { ...compute, id: 'l', status: 'finished', created_at: minutesAgo(30) };
  const command = { client_id: 'amira', request_id: 'r' };
  const success = aRecord(later);

  test.each([
    ['by a later success of the same action on the same object', success, true],
    ['not by an earlier one', aRecord({ ...later, created_at: minutesAgo(61) }), false],
    ['not by another action', aRecord({ ...later, action: 'apply_config' }), false],
    ['not by a success on another object', aRecord({ ...later, endpoint_id: 'ep-b' }), false],
    ['not by one in another project', aRecord({ ...later, project_id: 'another' }), false],
    ['not by one that was skipped', aRecord({ ...later, status: 'skipped' }), false],
    ['not by one that only runs', aRecord({ ...later, status: 'running' }), false],
    [
      'by a command that asked for the same again',
      aRecord({ ...later, status: 'running' }, { command }),
      true,
    ],
  ])('%s', (_name, other, isSettled) => {
    expect([...settledAmong([failure], [other]).values()]).toEqual(isSettled ? [other] : []);
  });

  test('on a branch when it has no compute', () => {
    const { endpoint_id: _, ...branch } = compute;
    const without = (id: string, status: string, minutes: number) =>
      aRecord({ ...branch, id, status, created_at: minutesAgo(minutes), endpoint_id: undefined as never });
    const other = aRecord({ ...later, endpoint_id: undefined as never, branch_id: 'br-b' });

    expect(settledAmong([without('f', 'error', 9)], [without('l', 'finished', 3)]).size).toBe(1);
    expect(settledAmong([without('f', 'error', 60)], [other]).size).toBe(0);
  });
});

const acknowledged = { at: minutesAgo(1), client_id: 'amira' };

test.each([
  ['failing', 'failing', { mute: undefined, acknowledged: undefined }],
  ['failing', 'failing', { mute: undefined, acknowledged }],
  ['repeated', 'needs a person', { mute: undefined, acknowledged: undefined }],
  ['repeated', 'acknowledged', { mute: undefined, acknowledged }],
] as const)(
  'what is %s counts as: %s, by whether a person has acknowledged it',
  (trouble, concern, held_back) => {
    expect(concernOf({ trouble, held_back })).toBe(concern);
  },
);

describe('the list of projects', () => {
  const facts: ProjectFacts = {
    ids: ['a', 'b', 'c', 'd', 'e', 'f'],
    names: new Map([
      ['a', 'shop 10'],
      ['b', 'shop 2'],
    ]),
    changes: {
      back_to: undefined,
      records: [
        { kind: 'operation', projectId: 'c', id: 'x', changed_at: '2026-01-15T11:59:00Z' },
        { kind: 'operation', projectId: 'a', id: 'y', changed_at: '2026-01-15T11:58:00Z' },
        { kind: 'operation', projectId: 'c', id: 'z', changed_at: '2026-01-15T11:57:00Z' },
      ],
    },
    hours: [1, 2].map((failed_count) => ({
      hour: '2026-01-15T11' as never,
      counts: {
        started_count: 0,
        failed_count,
        failing: new Map([['b', { failed_count, operation_id: 'x' }]]),
      },
    })),
    troubles: groupTroubles(
      [
        aRecord({ project_id: 'a', ...failed(3, 0) }),
        aRecord({ project_id: 'a', action: 'create_branch', ...failed(3, 0) }),
        aRecord({ project_id: 'b', ...failed(1, 0) }),
        aRecord({ project_id: 'e', ...failed(3, 0) }),
        aRecord({ project_id: 'e', action: 'create_branch', ...failed(1, 0) }),
      ],
      NOON_MS,
    ).map((group) => ({
      ...group,
      held_back: {
        mute: undefined,
        incident_id: 'i',
        // Of the two troubles of `a`, one is acknowledged.
        acknowledged: group.project_id === 'e' || group.action === 'create_branch' ? acknowledged : undefined,
      },
    })),
    running: new Set(['a', 'c']),
    failing: new Set(['d', 'b', 'f']),
    neverRead: new Set(['f', 'a']),
  };
  const rows = projectRows(facts);
  const idsOf = (filter: Partial<Parameters<typeof chosenRows>[1]>) =>
    chosenRows(rows, { text: '', state: undefined, order: 'activity', ...filter }).map(
      ({ project_id }) => project_id,
    );

  test('gives each project the gravest of its states, and says apart where something runs', () => {
    expect(rows.map(({ state }) => state)).toEqual([
      'needs a person',
      'cannot be read',
      'healthy',
      'cannot be read',
      'acknowledged',
      'not read yet',
    ]);
    expect(idsOf({ state: 'running', order: 'name' })).toEqual(['c', 'a']);
  });

  test('knows the latest change and the failures of all hours', () => {
    expect(rows[2]).toMatchObject({ changed_at: '2026-01-15T11:59:00Z', failed_count: 0 });
    expect(rows[1]).toMatchObject({ changed_at: undefined, failed_count: 3 });
  });

  test('is sorted by activity, failures or name, and filtered by state and by a part of name or id', () => {
    expect(idsOf({})).toEqual(['c', 'a', 'd', 'e', 'f', 'b']);
    expect(idsOf({ order: 'failures' })[0]).toBe('b');
    expect(idsOf({ order: 'name' })).toEqual(['c', 'd', 'e', 'f', 'b', 'a']);
    expect(idsOf({ state: 'cannot be read' })).toEqual(['d', 'b']);
    expect(idsOf({ text: ' SHOP ' })).toEqual(['a', 'b']);
    expect(idsOf({ text: 'e' })).toEqual(['e']);
  });
});

test.each([
  ['a first reading', true, true],
  ['on time', true, false],
  ['late', false, true],
  ['late', false, false],
] as const)(
  'the overview speaks of %s where healthy is %s and isFirstReading %s',
  (verdict, healthy, isFirst) => {
    const word = verdict.replace('a ', '').replace(' ', '_');
    expect(verdictOf({ healthy, state: 'active' }, isFirst)).toBe(word);
  },
);

test('the overview says that an account is paused, unless something else is wrong', () => {
  expect(verdictOf({ healthy: true, state: 'paused' }, true)).toBe('paused');
  expect(verdictOf({ healthy: false, state: 'paused' }, true)).toBe('late');
});

test('the reason why a project is not read is said in words, and a reason of a newer poller as it is', () => {
  expect(unreadWords('unfinished')).toBe('it has more pages than one reading takes, and is read on');
  expect(unreadWords('rate_limited')).toBe('the upstream refuses more requests for now');
  expect(unreadWords('toString')).toBe('toString');
});

describe('a search', () => {
  const projects = [
    { project_id: 'icy-hat-1', name: 'shop', labels: ['live'] },
    { project_id: 'icy-sky-2', name: 'shop', labels: [] },
  ];
  const records = Array.from({ length: 30 }, (_, index) => ({
    kind: 'operation' as const,
    projectId: 'icy-hat-1',
    id: `op-${index}`,
    changed_at: '2026-01-15T11:59:00Z',
  }));

  test('leads on only when the text is the whole id or name of one thing', () => {
    expect(searchMatches('op-7', projects, records).exact).toMatchObject({ id: 'op-7' });
    expect(searchMatches('ICY-SKY-2', projects, records).exact).toMatchObject({ project_id: 'icy-sky-2' });
    expect(searchMatches('shop', projects, records)).toMatchObject({ exact: undefined, projects });
  });

  test('shows a bounded number of each kind, and nothing for a text that is too short', () => {
    expect(searchMatches('op-', projects, records).records).toHaveLength(MATCHES_PER_KIND_MAX);
    expect(searchMatches('o', projects, records)).toEqual({ projects: [], records: [], exact: undefined });
  });
});

test.each([
  [0, 4],
  [4, 4],
  [5, 5],
  [9, 10],
  [10, 10],
  [11, 20],
  [41, 50],
  [81, 100],
  [1_001, 2_000],
])('the axis of a chart with %d ends at %d', (value, top) => {
  expect(axisTop(value)).toBe(top);
});
