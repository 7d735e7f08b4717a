/** What an alert says beside its event: how often the action failed lately, and whether other projects fail alike. */

import { describe, expect, test } from 'vitest';
import { contextOf } from '../../functions/notifier/deciding/context.ts';
import { FAILURES_KEPT_MAX } from '../../functions/notifier/deciding/incident-record.ts';
import { factsOf } from '../../functions/notifier/wording/wording.ts';
import { NOON_MS } from '../builders.ts';
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
    const incidents = [{ began_at: '2026-01-15T11:58:00.000Z', project_id: 'another', action }];

    const context = contextOf(aNotice(), anIncident({ failures }), { incidents, isCut: true }, NOON_MS);

    expect(factsOf({ ...aNotice(), ...context })).toEqual(
      expect.arrayContaining([
        { label: 'Last hour', value: `at least ${FAILURES_KEPT_MAX} failed attempts` },
        { label: 'Alike', value: 'at least 1 other project since 2026-01-15T11:58:00.000Z' },
      ]),
    );
  });

  test('names the service as the probable cause from three other projects on', () => {
    const wordsFor = (project_count: number) =>
      factsOf(aNotice({ alike: { project_count, since: '2026-01-15T11:58:00.000Z' } })).find(
        ({ label }) => label === 'Alike',
      )?.value;

    expect([1, 2, 3].map(wordsFor)).toEqual([
      '1 other project since 2026-01-15T11:58:00.000Z',
      '2 other projects since 2026-01-15T11:58:00.000Z',
      '3 other projects since 2026-01-15T11:58:00.000Z: probably the service',
    ]);
  });
});
