import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventCatalog, operationStateChanged } from '../../shared/events/catalog.ts';
import { matchesEventPattern, parseEventPattern } from '../../shared/events/event-pattern.ts';
import {
  defaultName,
  faultsOf,
  isSubscriptionName,
  SUBJECT_NAMES,
  type Subscription,
  subjectOf,
  subscriptionPattern,
  subscriptionSummary,
} from '../../shared/events/subscription/subscription.ts';
import { isTerminal } from '../../shared/records/operation-record.ts';
import { aSubscription, subscriptions, TARGETS } from './subscriptions.ts';

interface Envelope {
  readonly source?: string;
  readonly 'replay-name'?: string;
  readonly resources?: readonly string[];
}

/** Judges an event as EventBridge delivers it, which has an empty list of resources when nothing was given. */
function matches(subscription: Subscription, type: string, detail: object, envelope: Envelope = {}): boolean {
  const pattern = parseEventPattern(subscriptionPattern(subscription));
  const event = { source: 'operations-bridge', 'detail-type': type, resources: [], detail, ...envelope };
  return matchesEventPattern(pattern, event);
}

const change = (fields: object) => ({ ...operationStateChanged.example, ...fields });
const isFailure = (fields: object, type = 'Operation State Changed') =>
  matches(aSubscription(), type, change(fields));

describe('failures', () => {
  test.each([
    [{ status: 'failed', new_failures: 1 }],
    [{ status: 'running', new_failures: 1 }],
    [{ status: 'finished', new_failures: 2 }],
    [{ status: 'error', new_failures: 0 }],
  ])('are events with a new failed attempt, and ends with an error: %j', (fields) => {
    expect(isFailure(fields)).toBe(true);
  });

  test.each([
    [{ status: 'failed', new_failures: 0, failures_count: 3 }],
    [{ status: 'running', new_failures: 0 }],
    [{ status: 'finished', new_failures: 0, failures_count: 2 }],
    [{ status: 'cancelled', new_failures: 0 }],
  ])('are no events without a new failed attempt: %j', (fields) => {
    expect(isFailure(fields)).toBe(false);
  });

  test.each(['Operation Watch Ended', 'Operation Stalled', 'Command Settled'])(
    'are events of one detail type, and never %s',
    (type) => {
      expect(isFailure({ status: 'error', new_failures: 1 }, type)).toBe(false);
    },
  );
});

describe('the pattern of', () => {
  const real = SUBJECT_NAMES.flatMap((subject) =>
    eventCatalog.map(({ detailType, example }) => ({ subject, detailType, example })),
  );

  test.each(real)('$subject takes the sample of $detailType only if it asks for it', (row) => {
    const { detailTypes } = subjectOf(row.subject);
    const isAskedFor = detailTypes.length === 0 || detailTypes.includes(row.detailType);
    const isSpecial = row.subject === 'failures';

    expect(matches(aSubscription({ subject: row.subject }), row.detailType, row.example)).toBe(
      isAskedFor && !isSpecial,
    );
  });

  test.each(SUBJECT_NAMES)('%s filters by fields that all of its events have', (subject) => {
    const { detailTypes, hasProject, hasAction, statusField } = subjectOf(subject);
    const filters = [hasProject && 'project_id', hasAction && 'action', statusField, 'account_id'];
    const wanted = filters.filter((field) => typeof field === 'string');
    const shapes = eventCatalog
      .filter(({ detailType }) => detailTypes.includes(detailType))
      .map(({ detail }) => Object.keys(detail.shape));

    expect(shapes).toHaveLength(detailTypes.length);
    for (const shape of shapes) expect(shape).toEqual(expect.arrayContaining(wanted));
  });

  test('ended operations takes every terminal status and no other', () => {
    const statuses = subjectOf('endedOperations').statuses ?? [];

    expect(statuses.filter((status) => !isTerminal(status))).toEqual([]);
    for (const status of ['finished', 'skipped', 'cancelled', 'error', 'failed', 'running'])
      expect(statuses.includes(status)).toBe(isTerminal(status));
  });

  test('a subscription without replays leaves out what the archive and the table send again', () => {
    const failed = change({ status: 'failed', new_failures: 1 });
    const judge = (replays: Subscription['replays'], envelope: Envelope) =>
      matches(aSubscription({ replays }), 'Operation State Changed', failed, envelope);
    const [fromArchive, fromTable] = [{ 'replay-name': 'backfill-1' }, { resources: ['a-replay'] }];

    expect([{}, fromArchive, fromTable].map((each) => judge('included', each))).toEqual([true, true, true]);
    expect([{}, fromArchive, fromTable].map((each) => judge('left_out', each))).toEqual([true, false, false]);
  });

  test('no subscription takes samples that were sent for a test', () => {
    const sample = { source: 'operations-bridge.test' };

    expect(
      matches(aSubscription({ subject: 'everything' }), 'Operation State Changed', change({}), sample),
    ).toBe(false);
  });

  test('a subscription agrees with what its words mean, for every filter', () => {
    const events = fc.record({
      account_id: fc.constantFrom('main', 'other'),
      project_id: fc.constantFrom('a-1', 'b-2'),
      action: fc.constantFrom('create_branch', 'start_compute'),
      status: fc.constantFrom('running', 'failed', 'finished', 'error', 'of_the_future'),
      new_failures: fc.integer({ min: 0, max: 2 }),
    });
    const some = (...all: readonly string[]) => fc.subarray([...all]);
    const asked = fc.record({
      subject: fc.constantFrom('failures' as const, 'endedOperations' as const, 'operations' as const),
      accounts: some('main', 'other'),
      projects: some('a-1', 'b-2', 'c-3'),
      actions: some('create_branch', 'start_compute'),
      statuses: some('finished', 'error'),
    });
    const allows = (filter: readonly string[], value: string) =>
      filter.length === 0 || filter.includes(value);

    fc.assert(
      fc.property(asked, events, ({ statuses, ...filters }, event) => {
        const subscription = aSubscription({
          ...filters,
          statuses: filters.subject === 'failures' ? [] : statuses,
        });
        const terminal = isTerminal(event.status);
        const meant = {
          failures: event.new_failures > 0 || event.status === 'error',
          endedOperations: terminal,
          operations: true,
        }[filters.subject];
        const expected =
          meant &&
          allows(subscription.statuses, event.status) &&
          allows(subscription.accounts, event.account_id) &&
          allows(subscription.projects, event.project_id) &&
          allows(subscription.actions, event.action);

        expect(faultsOf(subscription)).toEqual([]);
        expect(matches(subscription, 'Operation State Changed', change({ ...event, terminal }))).toBe(
          expected,
        );
      }),
    );
  });

  test('every usable subscription is one that EventBridge accepts', () => {
    fc.assert(
      fc.property(subscriptions, (subscription) => {
        expect(() => parseEventPattern(subscriptionPattern(subscription))).not.toThrow();
      }),
    );
  });
});

describe('a subscription is refused when', () => {
  test.each<[string, Partial<Subscription>, RegExp]>([
    ['its events have no project', { subject: 'accountHealth', projects: ['a-1'] }, /have no project; leave/],
    ['its events have no action', { subject: 'readyBranches', actions: ['x'] }, /have no action; leave/],
    ['its events have no status', { subject: 'readyBranches', statuses: ['x'] }, /have no status; leave/],
    ['it asks for failures by status', { statuses: ['failed'] }, /decides by itself.*or choose "operations"/],
    [
      'no event has the status',
      { subject: 'endedOperations', statuses: ['finished', 'failed'] },
      /^No event of "ended" has the status "failed"; its events have finished, skipped, cancelled, error\./,
    ],
    ['a value is empty', { projects: [''] }, /^"" is no value of a field/],
    ['a value has a line break', { projects: ['a\nb'] }, /^"a\\nb" is no value of a field/],
    [
      'EventBridge would refuse the length of its pattern',
      { projects: Array.from({ length: 100 }, (_, index) => `solitary-cell-5820${index}`) },
      /^The pattern has 2\d{3} characters, and EventBridge accepts 2048 by default; name fewer projects/,
    ],
  ])('%s', (_why, fields, sentence) => {
    const faults = faultsOf(aSubscription(fields));

    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(sentence);
  });
});

test('every default name is one that a subscription may have', () => {
  const filtered = SUBJECT_NAMES.flatMap((subject) => TARGETS.map((target) => ({ subject, target }))).map(
    ({ subject, target }) =>
      defaultName(subject, subscriptionPattern(aSubscription({ subject, accounts: ['main'] })), target),
  );

  expect(filtered.filter((name) => !isSubscriptionName(name))).toEqual([]);
  expect(new Set(filtered).size).toBe(SUBJECT_NAMES.length * TARGETS.length);
});

test('the summary names what is delivered, where from, and where to', () => {
  const subscription = aSubscription({
    subject: 'settledCommands',
    projects: ['a-1', 'b-2', 'c-3'],
    statuses: ['failed'],
    replays: 'left_out',
  });

  expect(subscriptionSummary(subscription, 'email')).toBe(
    'Delivers each command through the bridge that has come to its end, where project is a-1, b-2 or c-3 and outcome is failed, to an e-mail address, through a new SNS topic. Replays are left out.',
  );
});
