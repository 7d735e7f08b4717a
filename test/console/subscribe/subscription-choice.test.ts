/** Tests what the subscribe page decides: what people mean, what the address says, and the event that tries a rule. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  choiceOf,
  chosenSubscription,
  queryOfChoice,
  subjectOfFilter,
  testEventFor,
} from '../../../functions/api/console/pages/subscription.ts';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import { EVENT_SOURCE, TEST_EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import { matchesEventPattern, parseEventPattern } from '../../../shared/events/event-pattern.ts';
import {
  FILE_FORMS,
  SUBJECT_NAMES,
  subjectOf,
  TARGET_KINDS,
} from '../../../shared/events/subscription/subscription.ts';

const choice = (query: string) => choiceOf(new URLSearchParams(query), 'main');
const chosen = (query: string) => chosenSubscription(choice(query), 'operations-bridge');
const FACTS = { id: '5f0c7d1f2be94f3aa6a1c9b1f7a0e3d2', observedAt: '2026-01-15T12:00:00.000Z' };

describe('people who come from a filter of the events mean', () => {
  test.each([
    [{ status: 'failed' }, 'failures', []],
    [{ status: 'failed', detail_type: 'Operation State Changed' }, 'failures', []],
    [{ status: 'finished' }, 'operations', ['finished']],
    [{ detail_type: 'Operation State Changed' }, 'operations', []],
    [{ detail_type: 'Branch Ready' }, 'readyBranches', []],
    [{ detail_type: 'Command Settled', status: 'failed' }, 'settledCommands', []],
    [{ detail_type: 'Account Recovered' }, 'accountHealth', []],
    [{}, 'failures', []],
  ])('with %j: %s', (filter, subject, statuses) => {
    expect(subjectOfFilter(filter)).toEqual({ subject, statuses, isWider: false });
  });

  test.each(['Project Discovered', 'An Event Of The Future'])(
    'with %s every event, and are told that it is more than they asked for',
    (detail_type) => {
      expect(subjectOfFilter({ detail_type })).toEqual({
        subject: 'everything',
        statuses: [],
        isWider: true,
      });
    },
  );
});

describe('the address of the page', () => {
  test('keeps the whole choice', () => {
    const choices = fc.record({
      subject: fc.constantFrom(...SUBJECT_NAMES),
      target: fc.constantFrom(...Object.keys(TARGET_KINDS)),
      form: fc.constantFrom(...Object.keys(FILE_FORMS)),
      project: fc.constantFrom('', 'a-project-1', 'a-project-1, b-project-2'),
      status: fc.constantFrom('', 'failed'),
      flags: fc.subarray(['own_account', 'no_replays', 'tests']),
    });
    fc.assert(
      fc.property(choices, ({ flags, ...fields }) => {
        const asked = new URLSearchParams({ ...fields, name: 'my-rule', action: 'start_compute' });
        for (const flag of flags) asked.set(flag, 'on');
        const read = choiceOf(asked, 'main');

        expect(choice(queryOfChoice(read))).toEqual(read);
        expect([read.subscription.subject, read.name]).toEqual([fields.subject, 'my-rule']);
      }),
    );
  });

  test('takes several values, separated by commas or spaces, each once', () => {
    expect(choice('subject=operations&project=a-1%2C+b-2++a-1').subscription.projects).toEqual([
      'a-1',
      'b-2',
    ]);
  });

  test.each([
    'subject=constructor',
    'subject=failures&target=__proto__&form=toString',
    'subject=failures&name=%22%3E%3Cscript%3E',
    'subject=failures&name=a%0Ab',
  ])('that cannot be read gives the defaults: %s', (query) => {
    expect(choice(query)).toMatchObject({
      subscription: { subject: 'failures' },
      target: 'sqs',
      form: 'cloudformation',
      name: expect.stringMatching(/^failures-sqs(?:-[0-9a-f]{8})?$/),
    });
  });

  test('names the rule after all that is chosen, test events included, unless a name is given', () => {
    const names = ['', '&project=a-1', '&project=b-2', '&tests=on', '&target=email'].map(
      (rest) => choice(`subject=failures&name=${rest}`).name,
    );

    expect(new Set(names).size).toBe(names.length);
    expect(choice('subject=failures&name=mine&project=a-1').name).toBe('mine');
  });
});

describe('a subscription', () => {
  test('takes test events only if the box is ticked', () => {
    const sourcesOf = (query: string) => {
      const found = chosen(query);
      return found.kind === 'usable' ? found.pattern['source'] : undefined;
    };

    expect(sourcesOf('subject=failures')).toEqual([EVENT_SOURCE]);
    expect(sourcesOf('subject=failures&tests=on')).toEqual([EVENT_SOURCE, TEST_EVENT_SOURCE]);
  });

  test('that cannot work has no file, but sentences that say what to change', () => {
    expect(chosen('subject=accountHealth&project=a-1')).toEqual({
      kind: 'faulty',
      faults: [expect.stringContaining('leave the filter by project out')],
    });
  });

  test('with a name of the bridge itself has no file', () => {
    expect(chosen('subject=failures&name=commands')).toEqual({
      kind: 'faulty',
      faults: [expect.stringContaining('choose another name')],
    });
  });

  test('whose pattern would be too long for EventBridge has no file', () => {
    const projects = Array.from({ length: 99 }, (_, place) => `a-long-name-of-a-project-${place}`).join(',');

    expect(chosen(`subject=failures&project=${projects}`)).toEqual({
      kind: 'faulty',
      faults: [expect.stringContaining('name fewer projects')],
    });
  });

  test('that fits only without test events says so, and every other one fits into EventBridge', () => {
    const lengths = Array.from(
      { length: 60 },
      (_, count) =>
        `subject=failures&project=${'p'.repeat(199)},${Array.from({ length: 50 + count }, (__, place) => `a-project-of-${place}`).join(',')}`,
    );
    const found = lengths.map((query) => [chosen(query), chosen(`${query}&tests=on`)] as const);

    for (const each of found.flat())
      if (each.kind === 'usable') expect(JSON.stringify(each.pattern).length).toBeLessThanOrEqual(2_048);
    expect(
      found
        .filter(([without, withTests]) => without.kind !== withTests.kind)
        .map(([, { kind, ...rest }]) => [kind, rest]),
    ).toContainEqual(['faulty', { faults: [expect.stringContaining('leave test events out')] }]);
  });

  test.each(
    Object.keys(TARGET_KINDS).flatMap((target) => Object.keys(FILE_FORMS).map((form) => [target, form])),
  )('to %s is one complete file as %s', (target, form) => {
    const found = chosen(`subject=failures&target=${target}&form=${form}&name=my-rule`);

    expect(found).toMatchObject({
      kind: 'usable',
      file: { fileName: `my-rule.${FILE_FORMS[form as keyof typeof FILE_FORMS]}` },
    });
  });
});

describe('a test event', () => {
  const cases = SUBJECT_NAMES.flatMap((subject) => {
    const { statusField, statuses, hasProject, hasAction } = subjectOf(subject);
    const usable = subject === 'settledCommands' ? ['failed', 'expired'] : ['failed', 'finished', 'error'];
    const states = subject === 'computes' ? ['idle', 'active'] : (statuses ?? usable);
    return [
      `subject=${subject}`,
      ...(hasProject ? [`subject=${subject}&project=my-project-1,other-2`] : []),
      ...(hasAction ? [`subject=${subject}&action=create_branch`] : []),
      ...(statusField === undefined || subject === 'failures'
        ? []
        : states.map((state) => `subject=${subject}&status=${state}`)),
    ];
  });

  test.each(cases)('is valid and is taken by its own rule: %s', (query) => {
    const found = chosen(`${query}&tests=on&no_replays=on`);
    if (found.kind === 'faulty') throw new Error(found.faults.join());
    const { detail_type, detail } = testEventFor(choice(query).subscription, FACTS);
    const definition = eventCatalog.find(({ detailType }) => detailType === detail_type);

    expect(detail).toMatchObject({ id: FACTS.id, observed_at: FACTS.observedAt });
    expect(definition?.detail.strict().safeParse(detail).error).toBeUndefined();
    expect(
      matchesEventPattern(parseEventPattern(found.pattern), {
        source: TEST_EVENT_SOURCE,
        'detail-type': detail_type,
        detail,
      }),
    ).toBe(true);
  });
});
