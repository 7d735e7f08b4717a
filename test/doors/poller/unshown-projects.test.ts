/** A process polls the projects of each page as soon as it has read that page. What it says of the account counts the projects of the other pages, too. */

import { expect, test } from 'vitest';
import { aBridge, MINUTE_MS } from './bridge.ts';
import { anOperationRow } from './rows.ts';

test('while a page of the list cannot be read, a process that knows no other says that a project waits', async () => {
  const bridge = aBridge();
  const { dials, addProject } = bridge.service;
  for (const id of ['a-1', 'b-2', 'c-3']) addProject(id);
  dials.pageRowsMax = 2;
  dials.answers = ({ query }) => (query.get('cursor') === 'b-2' ? { status: 500 } : undefined);
  const health = async () => (await bridge.ask('GET', '/bridge/v1/health')).body;
  await bridge.run(32 * MINUTE_MS);

  expect(await health()).toMatchObject({
    healthy: false,
    reasons: [expect.stringContaining('A project has not been read completely for')],
    last_complete_walk_age_seconds: null,
  });
  expect(bridge.measured.get('WalkAgeMs')?.at(-1)).toBeGreaterThan(30 * MINUTE_MS);

  dials.answers = () => undefined;
  await bridge.run(3 * MINUTE_MS);

  expect(await health()).toMatchObject({ healthy: true, last_complete_walk_age_seconds: expect.any(Number) });
  expect(bridge.measured.get('WalkAgeMs')?.at(-1)).toBeLessThan(MINUTE_MS);
});

test.each([null, 'b-2'])(
  'while the page of the list from %s cannot be read, a new process polls what the one before it has known',
  async (cursor) => {
    const bridge = aBridge();
    const { dials, addProject, put } = bridge.service;
    for (const id of ['a-1', 'b-2', 'c-3']) addProject(id);
    dials.pageRowsMax = 2;
    await bridge.run(MINUTE_MS);
    bridge.restart();
    dials.answers = ({ path, query }) =>
      path === '/projects' && query.get('cursor') === cursor ? { status: 500 } : undefined;
    put(anOperationRow(1, bridge.nowMs(), { project_id: 'c-3', status: 'finished' }));
    await bridge.run(MINUTE_MS);

    expect(bridge.events('Operation State Changed')).toMatchObject([
      { detail: { project_id: 'c-3', status: 'finished' } },
    ]);
  },
);
