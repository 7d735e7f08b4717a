/** What people have muted while the bridge runs, from the mute in the table to what a channel gets. */

import { describe, expect, test } from 'vitest';
import { incidentIdOf } from '../../shared/alerts/incident-key.ts';
import type { MuteScope } from '../../shared/alerts/mutes/mute.ts';
import { createMuteStore } from '../../shared/alerts/mutes/mute-store.ts';
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

const muted = { project_id: 'muted-pond-12345678', action: 'start_compute' };

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
    expect(slack.messages[0]?.message.flat()).toMatchObject([{ was_muted: true }]);
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

    expect(slack.messages).toHaveLength(1);
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
});
