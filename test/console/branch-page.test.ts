/** Branches and computes as apps and people see them: routes of the bridge's own, and pages of the console. */

import { describe, expect, test } from 'vitest';
import { recordCommand } from '../../shared/protocol/record-command.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import type { UpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { ACCOUNT_ID, createApiUnderTest } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { anOperation, only } from '../builders.ts';

const { project_id: PROJECT_ID, branch_id: BRANCH_ID = '', endpoint_id: ENDPOINT_ID = '' } = anOperation();
const BRANCH = `/bridge/v1/projects/${PROJECT_ID}/branches/${BRANCH_ID}`;
const COMPUTE = `/bridge/v1/projects/${PROJECT_ID}/computes/${ENDPOINT_ID}`;
const PAGE = `/console/accounts/${ACCOUNT_ID}/projects/${PROJECT_ID}/branches/${BRANCH_ID}`;

async function setUp() {
  const endpoints = [{ id: ENDPOINT_ID, type: 'read_write', current_state: 'active', branch_id: BRANCH_ID }];
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble(() => Response.json({ endpoints })).fetch,
  });
  const clock = { now: () => Date.UTC(2026, 0, 15, 12), sleep: async () => {} };
  const store = createBridgeStore(api.memory, ACCOUNT_ID, clock);
  const bus = {
    publish: async (events: readonly unknown[]) => events.map(() => ({ kind: 'accepted' as const })),
  };
  const upstream = only<UpstreamClient>({ getOperation: async () => anOperation() });
  /** Records a creation of a branch whose operations have these statuses. */
  const create = (createStatus: string, startStatus: string) =>
    recordCommand(
      { store, bus, clock, upstream, telemetry: silentTelemetry, settleWithinMs: 1e6 },
      { project_id: PROJECT_ID, request_id: 'a-request', client_id: 'deployer', call: 'createProjectBranch' },
      [
        anOperation({ id: 'create', action: 'create_branch', endpoint_id: undefined, status: createStatus }),
        anOperation({ id: 'start', action: 'start_compute', status: startStatus }),
      ],
    );
  const token = await api.issueToken();
  const ask = async (path: string) => {
    const answer = await api.app.request(path, { headers: { authorization: `Bearer ${token}` } });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    return { status: answer.status, body: (await answer.json()) as any };
  };
  const signedIn = await api.app.request('/console/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token, next: '/console' }).toString(),
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const page = async (path: string) => {
    const answer = await api.app.request(path, { headers: { cookie } });
    return { status: answer.status, text: await answer.text() };
  };
  return { create, ask, page };
}

describe('a branch', () => {
  test('is ready with its history, and its page links to the operations that created it', async () => {
    const { create, ask, page } = await setUp();
    await create('finished', 'finished');

    expect((await ask(BRANCH)).body.branch).toMatchObject({
      readiness: 'ready',
      operation_ids: ['create', 'start'],
      history: [{ detail_type: 'Branch Ready', published: true }],
    });
    const { status, text } = await page(PAGE);
    expect(status).toBe(200);
    expect(text).toContain('It can be used.');
    expect(text).toContain('/operations/create"');
    expect(text).toContain('deployer');
    expect(text).toContain(ENDPOINT_ID);
  });

  test('that failed says so, and one that is being created can be waited for', async () => {
    const failed = await setUp();
    await failed.create('finished', 'error');
    expect((await failed.page(PAGE)).text).toContain('It did not become ready');

    const pending = await setUp();
    await pending.create('running', 'scheduling');
    expect((await pending.ask(`${BRANCH}?wait=1`)).body.branch).toMatchObject({
      readiness: 'pending',
      history: [],
    });
    expect((await pending.page(PAGE)).text).toContain('It cannot be used yet');
  });

  test('that is not known is not found', async () => {
    const { ask, page } = await setUp();

    expect((await ask(BRANCH)).status).toBe(404);
    expect((await page(PAGE)).status).toBe(404);
  });
});

describe('a compute', () => {
  test('has its state, the operation behind it and its history, and the page of the project says since when', async () => {
    const { create, ask, page } = await setUp();
    await create('finished', 'finished');

    expect((await ask(COMPUTE)).body.compute).toMatchObject({
      state: 'active',
      state_since: anOperation().updated_at,
      operation_id: 'start',
      history: [{ detail_type: 'Compute State Changed' }],
    });
    const { text } = await page(`/console/accounts/${ACCOUNT_ID}/projects/${PROJECT_ID}`);
    expect(text).toContain(`href="${PAGE}"`);
  });

  test('that is not known is not found', async () => {
    const { ask } = await setUp();

    expect((await ask(COMPUTE)).status).toBe(404);
  });
});
