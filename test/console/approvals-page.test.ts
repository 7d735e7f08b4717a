/** The page of the calls that wait for a person: a form of its own session decides, and the one who asked has none. */

import { expect, test } from 'vitest';
import { projectKey } from '../../shared/store/keys.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';

const PAGE = '/console/approvals';
const PROJECT_ID = 'quiet-pond-12345678';

async function setUp() {
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock: { now: () => Date.UTC(2026, 0, 15, 12), sleep: async () => {} },
  });
  api.memory.sync.update({ key: projectKey(ACCOUNT_ID, PROJECT_ID), set: { kind: 'project' } });
  const agent = await api.issueToken({ client_id: 'an-agent', approve: ['DELETE /projects/*'] });
  const asked = await api.app.request(`/api/v2/projects/${PROJECT_ID}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${agent}` },
  });
  const { approval } = (await asked.json()) as { approval: { approval_id: string } };
  const signIn = async (token: TokenOptions) => {
    let cookie = '';
    const submit = async (path: string, fields: Readonly<Record<string, string>>) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie };
      const body = new URLSearchParams(fields).toString();
      return api.app.request(path, { method: 'POST', headers, body });
    };
    const entered = await submit('/console/sign-in', { token: await api.issueToken(token), next: PAGE });
    cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    const show = async () => (await api.app.request(PAGE, { headers: { cookie } })).text();
    const form_key = /name="form_key" value="([^"]+)"/.exec(await show())?.[1] ?? '';
    const path = `/console/accounts/${ACCOUNT_ID}/projects/${PROJECT_ID}/commands/${approval.approval_id}`;
    const showCommand = async () => (await api.app.request(path, { headers: { cookie } })).text();
    const decide = (decision: string, key = form_key) =>
      submit(`${PAGE}/${approval.approval_id}`, { form_key: key, decision });
    return { show, showCommand, decide };
  };
  return { signIn };
}

test('a person reads what would be done and who asked, approves it, and it waits no more', async () => {
  const { signIn } = await setUp();
  const marta = await signIn({ client_id: 'marta' });

  const before = await marta.show();
  const { status } = await marta.decide('approve');

  expect(before).toContain(`DELETE /projects/${PROJECT_ID}`);
  expect(before).toContain('an-agent');
  expect(status).toBe(303);
  expect(await marta.show()).toContain('Nothing waits for a person.');
});

test('the page of a command that waits for a person says so, and until when', async () => {
  const { signIn } = await setUp();
  const joe = await signIn({ client_id: 'joe', scopes: ['operations:read'] });

  const page = await joe.showCommand();

  expect(page).toContain('It waits for a person.');
  expect(page).toMatch(/Is not sent after[\s\S]*2026-01-16[\s\S]*12:00:00[\s\S]*in 24 h/);
  // No event tells of a decision.
  expect(page).toContain('data-about="time"');
});

test('the one who asked, a viewer and a form of another session decide nothing', async () => {
  const { signIn } = await setUp();
  const itself = await signIn({ client_id: 'an-agent' });
  const viewer = await signIn({ client_id: 'joe', scopes: ['operations:read'] });
  const marta = await signIn({ client_id: 'marta' });

  expect(await itself.show()).toContain('You asked; another person decides.');
  expect(await viewer.show()).toContain('it needs the scope commands:approve');
  expect((await itself.decide('approve')).status).not.toBe(303);
  expect((await viewer.decide('approve')).status).toBe(403);
  expect((await marta.decide('approve', 'a-foreign-key')).status).toBe(403);
  expect(await marta.show()).toContain(`DELETE /projects/${PROJECT_ID}`);
});
