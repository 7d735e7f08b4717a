/** What the console's list of events says beside the words of the events themselves. */

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

test('a change of a compute leads to the operation that has made it', async () => {
  const { ask, api, publishedOf } = await openApi(() => Response.json({ operations: [OPERATION] }));
  await ask('POST', `/api/v2/projects/${PROJECT_ID}/endpoints/${OPERATION.endpoint_id}/start`);
  expect(publishedOf('Compute State Changed')).toMatchObject([{ state: 'active' }]);

  const token = await api.issueToken();
  const form = new URLSearchParams({ token, next: '/console' });
  const signedIn = await api.app.request('/console/sign-in', { method: 'POST', body: form });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const page = await (await api.app.request('/console/events', { headers: { cookie } })).text();

  const path = `/console/accounts/main/projects/${PROJECT_ID}/operations/${OPERATION.id}`;
  expect(page).toContain(`by <a href="${path}">start_compute</a>`);
});
