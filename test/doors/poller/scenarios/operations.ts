/** Scripts about single operations: their states, their retries, and the end of the watch over them. */

import { expect } from 'vitest';
import { LONG_SECRET } from '../../long-texts.ts';
import { DAY_MS, HOUR_MS } from '../bridge.ts';
import { idOf } from '../rows.ts';
import type { Scenario } from './scenario.ts';

const READ_ONE = /^GET .*\/operations\/.+/;

export const OPERATIONS: readonly Scenario[] = [
  {
    name: 'an operation is told from its first state to its last',
    async script({ begin, change, runS }) {
      begin(1, { status: 'scheduling' });
      change(1, { status: 'running' }, 11);
      change(1, { status: 'finished' }, 23);
      await runS(60);
    },
    tells: ['1: scheduling', '1: scheduling -> running', '1: running -> finished'],
  },
  {
    name: 'an operation that begins and ends between two readings is told once, in its last state',
    async script({ begin, runS }) {
      begin(1, { status: 'finished' });
      await runS(60);
    },
    tells: ['1: finished'],
  },
  ...['finished', 'skipped', 'cancelled', 'error'].map(
    (status): Scenario => ({
      name: `an operation that is ${status} is terminal, and is not read by itself any more`,
      async script({ begin, change, runS, service }) {
        begin(1);
        change(1, { status }, 10);
        await runS(30);
        service.dials.pageRowsMax = 1;
        await runS(120);
      },
      tells: ['1: running', `1: running -> ${status}`],
      also: ({ events, requests }) => {
        expect(events('Operation State Changed').at(-1)?.detail['terminal']).toBe(true);
        expect(requests(READ_ONE)).toBeLessThanOrEqual(1);
      },
    }),
  ),
  {
    name: 'a failed operation is not terminal, and its retry is told',
    async script({ begin, change, runS }) {
      begin(1);
      change(1, { status: 'failed', failures_count: 1 }, 10);
      change(1, { status: 'running' }, 70);
      change(1, { status: 'finished' }, 90);
      await runS(150);
    },
    tells: [
      '1: running',
      '1: running -> failed, failures 1',
      '1: failed -> running',
      '1: running -> finished',
    ],
    also: ({ events }) =>
      expect(events('Operation State Changed').map(({ detail }) => detail['terminal'])).toEqual([
        false,
        false,
        false,
        true,
      ]),
  },
  {
    name: 'failed attempts that nobody has seen show in the failure count',
    async script({ begin, change, runS }) {
      begin(1);
      change(1, { status: 'running', failures_count: 3 }, 20);
      change(1, { status: 'finished', failures_count: 3 }, 40);
      await runS(90);
    },
    tells: ['1: running', '1: running -> running, failures 3', '1: running -> finished'],
    also: ({ events }) =>
      expect(events('Operation State Changed').map(({ detail }) => detail['new_failures'])).toEqual([
        0, 3, 0,
      ]),
  },
  {
    name: 'an error text travels with the state, and an unknown field changes nothing',
    async script({ begin, change, runS }) {
      begin(1, { unheard_of: { deep: [1] } });
      change(1, { status: 'failed', failures_count: 1, error: 'storage unavailable' }, 10);
      change(1, { status: 'failed', failures_count: 1, error: 'another text', unheard_of: 2 }, 25);
      change(1, { status: 'error', failures_count: 2, error: 'given up' }, 40);
      await runS(60);
    },
    tells: ['1: running', '1: running -> failed, failures 1', '1: failed -> error, failures 2'],
    also: ({ events }) =>
      expect(events('Operation State Changed').map(({ detail }) => detail['error'])).toEqual([
        undefined,
        'storage unavailable',
        'given up',
      ]),
  },
  {
    name: 'an unknown status is carried along as not terminal, and an unknown action, too',
    async script({ begin, change, runS }) {
      begin(1, { action: 'defragment_moon', status: 'pondering' });
      change(1, { status: 'finished' }, 20);
      await runS(60);
    },
    tells: ['1: pondering', '1: pondering -> finished'],
    also: ({ events }) =>
      expect(
        events('Operation State Changed').map(({ detail }) => [detail['action'], detail['terminal']]),
      ).toEqual([
        ['defragment_moon', false],
        ['defragment_moon', true],
      ]),
  },
  {
    name: 'a settled operation that runs again is told as irregular, and its chain goes on',
    async script({ begin, change, runS }) {
      begin(1, { status: 'finished' });
      change(1, { status: 'running' }, 90);
      change(1, { status: 'finished' }, 120);
      await runS(180);
    },
    tells: ['1: finished', '1: finished -> running (irregular)', '1: running -> finished'],
  },
  {
    name: 'a failed operation is read at a falling rate when no page shows it',
    async script({ begin, change, runS, service }) {
      begin(1);
      change(1, { status: 'failed', failures_count: 1 }, 5);
      await runS(20);
      service.dials.answers = ({ path }) =>
        path.endsWith('/operations') ? { status: 200, body: { operations: [] } } : undefined;
      await runS(600);
    },
    tells: ['1: running', '1: running -> failed, failures 1'],
    // A list that shows nothing hides the operation from a process that begins later.
    crashes: false,
    also: ({ requests }) => {
      expect(requests(READ_ONE)).toBeGreaterThanOrEqual(5);
      expect(requests(READ_ONE)).toBeLessThanOrEqual(14);
    },
  },
  {
    name: 'an operation that answers 404 for a minute has vanished, which is told once',
    async script({ begin, service, runS }) {
      begin(1);
      await runS(20);
      service.remove(idOf(1));
      await runS(400);
    },
    tells: ['1: running', 'Operation Watch Ended: 1 vanished'],
  },
  {
    name: 'a 404 of an operation that passes within a minute ends no watch',
    async script({ begin, change, service, runS }) {
      begin(1);
      await runS(20);
      service.dials.answers = ({ path }) => {
        if (path.endsWith('/operations')) return { status: 200, body: { operations: [] } };
        return path.includes('/operations/') ? { status: 404 } : undefined;
      };
      await runS(30);
      service.dials.answers = () => undefined;
      change(1, { status: 'finished' }, 200);
      await runS(300);
    },
    tells: ['1: running', '1: running -> finished'],
  },
  {
    name: 'the watch over a failed operation that nobody retries ends after thirty days',
    async script({ begin, runS, rest }) {
      begin(1, { status: 'failed', failures_count: 1 });
      await runS(30);
      await rest(29 * DAY_MS);
      await runS(60);
      await rest(DAY_MS);
      await runS(60);
    },
    tells: ['1: failed, failures 1', 'Operation Watch Ended: 1 not_retried'],
  },
  {
    name: 'an operation whose watch has ended and that moves again is told, and its chain goes on',
    async script({ begin, change, runS, rest }) {
      begin(1, { status: 'failed', failures_count: 1 });
      await runS(30);
      await rest(30 * DAY_MS);
      await runS(60);
      change(1, { status: 'finished' });
      await runS(60);
    },
    tells: ['1: failed, failures 1', 'Operation Watch Ended: 1 not_retried', '1: failed -> finished'],
  },
  {
    name: 'an operation that is open for a quarter of an hour is stalled, and its end says that it was',
    async script({ begin, change, runS }) {
      begin(1);
      change(1, { status: 'finished' }, 1_000);
      await runS(1_060);
    },
    tells: ['1: running', 'Operation Stalled: 1 900000', '1: running -> finished (was stalled)'],
    crashes: false,
  },
  {
    name: 'an error text is searched for secrets as far as a secret in what is kept of it can reach, and no further',
    async script({ begin, runS }) {
      begin(1, { status: 'failed', failures_count: 1, error: `${LONG_SECRET} behind` });
      await runS(30);
    },
    tells: ['1: failed, failures 1'],
    also: ({ events }) => expect(events().map(({ detail }) => detail['error'])).toEqual(['[hidden]']),
  },
  {
    name: 'a count of failures that falls is told as irregular, once it cannot be a replica that lags',
    async script({ begin, change, runS }) {
      begin(1, { status: 'running', failures_count: 2 });
      change(1, { status: 'failed', failures_count: 1 }, 90);
      await runS(240);
    },
    tells: ['1: running, failures 2', '1: running -> failed (irregular)'],
  },
  {
    name: 'thresholds of the configuration are passed one by one, each told once',
    options: { settings: { stalled_after_seconds: { default: [60, 120] } } },
    async script({ begin, runS }) {
      begin(1);
      await runS(300);
    },
    tells: ['1: running', 'Operation Stalled: 1 60000', 'Operation Stalled: 1 120000'],
  },
  {
    name: 'of several thresholds that passed unseen, only the largest is told',
    options: { settings: { stalled_after_seconds: { default: [60, 120] } } },
    async script({ begin, runS, rest }) {
      begin(1);
      await runS(30);
      await rest(HOUR_MS);
      await runS(60);
    },
    tells: ['1: running', 'Operation Stalled: 1 120000'],
  },
  {
    name: 'the threshold of an action goes before the default',
    options: { settings: { stalled_after_seconds: { default: [60], apply_config: [150] } } },
    async script({ begin, runS }) {
      begin(1);
      begin(2, { action: 'start_compute' });
      await runS(120);
    },
    tells: ['1: running', '2: running', 'Operation Stalled: 2 60000'],
  },
];
