/** One caller who fills the line leaves places to others, whatever they queue. */

import { expect, test } from 'vitest';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { openApi } from './api-door.ts';

const restartOf = (projectId: string) =>
  `/api/v2/projects/${projectId}/endpoints/ep-little-smoke-851426/restart`;
const ASYNC = { prefer: 'respond-async', 'bridge-deadline': '86400' };

test('one caller gets half of the places of a project, and another caller finds one', async () => {
  const { as } = await openApi(() => Response.json({ operations: [] }));
  const [greedy, modest] = [await as({ client_id: 'greedy' }), await as({ client_id: 'modest' })];
  const statuses: number[] = [];
  for (let count = 0; count < 100; count++)
    statuses.push((await greedy('POST', restartOf(PROJECT_ID), ASYNC)).status);

  expect(statuses.filter((status) => status === 202)).toHaveLength(50);
  expect((await modest('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
  const refused = await greedy('POST', restartOf(PROJECT_ID), ASYNC);
  expect([refused.status, refused.body.type]).toEqual([429, expect.stringContaining('queue-full')]);
});

test('one caller gets half of the places of an account, and another caller finds one', async () => {
  const { as } = await openApi(() => Response.json({ operations: [] }));
  const [greedy, modest] = [await as({ client_id: 'greedy' }), await as({ client_id: 'modest' })];
  const askedFor = (place: number) => restartOf(`made-up-project-${10_000_000 + (place % 40)}`);
  const statuses: number[] = [];
  for (let place = 0; place < 1_000; place++)
    statuses.push((await greedy('POST', askedFor(place), ASYNC)).status);

  expect(statuses.filter((status) => status === 202)).toHaveLength(500);
  expect((await modest('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
});
