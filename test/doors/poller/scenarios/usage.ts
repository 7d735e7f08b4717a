/** Scripts about what projects use: shares of quotas and of configured limits, at the turn of a period and across deaths. */

import { expect } from 'vitest';
import { PROJECT_ID } from '../rows.ts';
import type { Scenario, Stage } from './scenario.ts';

const JANUARY = '2026-02-01T00:00:00Z';
const FEBRUARY = '2026-03-01T00:00:00Z';

/** A process that dies is followed by another one within this time, so that each step is seen by one of them. */
const STEP_S = 240;

interface Used {
  readonly compute?: number | undefined;
  readonly active?: number;
  readonly quota?: object | null;
  readonly resetsAt?: unknown;
}

/** From now on the list shows this usage of each project. Each has a quota of 1,000 compute seconds, unless the script says otherwise. */
function use(
  { service }: Stage,
  { compute, active = 0, quota = { compute_time_seconds: 1_000 }, resetsAt = JANUARY }: Used,
): void {
  service.dials.projectFields = {
    active_time: active,
    cpu_used_sec: compute,
    quota_reset_at: resetsAt,
    settings: quota === null ? {} : { quota },
  };
}

async function useEach(stage: Stage, steps: readonly Used[]): Promise<void> {
  for (const step of steps) {
    use(stage, step);
    await stage.runS(STEP_S);
  }
}

const crossed = (threshold: number, what = 'compute_time_seconds quota') =>
  `Project Usage Crossed: ${PROJECT_ID} ${what} ${threshold}`;
const crossedByAll = (threshold: number, what = 'compute_time_seconds configuration') =>
  `Project Usage Crossed: ${what} ${threshold}`;

const NEW_PROJECTS = Array.from({ length: 60 }, (_, place) => `new-pond-${place + 10}-12345678`);

export const USAGE: readonly Scenario[] = [
  {
    name: 'each threshold of a quota is told once, also when the figure falls and rises again',
    script: (stage) =>
      useEach(stage, [
        { compute: 700 },
        { compute: 750 },
        { compute: 10 },
        { compute: 760 },
        { compute: 900 },
        { compute: 1_200 },
        { compute: 1_300 },
      ]),
    tells: [crossed(100), crossed(75), crossed(90)],
    also(stage) {
      const [first] = stage.events('Project Usage Crossed');
      expect(first?.detail).toMatchObject({
        project_id: PROJECT_ID,
        scope: 'project',
        used: 750,
        limit: 1_000,
        limit_from: 'quota',
        percent: 75,
        threshold_percent: 75,
        resets_at: '2026-02-01T00:00:00.000Z',
      });
      // The list brings all of it, and it is written only when a threshold is crossed.
      expect(stage.requests(/^GET \/projects\/[^/]+$/)).toBe(0);
    },
  },
  {
    name: 'one reading that passes several thresholds makes one event, for the highest of them',
    script: (stage) => useEach(stage, [{ compute: 999 }]),
    tells: [crossed(90)],
  },
  {
    name: 'a new period begins anew, and a row that is still about the one before says nothing',
    script: (stage) =>
      useEach(stage, [
        { compute: 800 },
        { compute: 0, resetsAt: FEBRUARY },
        { compute: 2_000, resetsAt: JANUARY },
        { compute: 780, resetsAt: FEBRUARY },
      ]),
    tells: [crossed(75), crossed(75)],
    crashes: false, // A process that has not seen the new period believes the row of the old one.
    also: (stage) =>
      expect(stage.events('Project Usage Crossed').map(({ detail }) => detail['resets_at'])).toEqual([
        '2026-02-01T00:00:00.000Z',
        '2026-03-01T00:00:00.000Z',
      ]),
  },
  {
    name: 'a quota that was raised is told of again, and one that is lowered is not told twice',
    script: (stage) =>
      useEach(stage, [
        { compute: 1_000 },
        { compute: 1_000, quota: { compute_time_seconds: 2_000 } },
        { compute: 1_500, quota: { compute_time_seconds: 2_000 } },
        { compute: 1_510, quota: { compute_time_seconds: 1_990 } },
      ]),
    tells: [crossed(100), crossed(75)],
  },
  {
    name: 'a project without a quota, with a quota of 0, without a period or with fields of another form is told nothing of',
    script: (stage) =>
      useEach(stage, [
        { compute: 5_000, quota: null },
        { compute: 5_000, quota: { compute_time_seconds: 0, logical_size_bytes: 1 } },
        { compute: 5_000, resetsAt: null },
        { compute: 5_000, resetsAt: 'next month' },
        { compute: 5_000, resetsAt: '9999-12-31T00:00:00Z' },
        { compute: undefined, quota: { compute_time_seconds: '1000' } },
      ]),
    tells: [],
  },
  {
    name: 'an invocation that ends as soon as everything is read tells of a quota, too',
    options: { settings: { linger_seconds: 0 } },
    script: (stage) => useEach(stage, [{ compute: 800 }, { compute: 900 }]),
    tells: [crossed(75), crossed(90)],
  },
  {
    name: 'what was told is remembered by the next process',
    async script(stage) {
      await useEach(stage, [{ compute: 950 }]);
      stage.restart();
      await useEach(stage, [{ compute: 960 }]);
    },
    tells: [crossed(90)],
  },
  {
    name: 'limits of the configuration are told of a project and of all projects together',
    options: {
      settings: {
        usage: {
          thresholds_percent: [50, 100],
          account_limits: { compute_time_seconds: 1_000, active_time_seconds: 10_000 },
          project_limits: { [PROJECT_ID]: { active_time_seconds: 400 } },
        },
      },
    },
    async script(stage) {
      stage.service.addProject('other-pond-12345678');
      await useEach(stage, [
        { compute: 240, active: 300, quota: null },
        { compute: 260, active: 400, quota: null },
        { compute: 500, active: 400, quota: null },
      ]);
    },
    tells: [
      'Project Discovered: other-pond-12345678',
      crossedByAll(100),
      crossedByAll(50),
      crossed(100, 'active_time_seconds configuration'),
      crossed(50, 'active_time_seconds configuration'),
    ],
  },
  {
    name: 'without a threshold nothing is told of usage, and nothing is written',
    options: { settings: { usage: { thresholds_percent: [] } } },
    script: (stage) => useEach(stage, [{ compute: 5_000 }]),
    tells: [],
    also: (stage) => expect(stage.table.sync.items().filter(({ usage }) => usage !== undefined)).toEqual([]),
  },
  {
    name: 'a history of the usage is written at most four times a day, and only when something was used',
    options: { settings: { usage: { keeps_history: true } } },
    async script(stage) {
      for (const compute of [3_600, 3_700, 7_100, 7_100]) {
        use(stage, { compute, quota: null });
        await stage.runS(STEP_S);
        await stage.rest(12 * 3_600 * 1_000);
      }
      use(stage, { compute: 7_200, quota: null });
      await stage.runS(60);
      await stage.rest(6 * 3_600 * 1_000);
      await stage.runS(60);
      const { status, body } = await stage.ask('GET', '/bridge/v1/usage');
      expect(status).toBe(200);
      expect(body.projects).toEqual([
        {
          project_id: PROJECT_ID,
          resets_at: '2026-02-01T00:00:00.000Z',
          read_at: expect.any(String),
          active_time_seconds: 0,
          compute_time_seconds: 7_200,
          limits: [],
          compute_hours_by_day: [
            { day: '2026-01-15', hours: 0 },
            { day: '2026-01-16', hours: 0.97 },
            { day: '2026-01-17', hours: 0.03 },
          ],
        },
      ]);
      expect(body.account).toMatchObject({ compute_time_seconds: 7_200 });
    },
    tells: [],
    crashes: false, // The script looks at what one process has written.
    also(stage) {
      const usage = stage.table.sync.items().find(({ sk }) => sk === 'PROJECT')?.['usage'];
      expect(usage).toMatchObject({
        compute_time_seconds: 7_200,
        days: { 0: 3_600, '2026-01-15': 3_600, '2026-01-16': 7_100, '2026-01-17': 7_200 },
      });
    },
  },
  {
    name: 'a new project that has used its quota is told of with the reading that has shown it, whenever that comes',
    async script(stage) {
      use(stage, { compute: 1_000 });
      await stage.runS(STEP_S);
      for (const [place, projectId] of NEW_PROJECTS.entries())
        stage.at(place * 9_730, () => stage.service.addProject(projectId));
      await stage.runS(NEW_PROJECTS.length * 10);
    },
    also({ events }) {
      const crossedAtMs = new Map(
        events('Project Usage Crossed').map(({ atMs, detail }) => [detail['project_id'], atMs]),
      );
      const waits = events('Project Discovered').map(
        ({ atMs, detail }) => (crossedAtMs.get(detail['project_id']) ?? Number.NaN) - atMs,
      );
      expect(waits).toHaveLength(NEW_PROJECTS.length);
      for (const waitMs of waits) expect(waitMs).toBeLessThan(1_000);
    },
    crashes: false, // The times are those of one process.
  },
];
