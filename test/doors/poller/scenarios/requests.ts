/** Scripts about how requests are spent: at which rate, on which project, and what hints are worth. */

import { expect } from 'vitest';
import { MINUTE_MS, SECOND_MS } from '../bridge.ts';
import type { Published } from '../promises.ts';
import { anOperationRow, PROJECT_ID, timeOf } from '../rows.ts';
import { delayMsOf, type Scenario, type Stage } from './scenario.ts';

const OTHER = 'other-pond-12345678';
const OTHER_DISCOVERED = `Project Discovered: ${OTHER}`;

/** Accounts of these scripts have so many projects more. */
export const MANY = Array.from({ length: 30 }, (_, place) => `pond-${place + 10}-12345678`);

/** They are told of when they appear. */
export const DISCOVERED = MANY.map((projectId) => `Project Discovered: ${projectId}`);

/** No minute has more requests to the upstream than this. */
export function expectRate({ service }: Stage, most: number): void {
  const times = service.sent.map(({ atMs }) => atMs);
  for (const from of times)
    expect(times.filter((atMs) => atMs >= from && atMs < from + MINUTE_MS).length).toBeLessThanOrEqual(most);
}

/** Returns the mean time from a change to its event. */
function meanDelayMs(events: readonly Published[]): number {
  return events.map(delayMsOf).reduce((sum, each) => sum + each, 0) / events.length;
}

/** Lists the scripts of this file. */
export const REQUESTS: readonly Scenario[] = [
  {
    name: 'thirty projects without any news are all read again and again, at the rate that is allowed',
    options: { settings: { requests_per_minute: 120, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(120);
      const fromMs = stage.nowMs();
      await stage.runS(120);
      for (const projectId of MANY) {
        const readings = stage.service.sent.filter(
          ({ atMs, path }) => atMs >= fromMs && path === `/projects/${projectId}/operations`,
        );
        expect(readings.length).toBeGreaterThanOrEqual(2);
      }
      expectRate(stage, 160);
    },
    tells: DISCOVERED,
    crashes: false, // The figure is that of one process.
  },
  {
    name: 'a project that is busy is read more often than one that is not',
    options: { settings: { requests_per_minute: 60, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      for (let number = 1; number <= 60; number++) {
        stage.begin(number, { project_id: 'pond-10-12345678' }, number * 10);
        stage.change(number, { status: 'finished' }, number * 10 + 5);
      }
      await stage.runS(620);
      const readings = (projectId: string) => stage.requests(new RegExp(`${projectId}/operations$`));
      expect(readings('pond-10-12345678')).toBeGreaterThan(2 * readings('pond-20-12345678'));
    },
    crashes: false, // The figure is that of one process.
  },
  {
    name: 'an operation in one of thirty quiet projects is told within half a minute',
    options: { settings: { requests_per_minute: 120, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(240);
      stage.begin(1, { status: 'finished', project_id: 'pond-27-12345678' });
      await stage.runS(30);
      expect(stage.events('Operation State Changed')).toHaveLength(1);
    },
    tells: ['1: finished', ...DISCOVERED],
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'refusals for the rate make the poller slower, and it never sends more than before them',
    options: { settings: { requests_per_minute: 300, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(120);
      const sentIn = async (seconds: number) => {
        const before = stage.service.sent.length;
        await stage.runS(seconds);
        return stage.service.sent.length - before;
      };
      const usual = await sentIn(60);
      let count = 0;
      stage.service.dials.answers = () =>
        count++ % 2 === 0 ? { status: 429, headers: { 'retry-after': '2' } } : undefined;
      const refused = await sentIn(60);
      expect(refused).toBeLessThan(usual * 0.8);
      stage.service.dials.answers = () => undefined;
      stage.begin(1, { status: 'finished' });
      await stage.runS(120);
    },
    tells: ['1: finished', ...DISCOVERED],
    crashes: false, // The figure is that of one process.
  },
  {
    name: 'a pause of five minutes that the upstream asks for is kept, and a longer one is not',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 429, headers: { 'retry-after': '3600' } });
      await stage.runS(10);
      stage.service.dials.answers = () => undefined;
      const before = stage.service.sent.length;
      await stage.runS(240);
      expect(stage.service.sent.length - before).toBeLessThanOrEqual(2);
      stage.begin(1, { status: 'finished' });
      await stage.runS(180);
    },
    also: ({ events }) => expect(events('Operation State Changed')).toHaveLength(1),
    crashes: false, // The pause is that of one process.
  },
  {
    name: 'a new project and its operations are told within a minute in an account of thirty',
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(120);
      stage.service.addProject(OTHER);
      stage.service.put(
        anOperationRow(1, stage.nowMs(), { project_id: OTHER, action: 'apply_config', status: 'finished' }),
      );
      await stage.runS(60);
      expect(stage.events('Project Discovered').at(-1)?.detail['project_id']).toBe(OTHER);
    },
    tells: ['1: finished', OTHER_DISCOVERED, ...DISCOVERED],
    crashes: false, // A process that dies leaves a lease, which the next one waits for as long.
  },
  {
    name: 'a time of the project list that moves with the operations is a hint, also where every second list lacks it',
    options: { settings: { requests_per_minute: 60, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      const movedMs = new Map<string, number>();
      let listCount = 0;
      stage.service.dials.answers = ({ path }) => {
        if (path !== '/projects') return undefined;
        listCount += 1;
        const fieldsOf = (id: string) =>
          listCount % 2 === 0 ? {} : { updated_at: timeOf(movedMs.get(id) ?? 0) };
        const projects = [...MANY, PROJECT_ID].map((id) => ({ id, created_at: timeOf(0), ...fieldsOf(id) }));
        return { status: 200, body: { projects } };
      };
      await stage.runS(300);
      for (const [place, project_id] of MANY.slice(0, 12).entries())
        stage.at((place + 1) * 25 * SECOND_MS, () => {
          stage.begin(place + 1, { status: 'finished', project_id });
          movedMs.set(project_id, stage.nowMs());
        });
      await stage.runS(360);
    },
    tells: [...MANY.slice(0, 12).map((_, place) => `${place + 1}: finished`), ...DISCOVERED],
    also: ({ events }) => {
      // Without the hint it takes half a minute, because a round of all projects takes that long.
      expect(meanDelayMs(events('Operation State Changed'))).toBeLessThan(10 * SECOND_MS);
    },
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'a suspend is told within a second and a half on average, because the list of computes says when it can come',
    options: { settings: { requests_per_minute: 120, command_requests_per_minute: 0 } },
    async script(stage) {
      const projectIds = Array.from({ length: 100 }, (_, place) => `lake-${place + 100}-12345678`);
      for (const projectId of projectIds) stage.service.addProject(projectId);
      const usedMs = new Map<string, number>();
      stage.service.dials.answers = ({ path }) => {
        const [, , projectId = '', resource] = path.split('/');
        const lastMs = usedMs.get(projectId);
        if (resource !== 'endpoints' || lastMs === undefined) return undefined;
        const times = { suspend_timeout_seconds: 300, last_active: timeOf(lastMs) };
        return {
          status: 200,
          body: { endpoints: [{ id: `ep-${projectId}`, current_state: 'active', ...times }] },
        };
      };
      await stage.runS(180);
      for (const [place, project_id] of projectIds.slice(0, 15).entries()) {
        const compute = { project_id, endpoint_id: `ep-${project_id}`, status: 'finished' };
        const beginsS = 10 + place * 40;
        stage.begin(2 * place + 1, { ...compute, action: 'start_compute' }, beginsS);
        // The compute is used for some time, and is suspended five minutes later.
        const lastS = beginsS + 60 + ((place * 137) % 400);
        for (let second = beginsS; second <= lastS; second += 20)
          stage.at(second * SECOND_MS, () => void usedMs.set(project_id, stage.nowMs()));
        stage.at((lastS + 300) * SECOND_MS, () => void usedMs.delete(project_id));
        stage.begin(2 * place + 2, { ...compute, action: 'suspend_compute' }, lastS + 300);
      }
      await stage.runS(1_440);
    },
    also: ({ events }) => {
      const suspends = events('Operation State Changed').filter(
        ({ detail }) => detail['action'] === 'suspend_compute',
      );
      expect(suspends).toHaveLength(15);
      // Without the lists it takes twice as long.
      expect(meanDelayMs(suspends)).toBeLessThan(1.4 * SECOND_MS);
    },
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
];
