/** What people have muted or acknowledged while the bridge runs, from the table to what a channel gets. */

import { describe, expect, test } from 'vitest';
import { sweep } from '../../functions/notifier/sweep.ts';
import {
  acknowledge,
  createIncidentStore,
  incidentIdOf,
  withdrawAcknowledgement,
} from '../../shared/alerts/incidents.ts';
import type { MuteScope } from '../../shared/alerts/mutes.ts';
import { createConfiguredMutes, createMuteStore } from '../../shared/alerts/mutes.ts';
import { operationStalled } from '../../shared/events/catalog.ts';
import { CONFIGURED_MUTES_KEY } from '../../shared/store/keys.ts';
import { NOON_MS } from '../builders.ts';
import { aNotifier, anEvent, idsOf } from './channel-under-test.ts';

const HOUR_MS = 3_600_000;

function aMutedNotifier(policy: object = {}) {
  const notifier = aNotifier(policy);
  const store = createMuteStore(notifier.table.as('api'), notifier.indexes, 'main', notifier);
  let muteCount = 0;
  const mute = (scope: MuteScope, durationMs = HOUR_MS) =>
    store.add({
      ...scope,
      mute_id: `mute-${++muteCount}`,
      reason: 'a migration',
      client_id: 'an-operator',
      durationMs,
    });
  return { ...notifier, mute, lift: (muteId: string) => store.lift(muteId, 'an-operator') };
}

const recovered = { status: 'finished', previous_status: 'running', terminal: true, new_failures: 0 };
const muted = { project_id: 'muted-pond-12345678', action: 'start_compute' };

describe('a pager', () => {
  test('is notified once when a person acknowledges an incident that it has reported, and of no other', async () => {
    const { deps, deliver, pass, table, email, slack, clock } = aNotifier();
    const pager = { ...email.channel, hearsOfAcknowledgements: true as const };
    const channels = [slack.channel, pager];
    const incidents = createIncidentStore(table.as('api'), 'main', { clock });
    await deliver(anEvent(muted));
    const incidentId = incidentIdOf(`main|${muted.project_id}|start_compute`);
    const by = { at: new Date(clock.now()).toISOString(), client_id: 'slack:marta' };
    await incidents.change(incidentId, (found) => found && acknowledge(found, by));

    for (let minute = 0; minute < 10; minute++) {
      await sweep({ ...deps, channels });
      await pass(1);
    }

    const told = email.messages.flatMap(({ message }) => message.flat());
    expect(told.map(({ kind, acknowledged_by }) => [kind, acknowledged_by])).toEqual([
      ['failed', undefined],
      ['acknowledged', 'slack:marta'],
    ]);
    expect(slack.messages.length).toBe(1);
  });
});

describe('a pager that a person answers at the bridge', () => {
  test('is informed of the acknowledgement of what was given up, once, although the incident ends with it', async () => {
    const { deps, deliver, pass, table, email, clock } = aNotifier();
    const pager = { ...email.channel, hearsOfAcknowledgements: true as const };
    Object.assign(deps, { channels: [pager] });
    const incidents = createIncidentStore(table.as('api'), 'main', { clock });
    await deliver(anEvent({ ...muted, status: 'error', terminal: true }));
    const by = { at: new Date(clock.now()).toISOString(), client_id: 'slack:marta' };
    const incidentId = incidentIdOf(`main|${muted.project_id}|start_compute`);
    await incidents.change(incidentId, (found) => found && acknowledge(found, by));

    await pass(10);

    const told = email.messages.flatMap(({ message }) => message.flat());
    expect(told).toMatchObject([
      { kind: 'given_up' },
      { kind: 'acknowledged', acknowledged_by: 'slack:marta', acknowledged_gravity: 'given_up' },
    ]);
    await pass(24 * 60 + 1);
    expect(await deps.store.readAcknowledged()).toEqual([]);
    expect(await incidents.read(incidentId)).toMatchObject({ acknowledged: by, ended_at: by.at });
  });
});

describe('an alert that is being gathered', () => {
  const gathering = { gather_seconds: 600 };
  const given = { status: 'error', terminal: true, observed_at: new Date(NOON_MS).toISOString() };

  async function aGathering() {
    const notifier = aMutedNotifier(gathering);
    // This one goes out, so that the next one waits.
    await notifier.deliver(anEvent({ project_id: 'loud-pond-12345678', ...given }));
    await notifier.deliver(anEvent({ ...muted, ...given }));
    const incidents = createIncidentStore(notifier.table.as('api'), 'main', notifier);
    return {
      ...notifier,
      incidents,
      kinds: () => notifier.slack.messages.flatMap(({ message }) => message.flat()),
    };
  }

  test('wakes no one when a person has acknowledged before that what was given up, and is counted', async () => {
    const { incidents, clock, pass, kinds } = await aGathering();
    const incidentId = incidentIdOf(`main|${muted.project_id}|start_compute`);
    const by = { at: new Date(clock.now() + 1_000).toISOString(), client_id: 'an-operator' };
    await incidents.change(incidentId, (found) => found && acknowledge(found, by));

    await pass(75);

    expect(kinds()).toMatchObject([
      { kind: 'given_up', project_id: 'loud-pond-12345678' },
      { kind: 'digest', held_back: { acknowledged_count: 1 } },
    ]);
  });

  test('wakes no one while a mute that was set before that lasts', async () => {
    const { mute, pass, kinds } = await aGathering();
    await mute(muted);

    await pass(59);

    expect(kinds()).toMatchObject([{ kind: 'given_up', project_id: 'loud-pond-12345678' }]);
  });

  test('is sent when what happened after the acknowledgement could not be recorded', async () => {
    const { incidents, clock, deps, deliver, pass, kinds } = await aGathering();
    const incidentId = incidentIdOf(`main|${muted.project_id}|start_compute`);
    const by = { at: new Date(clock.now()).toISOString(), client_id: 'an-operator' };
    await incidents.change(incidentId, (found) => found && acknowledge(found, by));
    const { incidentsOf } = deps.store;
    const failing = { change: async () => Promise.reject(new Error('throttled')) };
    Object.assign(deps.store, { incidentsOf: (id: string) => ({ ...incidentsOf(id), ...failing }) });
    const later = { operation_id: 'a-later-one', observed_at: new Date(clock.now() + 60_000).toISOString() };

    await deliver(anEvent({ ...muted, ...given, ...later }));
    await pass(15);

    expect(kinds().map(({ operation_id }) => operation_id)).toContain('a-later-one');
  });
});

describe('a mute that a person has set', () => {
  test.each([
    ['of the account', {}],
    ['of a project', { project_id: muted.project_id }],
    ['of an action', { action: 'start_compute' }],
    ['of an action of a project', muted],
    ['of an incident', { incident_id: incidentIdOf(`main|${muted.project_id}|start_compute`) }],
  ])('%s holds an alert back until it ends', async (_what, scope) => {
    const { deliver, mute, pass, slack, email } = aMutedNotifier();
    await mute(scope);
    const event = anEvent(muted);

    await deliver(event);
    await pass(59);
    const during = [slack, email].flatMap(idsOf);
    await pass(2);

    expect(during).toEqual([]);
    expect([slack, email].map(idsOf)).toEqual([[event.detail.id], [event.detail.id]]);
    expect(slack.messages.at(-1)?.message.flat()).toMatchObject([{ was_muted: true }]);
  });

  test.each([
    ['another account', { account_id: 'another' }, {}],
    ['another project', { project_id: 'loud-pond-12345678' }, { project_id: muted.project_id }],
    ['another action', { action: 'create_branch' }, muted],
    ['another incident', {}, { incident_id: incidentIdOf('main|another|start_compute') }],
  ])('lets an alert about %s through', async (_what, fields, scope) => {
    const { deliver, mute, slack } = aMutedNotifier();
    await mute(scope);
    const event = anEvent({ ...muted, ...fields });

    await deliver(event);

    expect(idsOf(slack)).toEqual([event.detail.id]);
  });

  test('that is lifted lets alerts through within a minute', async () => {
    const { deliver, mute, lift, pass, slack } = aMutedNotifier();
    await mute({});
    await deliver(anEvent(muted));
    await pass(1);

    await lift('mute-1');
    await pass(1);

    expect(idsOf(slack)).toHaveLength(1);
  });

  test('keeps reminders back', async () => {
    const { deliver, mute, pass, slack } = aMutedNotifier();
    await deliver(anEvent(muted));
    await mute({ project_id: muted.project_id }, 48 * HOUR_MS);

    await pass(47 * 60);
    const during = slack.messages.length;
    await pass(62);

    expect(during).toBe(1);
    expect(slack.messages.at(-1)?.message.flat()).toMatchObject([{ kind: 'reminder' }]);
  });

  test('reports at its end what still fails, and only counts what has recovered by then', async () => {
    const { deliver, mute, pass, slack } = aMutedNotifier();
    await mute({});
    const failing = anEvent(muted);
    const healed = { ...muted, operation_id: 'another-operation' };
    await deliver(failing, anEvent({ ...healed, sequence: 2 }));
    await pass(20);
    await deliver(anEvent({ ...healed, ...recovered, sequence: 4 }));

    await pass(42);

    expect(idsOf(slack)).toEqual([failing.detail.id]);
  });

  test('is in the hourly digest with the number of alerts that wait, once for each of them', async () => {
    const { deliver, mute, pass, slack } = aMutedNotifier();
    await mute({ project_id: muted.project_id }, 5 * HOUR_MS);
    await deliver(anEvent(muted), anEvent(muted), anEvent({ ...muted, action: 'create_branch' }));

    await pass(4 * 60);

    expect(slack.messages.flatMap(({ message }) => message.flat())).toMatchObject([
      {
        kind: 'digest',
        held_back: {
          acknowledged_count: 0,
          muted: { alert_count: 3, incident_count: 2, first_until: '2026-01-15T17:00:00.000Z' },
        },
      },
    ]);
  });

  test('leaves at least an hour between two digests, whatever they count', async () => {
    const { deliver, mute, pass, slack } = aMutedNotifier({ patience_seconds: 300 });
    await mute({ project_id: muted.project_id }, 24 * HOUR_MS);
    for (let round = 0; round < 30; round++) {
      const healed = { operation_id: `operation-${round}` };
      await deliver(
        anEvent({ ...muted, operation_id: `muted-${round}` }),
        anEvent({ ...healed, sequence: 2 }),
      );
      await deliver(anEvent({ ...healed, ...recovered, sequence: 4 }));
      await pass(17);
    }

    const digests = slack.messages.filter(({ message }) => message[0]?.[0]?.kind === 'digest');
    const gapsMs = digests.slice(1).map(({ atMs }, place) => atMs - (digests[place]?.atMs ?? 0));
    expect(digests.length).toBeGreaterThan(5);
    expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(HOUR_MS);
    const counts = digests.flatMap(({ message }) => message[0]?.[0]?.held_back?.muted?.alert_count ?? 0);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(25);
  });
});

describe('the mutes of the configuration', () => {
  test('are written where the API finds them, once by each process, also when there is none any more', async () => {
    const mutes = [{ project_ids: ['a'], from: '2026-01-15T11:00:00Z', until: '2026-01-15T13:00:00Z' }];
    const { deps, table, pass } = aNotifier({ mutes });
    const api = createConfiguredMutes(table.as('api'));
    await pass(1);
    const [found, first] = [await api.readConfigured(), await table.get(CONFIGURED_MUTES_KEY)];
    await table.update({ key: CONFIGURED_MUTES_KEY, set: { body: [] } });
    await pass(3);

    expect(found).toEqual(mutes);
    expect(first).toBeDefined();
    expect(await api.readConfigured()).toEqual([]);
    Object.assign(deps, { policy: { ...deps.policy, mutes: [] } });
    await pass(1);
    expect(await api.readConfigured()).toEqual([]);
  });
});

describe('an operation that has stalled', () => {
  const operation = { ...operationStalled.example, ...muted, operation_id: 'a-slow-one' };
  const stalled = () => anEvent(operation, { 'detail-type': 'Operation Stalled' });
  const end = { ...recovered, ...muted, operation_id: 'a-slow-one', failures_count: 0, was_stalled: true };
  const later = { observed_at: '2026-01-16T22:00:00.000Z' };
  const incidentId = incidentIdOf(`main|${muted.project_id}|start_compute`);

  test('has an incident until it ends, and its end is reported', async () => {
    const { deliver, table, clock, slack } = aNotifier();
    const incidents = createIncidentStore(table.as('api'), 'main', { clock });
    await deliver(stalled());
    const begun = await incidents.read(incidentId);

    await deliver(anEvent({ ...end, ...later }));

    expect(begun).toMatchObject({ state: 'stalled', gravity: 'stalled' });
    expect(await incidents.read(incidentId)).toMatchObject({ state: 'recovered' });
    const kinds = slack.messages.flatMap(({ message }) => message.flat().map(({ kind }) => kind));
    expect(kinds).toEqual(['stalled', 'stall_ended']);
  });

  test('that ended before it was reported wakes no one when it was muted, and is no failure of a digest', async () => {
    const { deliver, mute, pass, slack } = aMutedNotifier();
    await mute(muted);
    await deliver(stalled(), anEvent({ ...end, ...later }));

    await pass(130);

    const digests = slack.messages.flatMap(({ message }) => message.flat());
    expect(digests.filter(({ kind }) => kind !== 'digest')).toEqual([]);
    expect(digests.flatMap(({ healed }) => healed?.by_action ?? [])).toEqual([]);
  });

  test('keeps a first failure back once a person has acknowledged it', async () => {
    const { deliver, table, clock, slack } = aNotifier();
    const incidents = createIncidentStore(table.as('api'), 'main', { clock });
    await deliver(stalled());
    const by = { at: '2026-01-16T21:10:00.000Z', client_id: 'an-operator' };
    await incidents.change(incidentId, (found) => found && acknowledge(found, by));

    await deliver(anEvent({ ...muted, operation_id: 'another' }));

    expect(slack.messages.flatMap(({ message }) => message.flat().map(({ kind }) => kind))).toEqual([
      'stalled',
    ]);
  });
});

describe('an acknowledgement', () => {
  const incidentId = incidentIdOf(`main|${muted.project_id}|start_compute`);

  function anAcknowledgedNotifier(policy: object = {}) {
    const notifier = aMutedNotifier(policy);
    const incidents = createIncidentStore(notifier.table.as('api'), 'main', notifier);
    const by = { at: '2026-01-15T12:00:00.000Z', client_id: 'an-operator' };
    const acknowledgeIncident = () =>
      incidents.change(incidentId, (found) => found && acknowledge(found, by));
    const kinds = () => notifier.slack.messages.map(({ message }) => message.flat().map(({ kind }) => kind));
    return { ...notifier, incidents, acknowledgeIncident, kinds };
  }

  test('keeps further failures back, which the hourly digest counts, and reports the recovery', async () => {
    const { deliver, acknowledgeIncident, pass, kinds, slack } = anAcknowledgedNotifier();
    await deliver(anEvent({ ...muted, sequence: 2 }));
    await acknowledgeIncident();

    await deliver(anEvent({ ...muted, sequence: 4, failures_count: 2 }));
    await pass(70);
    await deliver(anEvent({ ...muted, ...recovered, sequence: 6, failures_count: 2 }));
    await pass(1);

    expect(kinds()).toEqual([['failed'], ['digest'], ['recovered']]);
    expect(slack.messages[1]?.message.flat()).toMatchObject([{ held_back: { acknowledged_count: 1 } }]);
  });

  test.each([
    ['the third failure', { failures_count: 3 }, 'failed'],
    ['what is given up', { status: 'error', terminal: true, failures_count: 2 }, 'given_up'],
  ])('does not keep %s back, because that is worse', async (_what, fields, kind) => {
    const { deliver, acknowledgeIncident, incidents, kinds } = anAcknowledgedNotifier();
    await deliver(anEvent({ ...muted, sequence: 2 }));
    await acknowledgeIncident();

    await deliver(anEvent({ ...muted, sequence: 4, ...fields }));

    expect(kinds()).toEqual([['failed'], [kind]]);
    expect(await incidents.read(incidentId)).not.toHaveProperty('acknowledged');
  });

  test('ends the reminders, until it is withdrawn', async () => {
    const { deliver, acknowledgeIncident, incidents, pass, kinds } = anAcknowledgedNotifier();
    await deliver(anEvent(muted));
    await acknowledgeIncident();
    await pass(3 * 24 * 60);
    const acknowledged = kinds();
    await incidents.change(
      incidentId,
      (found) => found && withdrawAcknowledgement(found, '2026-01-18T12:00:00.000Z'),
    );

    await pass(25 * 60);

    expect(acknowledged).toEqual([['failed']]);
    expect(kinds()).toEqual([['failed'], ['reminder']]);
  });

  test('ends with the incident, so that the next one is reported', async () => {
    const { deliver, acknowledgeIncident, kinds } = anAcknowledgedNotifier();
    await deliver(anEvent({ ...muted, sequence: 2 }));
    await acknowledgeIncident();
    await deliver(anEvent({ ...muted, ...recovered, sequence: 4 }));

    await deliver(anEvent({ ...muted, operation_id: 'the-next', status: 'error', terminal: true }));

    expect(kinds()).toEqual([['failed'], ['recovered'], ['given_up']]);
  });

  test('holds nothing back that is worse while its record could not be written', async () => {
    const { deliver, acknowledgeIncident, deps, pass, kinds } = anAcknowledgedNotifier();
    await deliver(anEvent({ ...muted, sequence: 2 }));
    await acknowledgeIncident();
    const { incidentsOf } = deps.store;
    const failing = { change: async () => Promise.reject(new Error('throttled')) };
    Object.assign(deps.store, { incidentsOf: (id: string) => ({ ...incidentsOf(id), ...failing }) });

    const answer = await deliver(anEvent({ ...muted, sequence: 4, status: 'error', terminal: true }));
    await pass(1);

    expect(answer.batchItemFailures).toHaveLength(1);
    expect(kinds()).toEqual([['failed'], ['given_up']]);
  });
});
