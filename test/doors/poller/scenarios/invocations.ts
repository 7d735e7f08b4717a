/** Scripts about invocations: whose lease an account has, how one ends, and the figures that it leaves for the alarms. */

import { expect } from 'vitest';
import { MINUTE_MS, SECOND_MS } from '../bridge.ts';
import { PROJECT_ID } from '../rows.ts';
import { delayMsOf, type Scenario, type Stage } from './scenario.ts';

const LAST_STATE = ['1: finished'];

/** Puts these attributes into the item of the lease. */
function damageLease({ table }: Stage, set: Readonly<Record<string, string>>): void {
  const lease = table.sync.items().find(({ sk }) => sk === 'LEASE');
  if (lease === undefined) throw new Error('The account has no lease yet');
  table.sync.update({ key: { pk: lease.pk, sk: lease.sk }, set, remove: [] });
}

/** No operation was told later than this. */
function expectSooner({ events }: Stage, mostMs: number): void {
  expect(Math.max(...events('Operation State Changed').map(delayMsOf))).toBeLessThan(mostMs);
}

const LEASES: readonly Scenario[] = [
  {
    name: 'a lease whose end cannot be read is taken over at once, by one process, and is counted',
    async script(stage) {
      damageLease(stage, { expires_at_ms: 'of a newer version' });
      stage.begin(1, { status: 'finished' }, 5);
      stage.at(20 * SECOND_MS, () => stage.invokeAnother(20 * SECOND_MS));
      await stage.runS(60);
    },
    tells: LAST_STATE,
    also: (stage) => {
      expectSooner(stage, 10 * SECOND_MS);
      expect(stage.measured.get('ItemsUnreadable')).toEqual([1]);
      expect(stage.logs.filter(({ event }) => event === 'lease.held')).toHaveLength(1);
    },
  },
  {
    name: 'a lease that does not say readably what its holder has spent stops its account for no more than a minute',
    async script(stage) {
      damageLease(stage, { spending: 'of a newer version' });
      stage.begin(1, { status: 'finished' }, 5);
      await stage.runS(120);
    },
    tells: LAST_STATE,
    also: (stage) => expectSooner(stage, 70 * SECOND_MS),
  },
  {
    name: 'an invocation that begins while the one before it is ending waits for its lease, and its minute is not lost',
    async script(stage) {
      // The first invocation ends after 54 seconds.
      stage.at(51 * SECOND_MS, () => stage.invokeAnother(MINUTE_MS));
      stage.begin(1, { status: 'finished' }, 80);
      await stage.runS(60);
      await stage.rest(50 * SECOND_MS);
    },
    tells: LAST_STATE,
    crashes: false, // The invocation that dies leaves a lease, which the next one waits for as long.
  },
  {
    name: 'an invocation waits at its end for what a poll sends to a slow bus, and cuts nothing short',
    async script(stage) {
      stage.dials.busOneWayMs = 700;
      for (let number = 1; number <= 80; number++) stage.begin(number, { status: 'finished' }, number * 2);
      await stage.runS(240);
    },
    tells: Array.from({ length: 80 }, (_, place) => `${place + 1}: finished`),
    also: ({ logs, measured }) => {
      expect(logs.filter(({ event }) => event === 'invocation.cut_short')).toEqual([]);
      expect(measured.get('InvocationsCutShort')).toBeUndefined();
    },
  },
];

const FIGURES: readonly Scenario[] = [
  {
    name: 'the age of the oldest reading is measured in milliseconds, by every process, while a project cannot be read',
    async script(stage) {
      stage.service.dials.answers = ({ path }) =>
        path.startsWith(`/projects/${PROJECT_ID}/`) ? { status: 500 } : undefined;
      await stage.runS(300);
      stage.restart();
      await stage.runS(300);
    },
    also: ({ measured }) => {
      const ages = measured.get('WalkAgeMs') ?? [];
      expect(ages).toHaveLength(11);
      expect(ages[0]).toBeLessThan(10 * SECOND_MS);
      expect(ages.at(5)).toBeGreaterThan(280 * SECOND_MS);
      expect(ages.at(-1)).toBeGreaterThan(580 * SECOND_MS);
      expect(ages.at(-1)).toBeLessThan(610 * SECOND_MS);
    },
    crashes: false, // An invocation that dies measures nothing.
  },
  {
    name: 'the age of the oldest event that the bus has not taken is measured in milliseconds, and is 0 without one',
    async script(stage) {
      stage.begin(1, { status: 'finished' });
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      await stage.runS(300);
      const waiting = stage.measured.get('UnpublishedAgeMs') ?? [];
      expect(waiting.at(-1)).toBeGreaterThan(200 * SECOND_MS);
      expect(waiting.at(-1)).toBeLessThan(310 * SECOND_MS);
      stage.dials.bus = () => undefined;
      await stage.runS(180);
    },
    tells: LAST_STATE,
    also: ({ measured }) => {
      expect(measured.get('UnpublishedAgeMs')?.at(-1)).toBe(0);
      expect(measured.get('UnpublishedBacklog')?.at(-1)).toBe(0);
      expect(Math.max(...(measured.get('UnpublishedBacklog') ?? []))).toBe(1);
    },
    crashes: false, // An invocation that dies measures nothing.
  },
];

/** Lists the scripts of this file. */
export const INVOCATIONS: readonly Scenario[] = [...LEASES, ...FIGURES];
