/** What queued commands leave in the table goes by itself, and not before nobody can ask for it any more. */

import { expect, test } from 'vitest';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { NOON_MS } from '../../builders.ts';
import { openApi } from './api-door.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const HOUR_MS = 3_600_000;

const QUEUE_KINDS: ReadonlySet<unknown> = new Set(['queued_command', 'project_line']);

test('a project that queued a command once has no item of the queue three days after it', async () => {
  const { ask, work, api } = await openApi(() => Response.json({ operations: [] }));
  await ask('POST', RESTART, { prefer: 'respond-async' });
  await work();
  const left = () => api.memory.sync.items().filter(({ kind }) => QUEUE_KINDS.has(kind));

  expect(left().map(({ kind }) => kind)).toEqual(expect.arrayContaining([...QUEUE_KINDS]));
  api.memory.sync.expire(NOON_MS + 73 * HOUR_MS);
  expect(left()).toEqual([]);

  const { status } = await ask('POST', RESTART, { prefer: 'respond-async' });
  expect(status).toBe(202);
});

test('a command that may wait for a day keeps its place in the line until it has left it', async () => {
  const { ask, work, pass, know, api, upstream } = await openApi(() => Response.json({ operations: [] }));
  know(PROJECT_ID);
  const waiting = { prefer: 'respond-async', 'bridge-deadline': '86400' };
  const accepted = await ask('POST', RESTART, waiting);
  pass(23 * HOUR_MS);
  api.memory.sync.expire(NOON_MS + 23 * HOUR_MS);
  await work();

  const { body } = await ask('GET', accepted.headers.get('location') ?? '');
  expect([body.command.state, upstream.sent.length]).toEqual(['succeeded', 1]);
});
