/** Tests what mutes and incidents need of a table, whatever it is made of. The same suite runs on every implementation. */

import { describe, expect, test } from 'vitest';
import { acknowledge, createIncidentStore, type IncidentRecord } from '../../shared/alerts/incidents.ts';
import {
  ACTIVE_MUTES_MAX,
  createMuteStore,
  MUTE_MS_MAX,
  readMutesOfAllAccounts,
} from '../../shared/alerts/mutes.ts';
import { incidentKey, incidentsListOf, muteKey } from '../../shared/store/keys.ts';
import { LIST_INDEX, type Table, type TableIndexes } from '../../shared/store/table.ts';
import { aClock, NOON_MS } from '../builders.ts';

const HOUR_MS = 3_600_000;

export function anIncident(fields: Partial<IncidentRecord> = {}): IncidentRecord {
  return {
    incident_id: '0123456789abcdef0123456789abcdef',
    account_id: 'main',
    project_id: 'quiet-pond-12345678',
    action: 'start_compute',
    state: 'failing',
    gravity: 'failing',
    began_at: '2026-01-15T11:58:00.000Z',
    operations: {
      'an-operation': { state: 'failing', sequence: 2, observed_at: '2026-01-15T11:58:00.000Z' },
    },
    failures: [{ id: 'an-event', at_ms: NOON_MS, attempt_count: 1 }],
    revision: 1,
    ...fields,
  };
}

/** The account is new for every test, so that one table serves them all. */
export function describeMutes(
  name: string,
  open: () => { readonly table: Table; readonly indexes: TableIndexes },
): void {
  let testCount = 0;
  const fresh = () => {
    testCount += 1;
    const accountId = `mutes-${testCount}`;
    const { table, indexes } = open();
    const unreadable: unknown[] = [];
    let nowMs = NOON_MS;
    const ports = {
      clock: aClock(() => nowMs),
      noteUnreadable: (item: unknown) => void unreadable.push(item),
    };
    return {
      accountId,
      table,
      indexes,
      unreadable,
      mutes: createMuteStore(table, indexes, accountId, ports),
      incidents: createIncidentStore(table, accountId, ports),
      ofThisAccount: async () =>
        (await readMutesOfAllAccounts(table, ports.noteUnreadable)).filter(
          ({ account_id }) => account_id === accountId,
        ),
      wait: (durationMs: number) => {
        nowMs += durationMs;
      },
    };
  };
  const asked = {
    mute_id: 'a-mute',
    project_id: 'quiet-pond-12345678',
    reason: 'migration',
    client_id: 'an-app',
    durationMs: HOUR_MS,
  };

  describe(`mutes on ${name}`, () => {
    test('are read as they were set, until they end', async () => {
      const { accountId, mutes, wait } = fresh();
      const added = await mutes.add(asked);

      expect(added).toEqual({
        mute_id: 'a-mute',
        account_id: accountId,
        project_id: 'quiet-pond-12345678',
        reason: 'migration',
        client_id: 'an-app',
        created_at: '2026-01-15T12:00:00.000Z',
        until: '2026-01-15T13:00:00.000Z',
      });
      expect(await mutes.readActive()).toEqual([added]);
      expect(await mutes.read('a-mute')).toEqual(added);
      wait(HOUR_MS);
      expect(await mutes.readActive()).toEqual([]);
      expect(await mutes.read('a-mute')).toBeUndefined();
    });

    test('are set once, however often the same request is repeated', async () => {
      const { mutes, wait } = fresh();
      const first = await mutes.add(asked);
      wait(1_000);

      expect(await mutes.add({ ...asked, durationMs: 2 * HOUR_MS })).toEqual(first);
      expect(await mutes.readActive()).toHaveLength(1);
    });

    test('last for thirty days at most', async () => {
      const { mutes } = fresh();

      const added = await mutes.add({ ...asked, durationMs: 2 * MUTE_MS_MAX });

      expect(added).toMatchObject({ until: '2026-02-14T12:00:00.000Z' });
    });

    test('are lifted once, and the notifier still reads them for a day', async () => {
      const { mutes, ofThisAccount, wait } = fresh();
      await mutes.add(asked);
      wait(60_000);

      expect(await mutes.lift('a-mute', 'another-app')).toMatchObject({ lifted_by: 'another-app' });
      expect(await mutes.lift('a-mute', 'another-app')).toBeUndefined();
      expect(await mutes.readActive()).toEqual([]);
      expect(await ofThisAccount()).toMatchObject([{ until: '2026-01-15T12:01:00.000Z' }]);
    });

    test(`are at most ${ACTIVE_MUTES_MAX} of one account at a time`, async () => {
      const { mutes } = fresh();
      for (let count = 0; count < ACTIVE_MUTES_MAX; count++)
        await mutes.add({ ...asked, mute_id: `mute-${count}` });

      expect(await mutes.add({ ...asked, mute_id: 'one-more' })).toBe('too_many');
      await mutes.lift('mute-0', 'an-app');
      expect(await mutes.add({ ...asked, mute_id: 'one-more' })).toMatchObject({ mute_id: 'one-more' });
    });

    test('that cannot be read are noted and mute nothing', async () => {
      const { accountId, table, mutes, unreadable, ofThisAccount } = fresh();
      await mutes.add(asked);
      await table.update({ key: muteKey(accountId, 'a-mute'), set: { reason: 7 } });

      expect(await mutes.readActive()).toEqual([]);
      expect(await ofThisAccount()).toEqual([]);
      expect(unreadable).toContainEqual({ key: muteKey(accountId, 'a-mute'), fields: ['reason'] });
    });
  });

  describe(`incidents on ${name}`, () => {
    test('are read as they were written, and stand in the list of open ones until they end', async () => {
      const { accountId, incidents, indexes } = fresh();
      const incident = anIncident({ account_id: accountId });
      const listed = async (state: 'open' | 'ended') =>
        (
          await indexes.query({ index: LIST_INDEX, partition: incidentsListOf(accountId, state), limit: 10 })
        ).keys.map(({ sortKey }) => sortKey);

      await incidents.change(incident.incident_id, () => incident);
      expect(await incidents.read(incident.incident_id)).toEqual(incident);
      const begun = await listed('open');
      await incidents.change(incident.incident_id, (found) => found && { ...found, state: 'recovered' });

      expect(begun).toEqual([`2026-01-15T11:58:00.000Z ${accountId}|quiet-pond-12345678|start_compute`]);
      expect([(await listed('open')).length, (await listed('ended')).length]).toEqual([0, 1]);
    });

    test('keep every one of ten changes that are made at once', async () => {
      const { accountId, incidents } = fresh();
      const incident = anIncident({ account_id: accountId, failures: [] });
      await incidents.change(incident.incident_id, () => incident);
      const failure = (id: string) => ({ id, at_ms: NOON_MS, attempt_count: 1 });

      await Promise.all(
        Array.from({ length: 10 }, (_, count) =>
          incidents.change(
            incident.incident_id,
            (found) => found && { ...found, failures: [...found.failures, failure(`event-${count}`)] },
          ),
        ),
      );

      expect((await incidents.read(incident.incident_id))?.failures).toHaveLength(10);
    });

    test('that were given up end when a person acknowledges them', async () => {
      const { accountId, incidents } = fresh();
      const incident = anIncident({ account_id: accountId, state: 'given_up', gravity: 'given_up' });
      await incidents.change(incident.incident_id, () => incident);
      const by = { at: '2026-01-15T12:00:00.000Z', client_id: 'an-app' };

      const ended = await incidents.change(incident.incident_id, (found) => found && acknowledge(found, by));

      expect(ended).toMatchObject({ acknowledged: by, ended_at: by.at, revision: 2 });
      expect(await incidents.read(incident.incident_id)).toEqual(ended);
      expect(
        await incidents.change(incident.incident_id, (found) => found && acknowledge(found, by)),
      ).toBeUndefined();
    });

    test('that cannot be read are noted and left as they are', async () => {
      const { accountId, table, incidents, unreadable } = fresh();
      const incident = anIncident({ account_id: accountId });
      const key = incidentKey(accountId, incident.incident_id);
      await incidents.change(incident.incident_id, () => incident);
      await table.update({ key, set: { state: 'of a newer version' } });

      expect(await incidents.change(incident.incident_id, () => incident)).toBeUndefined();
      expect(await table.get(key)).toMatchObject({ state: 'of a newer version', revision: 1 });
      expect(unreadable).toEqual([{ key, fields: ['state'] }]);
    });
  });
}
