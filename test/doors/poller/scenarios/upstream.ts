/** Scripts about an upstream that refuses, breaks off, is slow or answers nonsense, and about its account and projects. */

import { expect } from 'vitest';
import { SECOND_MS } from '../bridge.ts';
import { PROJECT_ID } from '../rows.ts';
import type { Scenario, Stage } from './scenario.ts';

const OTHER = 'other-pond-12345678';
const ONE = ['1: running', '1: running -> finished'];

function oneOperation({ begin, change }: Stage): void {
  begin(1);
  change(1, { status: 'finished' }, 40);
}

const isOf = (projectId: string) => (path: string) => path.startsWith(`/projects/${projectId}`);
const isList = (path: string) => path.endsWith('/operations');

export const UPSTREAM: readonly Scenario[] = [
  ...[
    { status: 429, headers: { 'retry-after': '5' } },
    { status: 500 },
    { status: 502, body: '<html>Bad Gateway</html>' },
    { status: 503, headers: { 'retry-after': '3' } },
    { status: 200, body: 'no JSON' },
    { status: 200, body: { operations: 'no list' } },
    { status: 200, body: { error: 'an error with the status of a success' } },
    { status: 302, headers: { location: 'https://elsewhere.example/' } },
    { status: 403 },
    { status: 418 },
    'reset' as const,
    'never' as const,
  ].map(
    (answer): Scenario => ({
      name: `lists that answer ${JSON.stringify(answer)} for a minute lose nothing`,
      async script(stage) {
        oneOperation(stage);
        await stage.runS(20);
        stage.service.dials.answers = ({ path }) => (isList(path) ? answer : undefined);
        await stage.runS(60);
        stage.service.dials.answers = () => undefined;
        await stage.runS(120);
      },
      tells: ONE,
    }),
  ),
  {
    name: 'a pause that the upstream asks for is honoured',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 429, headers: { 'retry-after': '30' } });
      await stage.runS(10);
      const before = stage.service.sent.length;
      await stage.runS(15);
      expect(stage.service.sent.length - before).toBeLessThanOrEqual(1);
      stage.service.dials.answers = () => undefined;
      oneOperation(stage);
      await stage.runS(120);
    },
    tells: ONE,
    crashes: false,
  },
  {
    name: 'the poller never sends more than its share of a minute, whatever there is to read',
    options: { settings: { requests_per_minute: 30, command_requests_per_minute: 0 } },
    async script(stage) {
      for (let place = 0; place < 20; place++) stage.service.addProject(`pond-${place}-12345678`);
      for (let number = 1; number < 40; number++)
        stage.begin(number, { project_id: `pond-${number % 20}-12345678` });
      await stage.runS(240);
      const { sent } = stage.service;
      for (const { atMs } of sent) {
        const within = sent.filter((other) => other.atMs >= atMs && other.atMs < atMs + 60_000);
        expect(within.length).toBeLessThanOrEqual(36);
      }
    },
    tells: [
      ...Array.from({ length: 39 }, (_, place) => `${place + 1}: running`),
      ...Array.from({ length: 20 }, (_, place) => `Project Discovered: pond-${place}-12345678`).toSorted(),
    ],
    crashes: false,
  },
  {
    name: 'a rejected key stops the account at once, is told once, and so is its end',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 401 });
      await stage.runS(60);
      expect(stage.service.sent.length).toBeLessThan(60);
      stage.dials.secret = () => 'a-new-key';
      stage.service.dials.answers = () => undefined;
      oneOperation(stage);
      await stage.runS(120);
    },
    tells: [...ONE, 'Account Degraded: key_rejected', 'Account Recovered: key_rejected'],
    crashes: false,
  },
  {
    name: 'an account of which nothing can be read for three minutes is degraded once, and recovers once',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 500 });
      await stage.runS(420);
      stage.service.dials.answers = () => undefined;
      stage.begin(1, { status: 'finished' });
      await stage.runS(420);
    },
    tells: ['1: finished', 'Account Degraded: upstream_failing', 'Account Recovered: upstream_failing'],
    crashes: false,
  },
  {
    name: 'failures of less than three minutes are told to nobody',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 500 });
      await stage.runS(120);
      stage.service.dials.answers = () => undefined;
      stage.begin(1, { status: 'finished' });
      await stage.runS(180);
    },
    tells: ['1: finished'],
  },
  {
    name: 'a project that appears is told as discovered, with all its operations',
    async script(stage) {
      stage.service.addProject(OTHER);
      stage.begin(1, { project_id: OTHER, status: 'finished' });
      await stage.runS(120);
    },
    tells: ['1: finished', `Project Discovered: ${OTHER}`],
  },
  {
    name: 'a project that the table refuses when it appears is told a few seconds after the table takes it',
    async script(stage) {
      stage.service.addProject(OTHER);
      stage.dials.table = (_, key) =>
        key?.pk.endsWith(OTHER) === true ? { error: new Error('throttled') } : undefined;
      stage.at(20 * SECOND_MS, () => {
        stage.dials.table = () => undefined;
      });
      await stage.runS(45);
    },
    tells: [`Project Discovered: ${OTHER}`],
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'what is there when an account is seen first is no news',
    isFirstSight: true,
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(120);
    },
    tells: [],
    also: ({ copies }) => expect(copies().filter(({ type }) => type === 'Account Watched')).toHaveLength(1),
  },
  {
    name: 'a deleted project is unreachable, told once, and asked for seldom',
    async script(stage) {
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(600);
      const before = stage.requests(/\/operations/);
      await stage.runS(120);
      expect(stage.requests(/\/operations/) - before).toBeLessThanOrEqual(2);
    },
    tells: [`Project Unreachable: ${PROJECT_ID} gone`],
    crashes: false,
  },
  {
    name: 'a project that comes back is discovered again, and nothing of it is told twice',
    async script(stage) {
      stage.begin(1, { status: 'finished' });
      await stage.runS(60);
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(600);
      stage.service.addProject(PROJECT_ID);
      await stage.runS(300);
      stage.begin(2, { status: 'finished' });
      await stage.runS(120);
    },
    tells: [
      '1: finished',
      '2: finished',
      `Project Discovered: ${PROJECT_ID}`,
      `Project Unreachable: ${PROJECT_ID} gone`,
    ],
    crashes: false,
  },
  {
    name: 'a project that the list lacks while its operations answer is not gone',
    async script(stage) {
      stage.service.dials.answers = ({ path }) =>
        path === '/projects' ? { status: 200, body: { projects: [] } } : undefined;
      await stage.runS(600);
      oneOperation(stage);
      await stage.runS(120);
    },
    tells: ONE,
    crashes: false,
  },
  {
    name: 'a project whose operations answer 404 while the list shows it is not gone',
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(60);
      stage.service.dials.answers = ({ path }) =>
        isOf(PROJECT_ID)(path) && isList(path) ? { status: 404 } : undefined;
      await stage.runS(500);
      stage.service.dials.answers = () => undefined;
      stage.begin(1, { status: 'finished' });
      await stage.runS(600);
    },
    tells: ['1: finished', `Project Discovered: ${OTHER}`],
    crashes: false,
  },
  {
    name: 'a project that cannot be read for ten minutes is told once as not read, and once it is read again',
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(60);
      stage.service.dials.answers = ({ path }) =>
        isOf(PROJECT_ID)(path) && isList(path) ? { status: 500 } : undefined;
      await stage.runS(900);
      stage.service.dials.answers = () => undefined;
      oneOperation(stage);
      await stage.runS(120);
    },
    tells: [
      ...ONE,
      `Project Discovered: ${OTHER}`,
      `Project Discovered: ${PROJECT_ID}`,
      `Project Unreachable: ${PROJECT_ID} not_read`,
    ],
    crashes: false,
  },
  {
    name: 'a sick project delays no other',
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(60);
      stage.service.dials.answers = ({ path }) => (isOf(OTHER)(path) ? 'never' : undefined);
      oneOperation(stage);
      await stage.runS(90);
    },
    tells: [...ONE, `Project Discovered: ${OTHER}`],
  },
  {
    name: 'a project that is listed as unavailable is polled all the same',
    async script(stage) {
      stage.service.dials.answers = ({ path }) =>
        path === '/projects'
          ? { status: 200, body: { projects: [], unavailable_project_ids: [PROJECT_ID] } }
          : undefined;
      oneOperation(stage);
      await stage.runS(120);
    },
    tells: ONE,
  },
  {
    name: 'projects that the configuration names are polled without any list',
    options: { settings: { project_ids: [PROJECT_ID] } },
    async script(stage) {
      oneOperation(stage);
      await stage.runS(90);
    },
    tells: ONE,
    also: ({ requests }) => expect(requests(/^GET \/projects$/)).toBe(0),
  },
  {
    name: 'a project list of many pages is read to its end',
    async script(stage) {
      for (let place = 10; place < 40; place++) stage.service.addProject(`pond-${place}-12345678`);
      stage.service.dials.pageRowsMax = 3;
      stage.begin(1, { project_id: 'pond-39-12345678', status: 'finished' });
      await stage.runS(180);
    },
    tells: [
      '1: finished',
      ...Array.from({ length: 30 }, (_, place) => `Project Discovered: pond-${place + 10}-12345678`),
    ],
    crashes: false,
  },
  {
    name: 'a request that is never answered ends with its invocation',
    async script(stage) {
      const waiting: number[] = [];
      stage.at(47_000, () => {
        stage.service.dials.answers = ({ path }) => (isList(path) ? 'never' : undefined);
      });
      // The invocation is told to end after 54 seconds.
      for (const atS of [53, 55])
        stage.at(atS * 1_000, () => void waiting.push(stage.service.waitingCount()));
      await stage.runS(60);
      expect(waiting).toEqual([1, 0]);
      stage.service.dials.answers = () => undefined;
      stage.begin(1, { status: 'finished' });
      await stage.runS(60);
    },
    tells: ['1: finished'],
    crashes: false, // A process that dies leaves its request.
  },
  {
    name: 'an invocation that may end early does so once nothing is expected',
    options: { settings: { linger_seconds: 5 } },
    async script(stage) {
      await stage.runS(120);
    },
    tells: [],
    also: ({ requests }) => expect(requests(/\/operations$/)).toBeLessThanOrEqual(10),
    crashes: false,
  },
];
