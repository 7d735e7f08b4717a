/** Scripts about an account and its projects: their first sight, their ends and returns, their health, and their settings. */

import { expect } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../bridge.ts';
import { anOperationRow, PROJECT_ID, timeOf } from '../rows.ts';
import type { Scenario, Stage } from './scenario.ts';

const OTHER = 'other-pond-12345678';
const DISCOVERED = `Project Discovered: ${PROJECT_ID}`;
const OTHER_DISCOVERED = `Project Discovered: ${OTHER}`;
const GONE = `Project Unreachable: ${PROJECT_ID} gone`;
const NOT_READ = `Project Unreachable: ${PROJECT_ID} not_read`;
const FAILING = 'Account Degraded: upstream_failing';
const WELL_AGAIN = 'Account Recovered: upstream_failing';
const REJECTED = 'Account Degraded: key_rejected';
const VALID_AGAIN = 'Account Recovered: key_rejected';
const ENDED = ['1: finished'];

const LIST_OF_PROJECTS = '/projects';
const isOf = (projectId: string, path: string) => path.startsWith(`/projects/${projectId}/`);
const end = ({ begin }: Stage, number = 1, fields = {}) => begin(number, { status: 'finished', ...fields });

/** The operations of this project cannot be read, or all operations cannot. */
function refuse({ service }: Stage, status: number, projectId?: string): void {
  service.dials.answers = ({ path }) => {
    const isMeant = projectId === undefined ? path !== LIST_OF_PROJECTS : isOf(projectId, path);
    return isMeant ? { status } : undefined;
  };
}

function heal({ service }: Stage): void {
  service.dials.answers = () => undefined;
}

/** A list shows these projects and a row that cannot be read. */
function listWithBadRow(projectIds: readonly string[]) {
  const rows = projectIds.map((id) => ({ id, created_at: timeOf(0) }));
  return { status: 200, body: { projects: [...rows, { name: 'no id' }] } };
}

/** A second project is known before the script begins. */
async function withOther(stage: Stage): Promise<void> {
  stage.service.addProject(OTHER);
  await stage.runS(60);
}

const GONE_PROJECTS: readonly Scenario[] = [
  {
    name: 'a project that answers 404 for less than a minute is not gone',
    async script(stage) {
      await withOther(stage);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(40);
      stage.service.addProject(PROJECT_ID);
      end(stage);
      await stage.runS(120);
    },
    tells: [...ENDED, OTHER_DISCOVERED],
  },
  {
    name: 'a project that answers 404 is not gone while no list can be read, and is once the list lacks it',
    async script(stage) {
      await withOther(stage);
      stage.service.removeProject(PROJECT_ID);
      stage.service.dials.answers = ({ path }) => (path === LIST_OF_PROJECTS ? { status: 500 } : undefined);
      await stage.runS(540);
      expect(stage.events('Project Unreachable')).toEqual([]);
      heal(stage);
      await stage.runS(420);
    },
    tells: [OTHER_DISCOVERED, GONE],
    crashes: false, // A process that dies begins its evidence anew.
  },
  {
    name: 'a project of several that is deleted is told as gone within four minutes',
    async script(stage) {
      await withOther(stage);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(240);
    },
    tells: [OTHER_DISCOVERED, GONE],
    crashes: false, // A process that dies begins its evidence anew.
  },
  {
    name: 'all projects of an account that are deleted at once are told as gone, each once',
    async script(stage) {
      for (let place = 0; place < 8; place++) stage.service.addProject(`pond-${place}-12345678`);
      await stage.runS(90);
      for (let place = 0; place < 8; place++) stage.service.removeProject(`pond-${place}-12345678`);
      await stage.runS(420);
      end(stage);
      await stage.runS(60);
    },
    tells: [
      ...ENDED,
      ...Array.from({ length: 8 }, (_, place) => `Project Discovered: pond-${place}-12345678`),
      ...Array.from({ length: 8 }, (_, place) => `Project Unreachable: pond-${place}-12345678 gone`),
    ],
  },
  {
    name: 'a project that is gone stays gone in another process, and is not told again',
    async script(stage) {
      await withOther(stage);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(300);
      stage.restart();
      await stage.runS(600);
    },
    tells: [OTHER_DISCOVERED, GONE],
  },
  {
    name: 'a project that was deleted while no process ran is told as gone by the next one, once',
    async script(stage) {
      await withOther(stage);
      stage.restart();
      stage.service.removeProject(PROJECT_ID);
      await stage.rest(HOUR_MS);
      await stage.runS(240);
      stage.restart();
      await stage.runS(240);
    },
    tells: [OTHER_DISCOVERED, GONE],
    crashes: false, // A process that dies begins its evidence anew.
  },
  {
    name: 'a project that a process does not find in its first list is no news when a later list shows it',
    async script(stage) {
      await withOther(stage);
      stage.restart();
      stage.service.dials.answers = ({ path }) =>
        path === LIST_OF_PROJECTS ? { status: 200, body: { projects: [{ id: OTHER }] } } : undefined;
      await stage.runS(60);
      end(stage);
      await stage.runS(60);
      heal(stage);
      await stage.runS(240);
    },
    tells: [...ENDED, OTHER_DISCOVERED],
  },
  {
    name: 'a project that cannot be read is told once as not read, although the table refuses to note it at first',
    async script(stage) {
      await withOther(stage);
      refuse(stage, 500, PROJECT_ID);
      await stage.runS(540);
      stage.dials.table = (call, key) =>
        call === 'update' && key?.pk.includes(PROJECT_ID) === true
          ? { error: Object.assign(new Error('no'), { name: 'ThrottlingException' }) }
          : undefined;
      await stage.runS(240);
      stage.dials.table = () => undefined;
      await stage.runS(240);
    },
    tells: [OTHER_DISCOVERED, NOT_READ],
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'an account whose only project is gone is not degraded',
    async script(stage) {
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(900);
    },
    tells: [GONE],
  },
  {
    name: 'a project that is gone and comes back has its later operations told as news, and its old ones not again',
    async script(stage) {
      await withOther(stage);
      end(stage);
      await stage.runS(60);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(300);
      await stage.rest(3 * DAY_MS);
      stage.service.addProject(PROJECT_ID);
      end(stage, 2);
      await stage.runS(240);
    },
    tells: [...ENDED, '2: finished', OTHER_DISCOVERED, DISCOVERED, GONE],
    crashes: false, // A process that dies begins its evidence anew, and the project is back before it has any.
  },
  {
    name: 'a list that lacks a project once, and an operation that answers 404 once, prove nothing together',
    async script(stage) {
      await withOther(stage);
      let lists = 0;
      let reads = 0;
      stage.service.dials.answers = ({ path }) => {
        if (path === LIST_OF_PROJECTS && lists++ === 0) return { status: 200, body: { projects: [] } };
        return isOf(PROJECT_ID, path) && reads++ === 0 ? { status: 404 } : undefined;
      };
      await stage.runS(300);
      end(stage);
      await stage.runS(60);
    },
    tells: [...ENDED, OTHER_DISCOVERED],
  },
  {
    name: 'a project that the configuration names is gone after ten minutes of 404, and asked for seldom from then on',
    options: { settings: { project_ids: [PROJECT_ID, OTHER] } },
    async script(stage) {
      await stage.runS(60);
      stage.service.addProject(OTHER);
      await stage.runS(60);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(300);
      expect(stage.events('Project Unreachable')).toEqual([]);
      await stage.runS(900);
      const before = stage.requests(new RegExp(`${PROJECT_ID}/operations$`));
      await stage.runS(300);
      expect(stage.requests(new RegExp(`${PROJECT_ID}/operations$`)) - before).toBeLessThanOrEqual(10);
    },
    tells: [GONE],
    crashes: false, // The ten minutes begin anew in a process that begins.
  },
  {
    name: 'a project that the configuration names and that answers again is discovered once',
    options: { settings: { project_ids: [PROJECT_ID, OTHER] } },
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(60);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(1_500);
      stage.service.addProject(PROJECT_ID);
      end(stage);
      await stage.runS(400);
    },
    tells: [...ENDED, DISCOVERED, GONE],
    crashes: false, // The ten minutes begin anew in a process that begins.
  },
  {
    name: 'a gone project of the configuration stays gone in another process, which discovers it when it answers',
    options: { settings: { project_ids: [PROJECT_ID, OTHER] } },
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(60);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(1_200);
      stage.restart();
      await stage.runS(1_200);
      stage.service.addProject(PROJECT_ID);
      await stage.runS(1_000);
    },
    tells: [DISCOVERED, GONE],
    crashes: false, // The ten minutes begin anew in a process that begins.
  },
  {
    name: 'a project whose operations answer 404 while rows of the list cannot be read is not gone within ten minutes',
    async script(stage) {
      await withOther(stage);
      stage.service.dials.answers = ({ path }) => {
        if (path === LIST_OF_PROJECTS) return listWithBadRow([OTHER]);
        return isOf(PROJECT_ID, path) ? { status: 404 } : undefined;
      };
      await stage.runS(300);
      heal(stage);
      end(stage);
      await stage.runS(300);
    },
    tells: [...ENDED, OTHER_DISCOVERED],
    also: ({ measured }) => expect([...measured.keys()]).toContain('MalformedRows'),
  },
  {
    name: 'a project whose operations answer 404 while rows of the list cannot be read is gone after a quarter of an hour',
    async script(stage) {
      await withOther(stage);
      stage.service.dials.answers = ({ path }) => {
        if (path === LIST_OF_PROJECTS) return listWithBadRow([OTHER]);
        return isOf(PROJECT_ID, path) ? { status: 404 } : undefined;
      };
      await stage.runS(900);
    },
    tells: [OTHER_DISCOVERED, GONE],
    crashes: false, // A process that dies begins its evidence anew.
  },
  {
    name: 'what a project that is gone has left unpublished is told all the same',
    async script(stage) {
      await withOther(stage);
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      end(stage);
      await stage.runS(30);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(300);
      stage.dials.bus = () => undefined;
      await stage.runS(120);
    },
    tells: [...ENDED, OTHER_DISCOVERED, GONE],
    crashes: false, // A process that dies begins its evidence anew.
  },
];

const UNREAD_PROJECTS: readonly Scenario[] = [
  ...[500, 403].map(
    (status): Scenario => ({
      name: `a project that answers ${status} while another is read is told as not read once, across processes`,
      async script(stage) {
        await withOther(stage);
        refuse(stage, status, PROJECT_ID);
        await stage.runS(400);
        stage.restart();
        await stage.runS(400);
        stage.restart();
        await stage.runS(400);
        heal(stage);
        end(stage);
        await stage.runS(400);
      },
      tells: [...ENDED, OTHER_DISCOVERED, DISCOVERED, NOT_READ],
    }),
  ),
  {
    name: 'a project that cannot be read for nine minutes is told by nothing',
    async script(stage) {
      await withOther(stage);
      refuse(stage, 500, PROJECT_ID);
      await stage.runS(540);
      heal(stage);
      end(stage);
      await stage.runS(120);
    },
    tells: [...ENDED, OTHER_DISCOVERED],
  },
  {
    name: 'no project is told as not read while nothing of the account can be read',
    async script(stage) {
      await withOther(stage);
      stage.service.dials.answers = () => ({ status: 500 });
      await stage.runS(1_200);
      heal(stage);
      end(stage);
      await stage.runS(420);
    },
    tells: [...ENDED, FAILING, WELL_AGAIN, OTHER_DISCOVERED],
  },
  {
    name: 'a process that has had no answer of another project yet tells none as not read',
    async script(stage) {
      await withOther(stage);
      stage.begin(1);
      await stage.runS(20);
      refuse(stage, 500, PROJECT_ID);
      await stage.runS(540);
      stage.restart();
      stage.service.dials.answers = ({ path }) => (isOf(PROJECT_ID, path) ? { status: 500 } : 'never');
      await stage.runS(170);
      heal(stage);
      stage.change(1, { status: 'finished' });
      await stage.runS(400);
    },
    tells: ['1: running', '1: running -> finished', OTHER_DISCOVERED],
    crashes: false, // A process that dies lets the ten minutes pass while another one reads the other project.
  },
  {
    name: 'the last project to be read after an outage of all is not told as not read at once',
    async script(stage) {
      await withOther(stage);
      stage.service.dials.answers = () => ({ status: 500 });
      await stage.runS(900);
      refuse(stage, 500, PROJECT_ID);
      await stage.runS(300);
      heal(stage);
      end(stage);
      await stage.runS(300);
    },
    tells: [...ENDED, FAILING, WELL_AGAIN, OTHER_DISCOVERED],
  },
  {
    name: 'a project that fails beside a pause of the bridge has its ten minutes counted anew',
    async script(stage) {
      await withOther(stage);
      refuse(stage, 500, PROJECT_ID);
      await stage.runS(120);
      await stage.rest(HOUR_MS);
      await stage.runS(240);
      heal(stage);
      end(stage);
      await stage.runS(400);
    },
    tells: [...ENDED, OTHER_DISCOVERED],
  },
  {
    name: 'the only project of an account that cannot be read is told beside the account, since the list is answered',
    async script(stage) {
      refuse(stage, 500);
      await stage.runS(900);
      heal(stage);
      end(stage);
      await stage.runS(420);
    },
    tells: [...ENDED, FAILING, WELL_AGAIN, DISCOVERED, NOT_READ],
  },
  {
    name: 'a project that cannot be read does not degrade its account while others are read',
    async script(stage) {
      await withOther(stage);
      refuse(stage, 500, PROJECT_ID);
      await stage.runS(420);
      heal(stage);
      await stage.runS(60);
    },
    tells: [OTHER_DISCOVERED],
  },
  {
    name: 'what happened in a project while it could not be read is told once it can',
    async script(stage) {
      await withOther(stage);
      refuse(stage, 500, PROJECT_ID);
      stage.begin(1);
      stage.change(1, { status: 'failed', failures_count: 1 }, 100);
      stage.change(1, { status: 'finished' }, 300);
      for (let number = 2; number < 30; number++) stage.begin(number, { status: 'finished' }, number * 10);
      await stage.runS(400);
      heal(stage);
      await stage.runS(240);
    },
    tells: [
      '1: finished, failures 1',
      ...Array.from({ length: 28 }, (_, place) => `${place + 2}: finished`),
      OTHER_DISCOVERED,
    ],
  },
  {
    name: 'a failed page in the middle of a long list makes no project unreachable',
    async script(stage) {
      await withOther(stage);
      stage.service.dials.pageRowsMax = 5;
      for (let number = 1; number <= 40; number++) end(stage, number);
      let count = 0;
      stage.service.dials.answers = ({ path, query }) =>
        isOf(PROJECT_ID, path) && query.has('cursor') && count++ % 3 === 2 ? { status: 502 } : undefined;
      await stage.runS(900);
    },
    tells: [...Array.from({ length: 40 }, (_, place) => `${place + 1}: finished`), OTHER_DISCOVERED],
  },
];

const HEALTH: readonly Scenario[] = [
  {
    name: 'a project list that fails for ever degrades no account, and hardly costs a request',
    async script(stage) {
      stage.service.dials.answers = ({ path }) => (path === LIST_OF_PROJECTS ? { status: 500 } : undefined);
      const before = stage.requests(/^GET \/projects$/);
      await stage.runS(900);
      expect(stage.requests(/^GET \/projects$/) - before).toBeLessThanOrEqual(75);
      end(stage);
      await stage.runS(60);
    },
    tells: ENDED,
    // A process that has never listed the projects asks for the list every few seconds.
    crashes: false,
  },
  {
    name: 'operations that all fail degrade the account although the project list answers',
    async script(stage) {
      await withOther(stage);
      refuse(stage, 503);
      await stage.runS(300);
      heal(stage);
      end(stage);
      await stage.runS(300);
    },
    tells: [...ENDED, FAILING, WELL_AGAIN, OTHER_DISCOVERED],
  },
  {
    name: 'an account whose key cannot be read from its secret is degraded once, and recovers once',
    async script(stage) {
      const readKey = stage.dials.secret;
      stage.dials.secret = () => new Error('InternalServiceError');
      await stage.runS(300);
      stage.restart();
      await stage.runS(180);
      stage.dials.secret = readKey;
      end(stage);
      await stage.runS(120);
    },
    tells: [...ENDED, FAILING, WELL_AGAIN],
  },
  {
    name: 'an outage is told, once, although each process lives for one invocation only',
    async script(stage) {
      end(stage);
      await stage.runS(60);
      refuse(stage, 500);
      for (let minute = 0; minute < 6; minute++) {
        stage.restart();
        await stage.runS(60);
      }
      heal(stage);
      await stage.runS(60);
    },
    tells: [...ENDED, FAILING, WELL_AGAIN],
  },
  {
    name: 'an account that recovers and fails again is told each time',
    async script(stage) {
      for (let turn = 0; turn < 2; turn++) {
        stage.service.dials.answers = () => ({ status: 500 });
        await stage.runS(360);
        heal(stage);
        await stage.runS(360);
      }
      end(stage);
      await stage.runS(60);
    },
    tells: [...ENDED, FAILING, FAILING, WELL_AGAIN, WELL_AGAIN],
  },
  {
    name: 'failures that a pause of hours parts degrade no account',
    async script(stage) {
      for (let turn = 0; turn < 3; turn++) {
        stage.service.dials.answers = () => ({ status: 500 });
        await stage.runS(60);
        await stage.rest(2 * HOUR_MS);
      }
      heal(stage);
      end(stage);
      await stage.runS(120);
    },
    tells: ENDED,
  },
  {
    name: 'an account that fails is told once by all its processes, and so is its recovery',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 500 });
      await stage.runS(300);
      stage.restart();
      await stage.runS(300);
      heal(stage);
      stage.restart();
      end(stage);
      await stage.runS(300);
    },
    tells: [...ENDED, FAILING, WELL_AGAIN],
  },
  {
    name: 'a rejected key is told once by all processes, and its end by the one that sees it',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 401 });
      await stage.runS(60);
      stage.restart();
      await stage.runS(60);
      stage.dials.secret = () => 'a-new-key';
      heal(stage);
      end(stage);
      await stage.runS(120);
    },
    tells: [...ENDED, REJECTED, VALID_AGAIN],
  },
  {
    name: 'a key that one operation alone rejects stops the account, too',
    async script(stage) {
      await withOther(stage);
      refuse(stage, 401, PROJECT_ID);
      await stage.runS(60);
      const before = stage.service.sent.length;
      await stage.runS(60);
      expect(stage.service.sent.length - before).toBeLessThanOrEqual(30);
      stage.dials.secret = () => 'a-new-key';
      heal(stage);
      end(stage);
      await stage.runS(120);
    },
    tells: [...ENDED, REJECTED, VALID_AGAIN, OTHER_DISCOVERED],
    crashes: false, // Whether a process that begins meets the rejection before or after another answer is left open.
  },
  {
    name: 'a rejected key costs no storm of requests, and a new one is noticed within seconds',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 401 });
      await stage.runS(30);
      const before = stage.service.sent.length;
      await stage.runS(300);
      expect(stage.service.sent.length - before).toBeLessThanOrEqual(30);
      stage.dials.secret = () => 'a-new-key';
      heal(stage);
      end(stage);
      await stage.runS(15);
      expect(stage.events('Operation State Changed')).toHaveLength(1);
      await stage.runS(60);
    },
    tells: [...ENDED, REJECTED, VALID_AGAIN],
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'a rejected key is told although the bus refuses it at first',
    async script(stage) {
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'InternalFailure' }));
      stage.service.dials.answers = () => ({ status: 401 });
      await stage.runS(120);
      stage.dials.bus = () => undefined;
      await stage.runS(120);
    },
    tells: [REJECTED],
  },
  {
    name: 'a rejected key is told although the table refuses to note it at first',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 401 });
      stage.dials.table = (call) =>
        call === 'update'
          ? { error: Object.assign(new Error('no'), { name: 'ThrottlingException' }) }
          : undefined;
      await stage.runS(90);
      stage.dials.table = () => undefined;
      await stage.runS(120);
    },
    tells: [REJECTED],
  },
  {
    name: 'an account without any project is healthy, and one whose list fails for long is not',
    isFirstSight: true,
    async script(stage) {
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(300);
      expect(stage.events()).toEqual([]);
      stage.service.dials.answers = () => ({ status: 500 });
      await stage.runS(420);
      heal(stage);
      await stage.runS(300);
    },
    tells: [FAILING, WELL_AGAIN],
  },
];

const FIRST_SIGHT: readonly Scenario[] = [
  {
    name: 'the first sight of an account says how many projects it has and how many operations fail then',
    isFirstSight: true,
    async script({ service, nowMs, runS, restart }) {
      service.addProject(OTHER);
      for (let number = 1; number <= 4; number++)
        service.put(
          anOperationRow(number, nowMs() - HOUR_MS, {
            action: 'apply_config',
            status: number < 4 ? 'failed' : 'running',
            failures_count: number < 4 ? 1 : 0,
          }),
        );
      await runS(90);
      restart();
      await runS(90);
    },
    also: ({ copies }) =>
      expect(
        copies()
          .filter(({ type }) => type === 'Account Watched')
          .map(({ detail }) => [detail['project_count'], detail['failing_count']]),
      ).toEqual([[2, 3]]),
  },
  {
    name: 'the first sight of an account is told once every project was read, and not before',
    isFirstSight: true,
    async script(stage) {
      stage.service.addProject(OTHER);
      refuse(stage, 500, OTHER);
      await stage.runS(180);
      expect(stage.copies()).toEqual([]);
      heal(stage);
      await stage.runS(420);
    },
    tells: [],
    also: ({ copies }) => expect(copies().map(({ type }) => type)).toEqual(['Account Watched']),
  },
  ...[undefined, [PROJECT_ID, OTHER]].map(
    (project_ids): Scenario => ({
      name: `the first sight of an account ${project_ids ? 'with fixed projects ' : ''}is told with all projects by a process that begins in the middle of it`,
      isFirstSight: true,
      options: { settings: { ...(project_ids && { project_ids }) } },
      async script(stage) {
        stage.service.addProject(OTHER);
        refuse(stage, 500, OTHER);
        await stage.runS(60);
        stage.restart();
        await stage.runS(120);
        expect(stage.copies()).toEqual([]);
        heal(stage);
        await stage.runS(420);
      },
      tells: [],
      also: ({ copies }) => expect(copies().map(({ detail }) => detail['project_count'])).toEqual([2]),
      takesOver: false, // The second edition says that it watches no project.
    }),
  ),
  {
    name: 'an account that cannot be listed for its first minutes takes nothing that is there for news',
    isFirstSight: true,
    async script(stage) {
      stage.service.addProject(OTHER);
      stage.service.put(anOperationRow(1, stage.nowMs() - HOUR_MS, { status: 'finished' }));
      stage.service.dials.answers = ({ path }) => (path === LIST_OF_PROJECTS ? { status: 500 } : undefined);
      await stage.runS(120);
      heal(stage);
      await stage.runS(420);
      stage.service.addProject('third-pond-12345678');
      await stage.runS(120);
    },
    tells: ['Project Discovered: third-pond-12345678'],
    exceptFor: [1],
  },
  {
    name: 'a first list with a row that cannot be read may hide projects, so the ones that follow soon are no news',
    isFirstSight: true,
    async script(stage) {
      stage.service.dials.answers = ({ path }) =>
        path === LIST_OF_PROJECTS ? listWithBadRow([PROJECT_ID]) : undefined;
      await stage.runS(30);
      heal(stage);
      stage.service.addProject(OTHER, timeOf(stage.nowMs() - DAY_MS));
      await stage.runS(300);
    },
    tells: [],
  },
  {
    name: 'a row of the list that can never be read hides the news of other projects for a few minutes only',
    isFirstSight: true,
    async script(stage) {
      const listed = [PROJECT_ID];
      stage.service.dials.answers = ({ path }) =>
        path === LIST_OF_PROJECTS ? listWithBadRow(listed) : undefined;
      await stage.runS(240);
      stage.service.addProject(OTHER);
      listed.push(OTHER);
      await stage.runS(60);
    },
    tells: [OTHER_DISCOVERED],
    crashes: false, // The next process counts its lists anew.
  },
  {
    name: 'a process that dies in the middle of the first sight leaves history untold to the next one',
    isFirstSight: true,
    async script(stage) {
      stage.service.dials.pageRowsMax = 5;
      for (let number = 1; number <= 60; number++)
        stage.service.put(
          anOperationRow(number, stage.nowMs() - number * MINUTE_MS, {
            action: 'apply_config',
            status: 'finished',
          }),
        );
      await stage.runS(3);
      stage.restart();
      await stage.runS(180);
      end(stage, 61);
      await stage.runS(60);
    },
    tells: ['61: finished'],
    exceptFor: Array.from({ length: 60 }, (_, place) => place + 1),
  },
  {
    name: 'a project that becomes visible later and is older than the bridge has history, which is not told',
    async script(stage) {
      stage.service.put(
        anOperationRow(1, stage.nowMs() - 10 * DAY_MS, { project_id: OTHER, status: 'finished' }),
      );
      stage.service.addProject(OTHER, timeOf(stage.nowMs() - 20 * DAY_MS));
      await stage.runS(120);
      end(stage, 2, { project_id: OTHER });
      await stage.runS(60);
    },
    tells: ['2: finished', OTHER_DISCOVERED],
    exceptFor: [1],
  },
  {
    name: 'a project that becomes visible later has its history told as backfill when all history is wanted',
    options: { settings: { backfill: 'all' } },
    async script(stage) {
      stage.service.put(
        anOperationRow(1, stage.nowMs() - 10 * DAY_MS, {
          project_id: OTHER,
          action: 'apply_config',
          status: 'finished',
        }),
      );
      stage.service.addProject(OTHER, timeOf(stage.nowMs() - 20 * DAY_MS));
      await stage.runS(120);
    },
    tells: ['1: finished (backfill)', OTHER_DISCOVERED],
  },
  {
    name: 'a project that is younger than the bridge has news from its first operation on',
    async script(stage) {
      await stage.rest(HOUR_MS);
      stage.service.addProject(OTHER, timeOf(stage.nowMs() - 20 * MINUTE_MS));
      stage.service.put(
        anOperationRow(1, stage.nowMs() - 20 * MINUTE_MS, {
          project_id: OTHER,
          action: 'apply_config',
          status: 'finished',
        }),
      );
      await stage.runS(120);
    },
    tells: [...ENDED, OTHER_DISCOVERED],
  },
];

const SETTINGS: readonly Scenario[] = [
  {
    name: 'a poll interval of the configuration is kept, whatever else is allowed',
    options: { settings: { poll_interval_seconds: 30 } },
    async script(stage) {
      end(stage);
      const fromMs = stage.nowMs();
      await stage.runS(600);
      const readings = stage.service.sent.filter(
        ({ atMs, path, query }) => atMs >= fromMs && path.endsWith('/operations') && !query.has('cursor'),
      );
      expect(readings.length).toBeLessThanOrEqual(21);
      expect(readings.length).toBeGreaterThanOrEqual(15);
    },
    tells: ENDED,
  },
  {
    name: 'ten requests a minute are kept to, and everything is told in the end',
    options: { settings: { requests_per_minute: 10, command_requests_per_minute: 0 } },
    async script(stage) {
      for (let number = 1; number <= 6; number++) end(stage, number);
      await stage.runS(600);
    },
    tells: [1, 2, 3, 4, 5, 6].map((number) => `${number}: finished`),
    also: ({ service }) =>
      expect(mostWithinAMinute(service.sent.map(({ atMs }) => atMs))).toBeLessThanOrEqual(13),
  },
  {
    name: 'an invocation that ends as soon as nothing is expected tells what began meanwhile a minute later',
    options: { settings: { linger_seconds: 0 } },
    async script(stage) {
      for (let number = 1; number <= 5; number++) {
        stage.begin(number, {}, number * 50);
        stage.change(number, { status: 'finished' }, number * 50 + 30);
      }
      await stage.runS(420);
    },
    also: ({ events }) =>
      expect(
        events('Operation State Changed').filter(({ detail }) => detail.status === 'finished'),
      ).toHaveLength(5),
  },
  {
    name: 'an invocation that may end early goes on while an operation is open',
    options: { settings: { linger_seconds: 0 } },
    async script(stage) {
      stage.begin(1);
      stage.change(1, { status: 'failed', failures_count: 1 }, 70);
      stage.change(1, { status: 'running' }, 75);
      stage.change(1, { status: 'finished' }, 100);
      await stage.runS(240);
    },
    also: ({ events }) =>
      expect(events('Operation State Changed').at(-1)?.detail).toMatchObject({
        status: 'finished',
        failures_count: 1,
      }),
  },
  {
    name: 'projects beside those of the configuration are never asked for',
    options: { settings: { project_ids: [PROJECT_ID] } },
    async script(stage) {
      stage.service.addProject(OTHER);
      end(stage, 2, { project_id: OTHER });
      end(stage);
      await stage.runS(120);
    },
    tells: ENDED,
    exceptFor: [2],
    also: ({ requests }) => {
      expect(requests(new RegExp(OTHER))).toBe(0);
      expect(requests(/^GET \/projects$/)).toBe(0);
    },
  },
  {
    name: 'with backfill "none" an operation that is open at first sight is told when it changes, also by a later process',
    isFirstSight: true,
    options: { settings: { backfill: 'none' } },
    async script({ service, nowMs, runS, restart, change }) {
      service.put(anOperationRow(1, nowMs() - MINUTE_MS, { action: 'apply_config' }));
      service.put(anOperationRow(2, nowMs() - HOUR_MS, { action: 'apply_config', status: 'finished' }));
      await runS(60);
      restart();
      change(1, { status: 'finished' });
      await runS(120);
    },
    tells: ['1: running -> finished'],
    exceptFor: [1, 2],
  },
  {
    name: 'with backfill "all" a long history is told once, oldest and newest alike',
    isFirstSight: true,
    options: { settings: { backfill: 'all' } },
    async script({ service, nowMs, runS }) {
      service.dials.pageRowsMax = 9;
      for (let number = 1; number <= 50; number++)
        service.put(
          anOperationRow(number, nowMs() - number * DAY_MS, { action: 'apply_config', status: 'finished' }),
        );
      await runS(240);
    },
    tells: Array.from({ length: 50 }, (_, place) => `${place + 1}: finished (backfill)`),
  },
];

function mostWithinAMinute(times: readonly number[]): number {
  return Math.max(
    ...times.map((from) => times.filter((atMs) => atMs >= from && atMs < from + MINUTE_MS).length),
  );
}

export const ACCOUNT: readonly Scenario[] = [
  ...GONE_PROJECTS,
  ...UNREAD_PROJECTS,
  ...HEALTH,
  ...FIRST_SIGHT,
  ...SETTINGS,
];
