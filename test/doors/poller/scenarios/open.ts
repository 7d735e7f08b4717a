/** Scripts about open operations that no page shows, or that lie far below the newest one. */

import { expect } from 'vitest';
import { DAY_MS } from '../bridge.ts';
import { anOperationRow, idOf } from '../rows.ts';
import type { Scenario, Stage } from './scenario.ts';

const onList = (path: string) => path.endsWith('/operations');
const onOne = (path: string) => path.includes('/operations/');
const NO_OPERATIONS = { status: 200, body: { operations: [] } };

/** The list shows no operation any more, and a single read is answered with this status, or truly. */
function hideAll({ service }: Stage, statusOfOne: () => number | undefined): void {
  service.dials.answers = ({ path }) => {
    if (onList(path)) return NO_OPERATIONS;
    const status = onOne(path) ? statusOfOne() : undefined;
    return status === undefined ? undefined : { status };
  };
}

const NOT_FOUND: readonly Scenario[] = [
  ...(
    [
      ['is answered', undefined],
      ['fails otherwise', 503],
    ] as const
  ).map(
    ([what, between]): Scenario => ({
      name: `an operation that answers 404, then ${what} for two minutes, and answers 404 again is missing for a minute anew`,
      async script(stage) {
        stage.begin(1);
        await stage.runS(20);
        let status: number | undefined = 404;
        hideAll(stage, () => status);
        await stage.runS(20);
        status = between;
        await stage.runS(120);
        status = 404;
        await stage.runS(40);
        stage.service.dials.answers = () => undefined;
        stage.change(1, { status: 'finished' });
        await stage.runS(60);
      },
      tells: ['1: running', '1: running -> finished'],
    }),
  ),
  {
    name: 'an operation that cannot be read is not said to be stalled, and is once it can be read',
    options: { settings: { stalled_after_seconds: { default: [60] } } },
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      let status: number | undefined = 500;
      hideAll(stage, () => status);
      await stage.runS(120);
      expect(stage.events('Operation Stalled')).toEqual([]);
      status = undefined;
      await stage.runS(60);
    },
    tells: ['1: running', 'Operation Stalled: 1 60000'],
    crashes: false, // The next process may begin when the operation can be read.
  },
];

const OPEN: readonly Scenario[] = [
  {
    name: 'an open operation far below the bound is told when the list shows its end',
    async script(stage) {
      stage.begin(1);
      for (let number = 10; number < 60; number++)
        stage.begin(number, { status: 'finished' }, (number - 9) * 15);
      await stage.runS(900);
      stage.change(1, { status: 'finished' });
      await stage.runS(60);
    },
    also: ({ events }) =>
      expect(events('Operation State Changed').at(-1)?.detail).toMatchObject({
        operation_id: idOf(1),
        status: 'finished',
      }),
    crashes: false, // The next process may not be there when the operation ends.
  },
  {
    name: 'an operation that the table does not take for ten minutes is told after that, however much is newer',
    async script(stage) {
      stage.service.put(anOperationRow(100, stage.nowMs() - DAY_MS, { status: 'finished' }));
      stage.dials.table = (call, key) =>
        call === 'update' && key?.sk.includes(idOf(1)) ? { error: new Error('throttled') } : undefined;
      stage.begin(1, { status: 'finished' });
      for (let number = 10; number < 60; number++)
        stage.begin(number, { status: 'finished' }, (number - 9) * 11);
      await stage.runS(600);
      stage.dials.table = () => undefined;
      await stage.runS(60);
    },
    tells: ['1: finished', ...Array.from({ length: 50 }, (_, place) => `${place + 10}: finished`)],
    exceptFor: [100],
  },
];

/** Lists the scripts of this file. */
export const OPEN_OPERATIONS: readonly Scenario[] = [...NOT_FOUND, ...OPEN];
