/** The message of an incident on Slack names who takes care of it, whichever door that person came through. */

import { describe, expect, test } from 'vitest';
import { createSlackChannel } from '../../functions/notifier/channels/slack.ts';
import {
  acknowledge,
  createIncidentStore,
  incidentIdOf,
  withdrawAcknowledgement,
} from '../../shared/alerts/incidents.ts';
import type { MuteScope } from '../../shared/alerts/mutes.ts';
import { createMuteStore } from '../../shared/alerts/mutes.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { aNotifier, anEvent } from './channel-under-test.ts';
import { createSlackMessages } from './channels/slack-messages.ts';

const BOT = {
  token: 'xoxb-0000000000-test',
  channel: 'C0123456789',
  signing_secret: '0123456789abcdef0123456789abcdef',
};
const PLACE = { project_id: 'quiet-pond-12345678', action: 'start_compute' };
const INCIDENT_ID = incidentIdOf(`main|${PLACE.project_id}|${PLACE.action}`);
const END = { status: 'finished', previous_status: 'running', terminal: true, new_failures: 0 };
const GIVEN_UP = { status: 'error', terminal: true };

/** A notifier whose only channel is Slack by bot, and what people do at the bridge meanwhile. */
function aTeam() {
  const notifier = aNotifier();
  const { deps, clock, table, indexes } = notifier;
  const slack = createSlackMessages();
  const channel = createSlackChannel({
    credentials: { current: async () => createSecret(JSON.stringify(BOT)) },
    webhookOrigin: 'https://hooks.slack.com',
    links: { consoleBaseUrl: 'https://bridge.example.com' },
    fetch: (url, init) => slack.fetch(url, init),
  });
  Object.assign(deps, { channels: [{ name: 'slack', ...channel }] });
  const incidents = createIncidentStore(table.as('api'), 'main', { clock });
  const mutes = createMuteStore(table.as('api'), indexes, 'main', { clock });
  const now = () => new Date(clock.now()).toISOString();
  const happen = (fields: object) =>
    notifier.deliver(anEvent({ ...PLACE, operation_updated_at: now(), observed_at: now(), ...fields }));
  return {
    ...notifier,
    slack,
    happen,
    acknowledge: (client_id: string, reason?: string) =>
      incidents.change(
        INCIDENT_ID,
        (found) => found && acknowledge(found, { at: now(), client_id, ...(reason && { reason }) }),
      ),
    withdraw: () => incidents.change(INCIDENT_ID, (found) => found && withdrawAcknowledgement(found, now())),
    mute: (scope: MuteScope) =>
      mutes.add({
        ...scope,
        mute_id: 'a-mute',
        client_id: 'an-operator',
        reason: 'a migration',
        durationMs: 3_600_000,
      }),
    lift: () => mutes.lift('a-mute', 'an-operator'),
    textOf: (place = 0) => JSON.stringify(slack.inChannel()[place]?.body ?? {}),
    buttons: () =>
      ['acknowledge', 'mute_1h', 'open'].filter((id) =>
        JSON.stringify(slack.inChannel()[0]?.body ?? {}).includes(`"action_id":"${id}"`),
      ),
  };
}

describe('the message of an incident on Slack', () => {
  test('names who has acknowledged it and why, within a minute, without a new message', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    const before = team.buttons();
    await team.acknowledge('an-operator', 'I look at it');

    await team.pass(1);

    expect(team.textOf()).toContain('*Acknowledged* by `an-operator`');
    expect(team.textOf()).toContain('`I look at it`');
    expect([before, team.buttons()]).toEqual([
      ['acknowledge', 'mute_1h', 'open'],
      ['mute_1h', 'open'],
    ]);
    expect([
      team.slack.inChannel().length,
      team.slack.inThread(team.slack.inChannel()[0]?.ts ?? '').length,
    ]).toEqual([1, 0]);
  });

  test('goes on naming that person when it is edited later, at its end as well', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    await team.acknowledge('slack:marta');
    await team.pass(1);
    await team.happen({ sequence: 1, operation_id: 'another', failures_count: 1 });
    await team.happen({ sequence: 4, ...END });
    const during = team.textOf();
    await team.happen({ sequence: 5, operation_id: 'another', ...END });

    expect(during).toContain('*Acknowledged* by `slack:marta`');
    expect(team.textOf()).toContain('recovered');
    expect(team.textOf()).toContain('*Acknowledged* by `slack:marta`');
  });

  test('is right at once when a reply comes before the next round of the notifier', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    await team.acknowledge('slack:marta');

    await team.happen({ sequence: 4, ...END });

    expect(team.textOf()).toContain('*Acknowledged* by `slack:marta`');
  });

  test('names who has acknowledged what was given up, although its incident ends with that', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1, ...GIVEN_UP });
    await team.acknowledge('an-operator');

    await team.pass(1);

    expect(team.textOf()).toContain('*Acknowledged* by `an-operator`');
    expect(team.slack.inChannel()).toHaveLength(1);
  });

  test('no longer names a person who has withdrawn, and can be acknowledged again', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    await team.acknowledge('an-operator');
    await team.pass(1);
    await team.withdraw();

    await team.pass(1);

    expect(team.textOf()).not.toContain('Acknowledged*');
    expect(team.buttons()).toContain('acknowledge');
  });

  test('no longer names that person when something worse has happened', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    await team.acknowledge('an-operator');
    await team.pass(1);

    await team.happen({ sequence: 3, failures_count: 3 });

    expect(team.textOf()).not.toContain('Acknowledged*');
    expect(team.buttons()).toContain('acknowledge');
  });

  test.each<[string, MuteScope]>([
    ['of the incident', { ...PLACE, incident_id: INCIDENT_ID }],
    ['of the project', { project_id: PLACE.project_id }],
    ['of the account', {}],
  ])(
    'says until when a mute %s holds its alerts back, and no longer once it is lifted',
    async (what, scope) => {
      const team = aTeam();
      await team.happen({ sequence: 1 });
      await team.mute(scope);
      await team.pass(1);
      const muted = [team.textOf(), team.buttons()];
      await team.lift();
      await team.pass(1);

      expect(muted).toEqual([
        expect.stringMatching(/\*Muted\* until <!date\^1768482000\^.* by `an-operator`: `a migration`/),
        ['acknowledge', 'open'],
      ]);
      expect(team.textOf()).not.toContain('Muted');
      expect(team.buttons()).toEqual(['acknowledge', 'mute_1h', 'open']);
      // A mute of everything is announced, so that nobody takes the silence for good news.
      expect(team.slack.inChannel()).toHaveLength(what === 'of the account' ? 2 : 1);
    },
  );

  test('has its mute button back when the mute has ended by itself', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    await team.mute({ ...PLACE, incident_id: INCIDENT_ID });
    await team.pass(62);

    expect(team.textOf()).not.toContain('Muted');
    expect(team.buttons()).toEqual(['acknowledge', 'mute_1h', 'open']);
  });

  test('of another project stays as it is', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1, project_id: 'loud-pond-12345678' });
    await team.happen({ sequence: 1, operation_id: 'another' });
    await team.acknowledge('an-operator');

    await team.pass(2);

    expect(team.slack.inChannel().map(({ editCount }) => editCount)).toEqual([0, 1]);
  });

  test('is edited once, and again only when the answer was lost', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    await team.acknowledge('an-operator');
    team.slack.lostAnswers = 1;

    await team.pass(30);

    expect(team.slack.inChannel().map(({ editCount }) => editCount)).toEqual([2]);
    expect(team.textOf()).toContain('*Acknowledged* by `an-operator`');
  });

  test.each([
    ['was deleted', 'message_not_found', 1],
    ['cannot be edited at the moment', 'ratelimited', 5],
  ])('that %s delays no alert, and is tried as often as it helps', async (_what, error, warnings) => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    await team.acknowledge('an-operator');
    team.slack.editError = error;
    await team.pass(5);

    await team.happen({ sequence: 1, project_id: 'loud-pond-12345678' });

    expect(team.logged('alert.edit_failed')).toHaveLength(warnings);
    expect(team.slack.inChannel()).toHaveLength(2);
  });

  test('of an incident that has ended does not name who has acknowledged the next one', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1 });
    await team.happen({ sequence: 4, ...END });
    team.wait(60_000);
    // The next one wakes no one yet, and a person finds it on the console.
    Object.assign(team.deps, { policy: { ...team.deps.policy, patience_seconds: 300 } });
    await team.happen({ sequence: 1, operation_id: 'the-next' });
    await team.acknowledge('an-operator');

    await team.pass(1);

    expect(team.textOf()).not.toContain('Acknowledged*');
  });

  test('names each operation that has not recovered, when they are several', async () => {
    const team = aTeam();
    await team.happen({ sequence: 1, operation_id: 'first-op' });
    await team.happen({ sequence: 1, operation_id: 'second-op', failures_count: 3 });

    expect(team.textOf()).toMatch(/\*Operations\*.*`first-op` failing.*`second-op` failing/);
    await team.happen({ sequence: 9, operation_id: 'first-op', ...END });
    expect(team.textOf()).not.toContain('*Operations*');
  });
});
