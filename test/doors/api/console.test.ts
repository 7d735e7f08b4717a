/** Where the console leads from an event and from a search. */

import { expect, test } from 'vitest';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { openApi } from './api-door.ts';

const OPERATION = {
  id: 'an-operation',
  project_id: PROJECT_ID,
  branch_id: 'br-quiet-pond-a1234567',
  endpoint_id: 'ep-little-smoke-851426',
  action: 'start_compute',
  status: 'finished',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
};
const PAGE = `/console/accounts/main/projects/${PROJECT_ID}/operations/${OPERATION.id}`;

/** A person has signed in, after a compute was started. */
async function setUp() {
  const { ask, api } = await openApi(() => Response.json({ operations: [OPERATION] }));
  await ask('POST', `/api/v2/projects/${PROJECT_ID}/endpoints/${OPERATION.endpoint_id}/start`);
  const form = new URLSearchParams({ token: await api.issueToken(), next: '/console' });
  const signedIn = await api.app.request('/console/sign-in', { method: 'POST', body: form });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  return (path: string) => api.app.request(path, { headers: { cookie } });
}

test('a change of a compute leads to the operation that has made it', async () => {
  const get = await setUp();

  const events = await (await get('/console/events')).text();

  expect(events).toContain(`by <a href="${PAGE}">start_compute</a>`);
});

test.each([
  ['its whole id', OPERATION.id, PAGE],
  ['a part of its id', OPERATION.id.slice(0, 6), null],
])('a search for %s leads to the operation only when nothing else can be meant', async (_, text, target) => {
  const get = await setUp();

  expect((await get(`/console/search?q=${text}`)).headers.get('location')).toBe(target);
});
