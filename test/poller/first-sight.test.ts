import { expect, test } from 'vitest';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import type { AccountStatus } from '../../shared/records/account-status.ts';
import { type ProjectRecord, wasRead } from '../../shared/records/project-record.ts';
import { anOperation } from '../builders.ts';
import { START_MS } from '../simulation/close-stage.ts';
import { anAccount, PROJECT_ID } from './account-under-test.ts';

const atSecond = (seconds: number) => `${new Date(START_MS + seconds * 1_000).toISOString().slice(0, 19)}Z`;

test('the end of the first reading is published once, with what fails then, also after a cold start', async () => {
  const { script, poll, firstSights } = anAccount();
  script.operations = [
    anOperation({ id: 'running', status: 'running', created_at: atSecond(2) }),
    anOperation({ id: 'failing', status: 'failed', failures_count: 1, created_at: atSecond(1) }),
  ];

  await poll(30_000);
  await poll(30_000);
  await poll(30_000, emptyAccountMemory());

  expect(firstSights()).toMatchObject([{ account_id: 'main', project_count: 1, failing_count: 1 }]);
});

test('nothing is published while a project could not be read', async () => {
  const { script, poll, firstSights } = anAccount();
  script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
  await poll(30_000);
  expect(firstSights()).toEqual([]);

  script.fails = () => undefined;
  await poll(60_000);

  expect(firstSights()).toHaveLength(1);
});

test('a project without any operation counts as read, and is written for that once', async () => {
  const { poll, table } = anAccount();
  const project = () => table.sync.items().find(({ kind }) => kind === 'project') as unknown as ProjectRecord;

  await poll(30_000);
  const first = project();
  await poll(30_000);

  expect(wasRead(first)).toBe(true);
  expect(project()).toEqual(first);
});

test('a project whose first reading the end of an invocation has cut short is read with the next invocation', async () => {
  const { script, poll, firstSights } = anAccount({ requestsPerMinute: 60, pollsAtOnce: 8 });
  const ids = Array.from({ length: 30 }, (_, place) => `quiet-sea-${place}`);
  script.projectIds = ids;
  // Those in which something runs would be read with every permit that is left.
  script.operations = ids.map((project_id, place) =>
    anOperation({ id: `operation-${place}`, project_id, status: place % 3 === 0 ? 'running' : 'finished' }),
  );

  // The list and two pages of each project take one minute, and half of the permits go to projects that were read.
  for (let minute = 0; minute < 3; minute += 1) await poll(57_000);

  expect(firstSights()).toMatchObject([{ project_count: 30 }]);
});

test('while the project list cannot be read to its end, not every project counts as read, and the age of the readings rises', async () => {
  const { script, poll, measures, table } = anAccount();
  const status = () => table.sync.items().find(({ kind }) => kind === 'status') as unknown as AccountStatus;
  script.projectIds = [PROJECT_ID, 'behind-the-page-1'];
  script.projectPageRowsMax = 1;
  script.fails = ({ name, cursor }) =>
    name === 'projects' && cursor !== undefined ? 'unavailable' : undefined;

  for (let minute = 0; minute < 10; minute += 1) await poll(57_000);

  const ages = measures.filter(({ metric }) => metric === 'WalkAgeMs').map(({ value }) => value);
  expect(ages.at(-1)).toBeGreaterThan(500_000);
  expect(status().last_complete_walk_at).toBeUndefined();

  script.fails = () => undefined;
  for (let minute = 0; minute < 3; minute += 1) await poll(57_000);
  expect(measures.findLast(({ metric }) => metric === 'WalkAgeMs')?.value).toBeLessThan(60_000);
  expect(status().last_complete_walk_at).toBeDefined();
});
