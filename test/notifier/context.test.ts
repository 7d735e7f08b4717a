/** What an alert says beside its event: how often the action failed lately, and whether other projects fail alike. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderMail } from '../../functions/notifier/channels/email.ts';
import { renderSlack } from '../../functions/notifier/channels/slack-message.ts';
import { FAILURES_KEPT_MAX } from '../../functions/notifier/deciding/incident-record.ts';
import { commonCausesOf, factsOf } from '../../functions/notifier/deciding/wording.ts';
import { contextOf } from '../../functions/notifier/sending/plan-messages.ts';
import { createUsualFailures, isServiceLikely } from '../../shared/alerts/common-cause.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { createInsightsStore, dayOf } from '../../shared/insights/day-insights.ts';
import { createHourCountsStore, hourOf } from '../../shared/insights/hour-counts.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { NOON_MS } from '../builders.ts';
import { aChange, addTo, aSample } from '../insights/values.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { anIncident } from '../store/mutes-contract.ts';
import { aNotice, aNotifier, anEvent } from './channel-under-test.ts';

const recovered = { status: 'finished', previous_status: 'running', terminal: true, new_failures: 0 };
const atNoon = { operation_updated_at: new Date(NOON_MS).toISOString() };

function alikeIn(notifier: ReturnType<typeof aNotifier>) {
  return notifier.slack.messages.map(({ message }) => message.flat()[0]?.alike?.project_count);
}

describe('the context of an alert', () => {
  test('counts the other projects in which the same action fails now, since the first of them', async () => {
    const notifier = aNotifier();
    const fail = (project: string, fields: object = {}) =>
      notifier.deliver(anEvent({ ...atNoon, project_id: project, ...fields }));

    await fail('first');
    await fail('second');
    await fail('second', { action: 'create_branch', operation_id: 'a-branch' });
    await fail('third');

    expect(alikeIn(notifier)).toEqual([undefined, 1, undefined, 2]);
    expect(notifier.slack.messages.at(-1)?.message.flat()[0]?.alike).toEqual({
      project_count: 2,
      since: '2026-01-15T12:00:00.000Z',
    });
  });

  test('leaves out what has recovered, and what began more than an hour ago', async () => {
    const notifier = aNotifier();
    const { deliver, wait, clock } = notifier;
    const now = () => ({ operation_updated_at: new Date(clock.now()).toISOString() });
    await deliver(anEvent({ ...now(), project_id: 'long', sequence: 1 }));
    wait(3_600_001);
    await deliver(anEvent({ ...now(), project_id: 'healed', sequence: 1 }));
    await deliver(anEvent({ ...now(), ...recovered, project_id: 'healed', sequence: 2 }));

    await deliver(anEvent({ ...now(), project_id: 'last', sequence: 1 }));

    expect(alikeIn(notifier).at(-1)).toBeUndefined();
  });

  test('counts the failed attempts of the last hour of the same project and action', async () => {
    const { deliver, slack } = aNotifier();
    await deliver(anEvent({ ...atNoon, sequence: 1, new_failures: 2, failures_count: 2 }));
    await deliver(anEvent({ ...atNoon, project_id: 'another', sequence: 1 }));

    await deliver(anEvent({ ...atNoon, sequence: 3, failures_count: 3 }));

    const counts = slack.messages.map(({ message }) => message.flat()[0]?.last_hour?.attempt_count);
    expect(counts).toEqual([2, 1, 3]);
  });

  test('is left out, and delays nothing, when it cannot be read', async () => {
    const { deps, deliver, slack, logged } = aNotifier();
    Object.assign(deps.store, { openIncidents: () => Promise.reject(new Error('throttled')) });

    await deliver(anEvent(atNoon));

    expect(slack.messages[0]?.message.flat()[0]).not.toHaveProperty('last_hour');
    expect(logged('alert.context_not_read')).toHaveLength(2);
  });

  test('says "at least" where a bound was met', () => {
    const failures = Array.from({ length: FAILURES_KEPT_MAX }, (_, place) => ({
      id: `event-${place}`,
      at_ms: NOON_MS - 1_000,
      attempt_count: 1,
    }));
    const { action = '' } = aNotice();
    const incidents = [{ name: 'any', began_at: '2026-01-15T11:58:00.000Z', project_id: 'another', action }];

    const record = anIncident({ failures });
    const open = { incidents, isCut: true };

    const context = contextOf(aNotice(), record, {
      around: { open, usualPerMinute: undefined },
      nowMs: NOON_MS,
    });

    expect(factsOf({ ...aNotice(), ...context })).toEqual(
      expect.arrayContaining([
        { label: 'Last hour', value: `at least ${FAILURES_KEPT_MAX} failed attempts`, form: 'words' },
        { label: 'Alike', value: 'at least 1 other project', form: 'words' },
        { label: 'Alike from', value: '2026-01-15T11:58:00.000Z', form: 'time' },
      ]),
    );
  });

  test('says what is usual, and names the service only where the rule does', () => {
    const since = '2026-01-15T11:58:00.000Z';
    const wordsFor = (alike: object) =>
      factsOf(aNotice({ alike: { project_count: 4, since, ...alike } })).find(
        ({ label }) => label === 'Alike',
      )?.value;

    expect(
      [{}, { usual_count: 0.2, is_service: true }, { usual_count: 1 }, { usual_count: 3.4 }].map(wordsFor),
    ).toEqual([
      '4 other projects',
      '4 other projects, usually none: probably the service',
      '4 other projects, usually about 1',
      '4 other projects, usually about 3',
    ]);
  });

  test('leaves out what began to fail more than ten minutes before or after', () => {
    const at = (minutes: number) => new Date(NOON_MS + minutes * 60_000).toISOString();
    const { action = '' } = aNotice();
    const began = [-11, -10, 0, 10, 11].map((minutes) => ({
      name: `after-${minutes}`,
      began_at: at(minutes),
      project_id: `after-${minutes}`,
      action,
    }));
    const record = anIncident({ began_at: at(0) });
    const open = { incidents: began, isCut: false };

    const { alike } = contextOf(aNotice(), record, {
      around: { open, usualPerMinute: 1 },
      nowMs: NOON_MS + 3_600_000,
    });

    expect(alike).toEqual({ project_count: 3, since: at(-10), usual_count: 20 });
  });

  test('counts as usual only the time that has passed', () => {
    const record = anIncident({ began_at: new Date(NOON_MS).toISOString() });
    const { action = '' } = aNotice();
    const open = {
      incidents: [{ name: 'any', began_at: record.began_at, project_id: 'other', action }],
      isCut: false,
    };

    const { alike } = contextOf(aNotice(), record, {
      around: { open, usualPerMinute: 0.3 },
      nowMs: NOON_MS + 60_000,
    });

    expect(alike?.usual_count).toBe(3.3);
  });

  test('says what is usual by what the poller has counted, and nothing before it has counted enough', async () => {
    const alikeWith = async (endedCount: number) => {
      const notifier = aNotifier();
      const { clock, deps, deliver, slack } = notifier;
      const { action } = operationStateChanged.example;
      const attempts = Array.from({ length: endedCount }, (_, place) => (place % 10 === 0 ? 2 : 1));
      const samples = attempts.map((each) => aSample({ durationMs: 1_000, action, attempts: each }));
      const poller = createMemoryTable();
      const hour = hourOf(clock.now() - 3_600_000);
      const day = { projectId: undefined, day: dayOf(clock.now()) };
      await addTo(createInsightsStore(poller, 'main').itemOf(day), samples);
      await addTo(createHourCountsStore(poller, 'main').itemOf(hour), [
        aChange({ hour, startedCount: 600, failedCount: 60 }),
      ]);
      const usualFailuresOf = createUsualFailures(poller.as('notifier'), clock, () => {});
      Object.assign(deps, { usualFailuresOf });
      for (const project_id of ['one', 'two']) await deliver(anEvent({ ...atNoon, project_id }));
      return slack.messages.at(-1)?.message.flat()[0]?.alike;
    };

    // 600 operations an hour are 10 a minute, of which a tenth fails, and ten minutes have passed.
    expect(await alikeWith(200)).toMatchObject({ project_count: 1, usual_count: 10.4 });
    expect(await alikeWith(40)).not.toHaveProperty('usual_count');
  });
});

describe('a message of several alerts', () => {
  const failing = async (projectCount: number, usualPerMinute: number | undefined) => {
    const notifier = aNotifier({ patience_seconds: 60, gather_seconds: 600 });
    const { deps, deliver, slack, pass } = notifier;
    Object.assign(deps, { usualFailuresOf: async () => usualPerMinute });
    const now = new Date(notifier.clock.now()).toISOString();
    const times = { operation_updated_at: now, observed_at: now };
    for (let project = 0; project < projectCount; project++)
      await deliver(anEvent({ ...times, project_id: `project-${project}` }));
    await deliver(anEvent({ ...times, project_id: 'another-action', action: 'create_branch' }));
    await pass(2);
    expect(slack.messages).toHaveLength(1);
    return slack.messages[0]?.message ?? [];
  };

  test('names the service above them when far more projects fail at once than usually do', async () => {
    const message = await failing(6, 0.02);

    const causes = commonCausesOf(message.flat());
    expect(causes).toEqual([
      { action: 'start_compute', project_count: 6, since: '2026-01-15T12:00:00.000Z', usual: 'usually none' },
    ]);
    expect(renderMail(message, {}).body).toContain(
      'Probably the service: start_compute fails in 6 projects since 15 Jan 2026, 12:00:00 UTC (usually none).',
    );
    expect(JSON.stringify(renderSlack(message, {}))).toContain(
      '*Probably the service*: `start_compute` fails in 6 projects since <!date',
    );
  });

  test.each([
    ['as many projects fail as usually do', 6, 0.5],
    ['too little is known', 6, undefined],
    ['two projects fail', 2, 0.001],
  ])('names no cause when %s', async (_what, projectCount, usualPerMinute) => {
    expect(commonCausesOf((await failing(projectCount, usualPerMinute)).flat())).toEqual([]);
  });
});

describe('the rule by which the service is the probable cause', () => {
  test.each([
    [2, 0.01, false],
    [3, 0.05, true],
    [3, 0.2, false],
    [6, 0.5, true],
    [12, 2, true],
    [12, 3, false],
    [40, 12, false],
    [400, 100, true],
    [900, 800, false],
  ])('with %i projects where %d are usual says %s', (projectCount, usualCount, isLikely) => {
    expect(isServiceLikely(projectCount, usualCount)).toBe(isLikely);
  });

  test('claims it less than once in a thousand times when projects fail independently, twice as often as usual', () => {
    const random = seededRandom(7);
    const claims = [0.05, 0.5, 2, 8].map((usual) => {
      const draws = Array.from({ length: 20_000 }, () => poisson(2 * usual, random));
      return draws.filter((count) => isServiceLikely(count, usual)).length / draws.length;
    });

    expect(Math.max(...claims)).toBeLessThan(0.0015);
  });

  test('claims it the more readily the more projects fail, and the fewer usually do', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.double({ min: 0, max: 100, noNaN: true }), (count, usual) => {
        if (!isServiceLikely(count, usual)) return;
        expect(isServiceLikely(count + 1, usual)).toBe(true);
        expect(isServiceLikely(count, usual / 2)).toBe(true);
      }),
    );
  });
});

/** Draws from a Poisson distribution by the method of Knuth. */
function poisson(mean: number, random: { next(): number }): number {
  let product = random.next();
  let count = 0;
  for (; product > Math.exp(-mean); count++) product *= random.next();
  return count;
}
