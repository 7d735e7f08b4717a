/** Scripts about what derives from operations: branches that are ready or failed, and computes that start and suspend. */

import { expect } from 'vitest';
import { HOUR_MS, SECOND_MS } from '../bridge.ts';
import { anOperationRow, PROJECT_ID, timeOf } from '../rows.ts';
import type { Row } from '../service.ts';
import type { Scenario, Stage } from './scenario.ts';

const BRANCH = 'br-new-branch-b1234567';
const COMPUTE = 'ep-new-branch-b1234567';
const ofBranch = (action: string, fields: Partial<Row> = {}): Partial<Row> => ({
  action,
  branch_id: BRANCH,
  endpoint_id: undefined,
  ...fields,
});
const ofCompute = (action: string, fields: Partial<Row> = {}): Partial<Row> => ({
  action,
  branch_id: BRANCH,
  endpoint_id: COMPUTE,
  ...fields,
});

const CREATED = ['1: running', '1: running -> finished'];
const CREATED_AND_STARTED = [...CREATED, '2: running', '2: running -> finished'];
const READY = `Branch Ready: ${BRANCH}`;
const FAILED = `Branch Failed: ${BRANCH}`;
const ACTIVE = `Compute State Changed: ${BRANCH} ${COMPUTE} started active`;
const IDLE = `Compute State Changed: ${BRANCH} ${COMPUTE} inactivity idle`;
const UNEXPLAINED_IDLE = `Compute State Changed: ${BRANCH} ${COMPUTE} idle`;

/** A branch is created with a compute, and both operations run. */
function creation({ begin }: Stage): void {
  begin(1, ofBranch('create_branch'));
  begin(2, ofCompute('start_compute'));
}

export const DERIVED: readonly Scenario[] = [
  {
    name: 'a new branch is ready once all operations of its creation have finished',
    async script(stage) {
      creation(stage);
      stage.change(1, { status: 'finished' }, 10);
      stage.change(2, { status: 'finished' }, 30);
      await stage.runS(90);
    },
    tells: [...CREATED_AND_STARTED, READY, ACTIVE],
  },
  {
    name: 'a new branch without a compute is ready with its one operation',
    async script({ begin, change, runS }) {
      begin(1, ofBranch('create_branch'));
      change(1, { status: 'finished' }, 20);
      await runS(60);
    },
    tells: [...CREATED, READY],
  },
  {
    name: 'a branch that was created and is ready between two readings is told once',
    async script({ begin, runS }) {
      begin(1, ofBranch('create_branch', { status: 'finished' }));
      begin(2, ofCompute('start_compute', { status: 'finished' }));
      await runS(60);
    },
    tells: ['1: finished', '2: finished', READY, ACTIVE],
  },
  ...(['error', 'cancelled'] as const).map(
    (status): Scenario => ({
      name: `a new branch has failed once an operation of its creation ends as ${status}`,
      async script(stage) {
        creation(stage);
        stage.change(1, { status: 'finished' }, 10);
        stage.change(2, { status, failures_count: 1 }, 20);
        await stage.runS(60);
      },
      tells: [...CREATED, '2: running', `2: running -> ${status}, failures 1`, FAILED],
    }),
  ),
  {
    name: 'a new branch whose operation was skipped is ready all the same',
    async script(stage) {
      creation(stage);
      stage.change(1, { status: 'finished' }, 10);
      stage.change(2, { status: 'skipped' }, 20);
      await stage.runS(60);
    },
    tells: [...CREATED, '2: running', '2: running -> skipped', READY],
  },
  {
    name: 'a failed operation of a creation waits for its retry before the branch has failed or is ready',
    async script(stage) {
      creation(stage);
      stage.change(1, { status: 'finished' }, 10);
      stage.change(2, { status: 'failed', failures_count: 1 }, 20);
      await stage.runS(60);
      expect(stage.events('Branch Failed')).toEqual([]);
      stage.change(2, { status: 'running' }, 20);
      stage.change(2, { status: 'finished' }, 40);
      await stage.runS(120);
    },
    tells: [
      ...CREATED,
      '2: running',
      '2: running -> failed, failures 1',
      '2: failed -> running',
      '2: running -> finished',
      READY,
      ACTIVE,
    ],
  },
  {
    name: 'an operation of another branch that began in the same second keeps no new branch waiting',
    async script({ begin, change, runS }) {
      begin(1, ofBranch('create_branch'));
      begin(2, { action: 'start_compute', branch_id: 'br-other-branch-c1234567' });
      change(1, { status: 'finished' }, 20);
      await runS(60);
    },
    tells: [...CREATED, '2: running', READY],
  },
  {
    name: 'a compute that starts a minute after the creation is no part of it',
    async script({ begin, change, runS }) {
      begin(1, ofBranch('create_branch'));
      change(1, { status: 'finished' }, 20);
      await runS(60);
      begin(2, ofCompute('start_compute'));
      await runS(60);
    },
    tells: [...CREATED, '2: running', READY],
  },
  {
    name: 'a branch that is restored is neither ready nor failed, because it was there before',
    async script({ begin, change, runS }) {
      begin(3, ofBranch('create_branch'));
      begin(4, ofCompute('suspend_compute'));
      change(4, { status: 'finished' }, 10);
      change(3, { status: 'finished' }, 20);
      await runS(60);
    },
    tells: ['3: running', '3: running -> finished', '4: running', '4: running -> finished', UNEXPLAINED_IDLE],
  },
  {
    name: 'a new project is told with its default branch',
    async script({ service, begin, change, runS }) {
      service.addProject('fresh-pond-12345678');
      const fields = { project_id: 'fresh-pond-12345678' };
      begin(1, ofBranch('create_timeline', fields));
      begin(2, ofCompute('start_compute', fields));
      change(1, { status: 'finished' }, 20);
      change(2, { status: 'finished' }, 25);
      await runS(90);
    },
    tells: [
      '1: running',
      '1: running -> finished',
      '2: running',
      '2: running -> finished',
      READY,
      ACTIVE,
      'Project Discovered: fresh-pond-12345678',
    ],
  },
  {
    name: 'a branch that was created before the first sight of the account is no news',
    isFirstSight: true,
    async script({ service, nowMs, runS }) {
      const createdMs = nowMs() - HOUR_MS;
      service.put(anOperationRow(1, createdMs, ofBranch('create_branch', { status: 'finished' })));
      service.put(anOperationRow(2, createdMs, ofCompute('start_compute', { status: 'finished' })));
      await runS(120);
    },
    tells: [],
    exceptFor: [1, 2],
  },
  {
    name: 'a creation that still runs at the first sight of the account is told to its end, also of its branch',
    isFirstSight: true,
    async script({ service, change, nowMs, runS }) {
      service.put(anOperationRow(1, nowMs() - 30_000, ofBranch('create_branch')));
      change(1, { status: 'finished' }, 40);
      await runS(120);
    },
    tells: ['1: running (backfill)', '1: running -> finished', READY],
  },
  {
    name: 'a compute that starts and suspends is told by both, each with how long the state before lasted',
    async script({ begin, change, runS }) {
      begin(1, ofCompute('start_compute'));
      change(1, { status: 'finished' }, 5);
      begin(2, ofCompute('suspend_compute'), 65);
      change(2, { status: 'finished' }, 70);
      await runS(120);
    },
    tells: [...CREATED, '2: running', '2: running -> finished', ACTIVE, IDLE],
    also: ({ events }) =>
      expect(
        events('Compute State Changed').map(({ detail }) => [detail['previous_state'], detail.sequence]),
      ).toEqual([
        [null, 1],
        ['active', 2],
      ]),
  },
  {
    name: 'a compute that starts twice was suspended unseen in between, so the state before is unknown',
    async script({ begin, change, runS }) {
      begin(1, ofCompute('start_compute'));
      change(1, { status: 'finished' }, 5);
      begin(2, ofCompute('start_compute'), 60);
      change(2, { status: 'finished' }, 65);
      await runS(120);
    },
    tells: [...CREATED, '2: running', '2: running -> finished', ACTIVE, ACTIVE],
    also: ({ events }) =>
      expect(events('Compute State Changed').map(({ detail }) => detail['previous_state'])).toEqual([
        null,
        null,
      ]),
  },
  {
    name: 'a start that fails changes no compute',
    async script({ begin, change, runS }) {
      begin(1, ofCompute('start_compute'));
      change(1, { status: 'error', failures_count: 1 }, 5);
      await runS(60);
    },
    tells: ['1: running', '1: running -> error, failures 1'],
  },
  {
    name: 'operations of one compute that end in another order than they began leave the state of the later one',
    async script({ begin, change, runS }) {
      begin(1, ofCompute('start_compute'));
      begin(2, ofCompute('suspend_compute'), 5);
      change(2, { status: 'finished' }, 10);
      change(1, { status: 'finished' }, 10);
      await runS(60);
    },
    also: ({ events }) => expect(events('Compute State Changed').at(-1)?.detail['state']).toBe('idle'),
  },
  {
    name: 'two computes of one project have states and sequences of their own',
    async script({ begin, change, runS }) {
      for (const [number, endpoint_id] of [
        [1, 'ep-one'],
        [2, 'ep-two'],
      ] as const) {
        begin(number, { action: 'start_compute', endpoint_id });
        change(number, { status: 'finished' }, 10);
      }
      await runS(60);
    },
    also: ({ events }) =>
      expect(
        events('Compute State Changed')
          .map(({ detail }) => [detail['endpoint_id'], detail['state'], detail.sequence].join(' '))
          .toSorted(),
      ).toEqual(['ep-one active 1', 'ep-two active 1']),
  },
  {
    name: 'a creation that is told while the table refuses what derives from it is told once the table takes it',
    async script(stage) {
      stage.dials.table = (call, key) =>
        call === 'update' && key?.sk.startsWith('BRANCH#') === true
          ? { error: Object.assign(new Error('no'), { name: 'ThrottlingException' }) }
          : undefined;
      creation(stage);
      stage.change(1, { status: 'finished' }, 10);
      stage.change(2, { status: 'finished' }, 10);
      await stage.runS(60);
      stage.dials.table = () => undefined;
      await stage.runS(120);
    },
    tells: [...CREATED_AND_STARTED, READY, ACTIVE],
    takesOver: false, // The second edition derives nothing from what this one has acknowledged.
  },
  {
    name: 'a start that is reopened before its compute could be written has made the compute active all the same',
    async script(stage) {
      let isReopened = false;
      stage.dials.table = (call, key) =>
        call === 'update' && key?.sk.startsWith('COMPUTE#') === true && !isReopened
          ? { error: Object.assign(new Error('no'), { name: 'ThrottlingException' }) }
          : undefined;
      // The table takes computes again in the moment in which the reopening is told.
      stage.dials.bus = (events) => {
        isReopened ||= events.some(({ detail }) => detail.includes('"previous_status":"finished"'));
        return events.map(() => ({ kind: 'accepted' }));
      };
      stage.begin(1, ofCompute('start_compute'));
      stage.change(1, { status: 'finished' }, 10);
      await stage.runS(90);
      stage.change(1, { status: 'running' });
      await stage.runS(120);
    },
    also: ({ events }) => expect(events('Compute State Changed')).toHaveLength(1),
    crashes: false, // A process that dies may see the start only after it was reopened.
  },
  {
    name: 'a branch whose event the bus refuses for now is ready once, when the bus takes it',
    async script(stage) {
      stage.dials.bus = (events) =>
        events.map(({ detailType }) =>
          detailType === 'Branch Ready' ? { kind: 'retry', code: 'InternalFailure' } : { kind: 'accepted' },
        );
      creation(stage);
      stage.change(1, { status: 'finished' }, 10);
      stage.change(2, { status: 'finished' }, 10);
      await stage.runS(60);
      stage.dials.bus = () => undefined;
      await stage.runS(120);
    },
    tells: [...CREATED_AND_STARTED, READY, ACTIVE],
  },
  {
    name: 'a creation whose operations two processes see is ready once',
    async script(stage) {
      creation(stage);
      stage.change(1, { status: 'finished' }, 10);
      await stage.runS(15);
      stage.restart();
      stage.change(2, { status: 'finished' }, 10);
      await stage.runS(90);
    },
    tells: [...CREATED_AND_STARTED, READY, ACTIVE],
  },
  {
    name: 'a creation that no process sees while it goes on is ready when the next one begins',
    async script(stage) {
      creation(stage);
      await stage.runS(20);
      stage.restart();
      stage.change(1, { status: 'finished' });
      stage.change(2, { status: 'finished' });
      await stage.rest(HOUR_MS);
      await stage.runS(90);
    },
    tells: [...CREATED_AND_STARTED, READY, ACTIVE],
  },
  {
    name: 'a branch that is deleted in the middle of its creation is neither ready nor failed while that runs',
    async script(stage) {
      creation(stage);
      stage.change(1, { status: 'finished' }, 10);
      stage.begin(3, ofBranch('delete_timeline', { status: 'finished' }), 20);
      await stage.runS(90);
    },
    tells: [...CREATED, '2: running', '3: finished'],
  },
  {
    name: 'an operation without a branch and without a compute is told, and nothing derives from it',
    async script({ begin, change, runS }) {
      begin(1, { action: 'create_branch', branch_id: undefined, endpoint_id: undefined });
      begin(2, { action: 'start_compute', branch_id: undefined, endpoint_id: undefined });
      change(1, { status: 'finished' }, 10);
      change(2, { status: 'finished' }, 10);
      await runS(60);
    },
    tells: CREATED_AND_STARTED,
  },
  {
    name: 'what an operation took is known minutes later, and one that takes three times as long is stalled',
    async script({ begin, change, service, nowMs, runS }) {
      for (let number = 100; number < 160; number++) {
        const createdMs = nowMs() + number * 10;
        service.put({
          ...anOperationRow(number, createdMs, { action: 'create_branch', branch_id: `br-${number}` }),
          status: 'finished',
          updated_at: timeOf(createdMs + 180 * SECOND_MS),
          total_duration_ms: 180_000,
        });
      }
      await runS(700);
      begin(1, ofBranch('create_branch'));
      await runS(700);
      change(1, { status: 'finished' });
      await runS(30);
    },
    also: ({ events }) => {
      const [stalled, ...more] = events('Operation Stalled').map(({ detail }) => detail);
      expect(more).toEqual([]);
      expect(stalled).toMatchObject({ usual_duration: { operation_count: 60 } });
      expect(Number(stalled?.['threshold_ms'])).toBeGreaterThanOrEqual(300_000);
      expect(Number(stalled?.['threshold_ms'])).toBeLessThan(700_000);
    },
    crashes: false,
  },
  {
    name: 'an operation that ends shortly before its threshold is never stalled',
    options: { settings: { stalled_after_seconds: { default: [60] } } },
    async script({ begin, change, runS }) {
      begin(1);
      change(1, { status: 'finished' }, 50);
      begin(2, { status: 'failed', failures_count: 1 });
      await runS(200);
    },
    tells: ['1: running', '1: running -> finished', '2: failed, failures 1'],
  },
  {
    name: 'an operation that was open before the first sight of its account is stalled by its true age',
    isFirstSight: true,
    options: { settings: { project_ids: [PROJECT_ID] } },
    async script({ service, nowMs, runS }) {
      service.put(anOperationRow(1, nowMs() - HOUR_MS, { action: 'apply_config' }));
      await runS(120);
    },
    tells: ['1: running (backfill)', 'Operation Stalled: 1 900000'],
  },
];
