/** Calls that a person must approve first, from the request of an agent to its result: the API and the worker over one table. */

import { expect, test } from 'vitest';
import { projectKey } from '../../shared/store/keys.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { OTHER_PROJECT_ID, PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble, type Sent } from './upstream-double.ts';

const PROJECT = `/api/v2/projects/${PROJECT_ID}`;
const APPROVALS = '/bridge/v1/approvals';
const HOUR_MS = 3_600_000;

function received(messageId: string, body: object) {
  const attributes = { ApproximateReceiveCount: '1' };
  return { messageId, receiptHandle: messageId, body: JSON.stringify(body), attributes };
}

async function setUp(
  answer: (sent: Sent) => Response = () => Response.json({ project: { id: PROJECT_ID } }),
) {
  let nowMs = Date.UTC(2026, 0, 15, 12);
  const upstream = createUpstreamDouble(answer);
  const clock = {
    now: () => nowMs,
    sleep: (durationMs: number) =>
      new Promise<void>((resolve) =>
        setImmediate(() => {
          nowMs += durationMs;
          resolve();
        }),
      ),
  };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.test/api/v2',
    upstreamKey: 'a-key',
    fetch: upstream.fetch,
    clock,
  });
  for (const projectId of [PROJECT_ID, OTHER_PROJECT_ID])
    api.memory.sync.update({ key: projectKey(ACCOUNT_ID, projectId), set: { kind: 'project' } });
  const as = async (token: TokenOptions) => {
    const authorization = `Bearer ${await api.issueToken({ validForMs: 90 * 24 * HOUR_MS, ...token })}`;
    return async (method: string, path: string, headers: Record<string, string> = {}, body?: object) => {
      const typed = body && { 'content-type': 'application/json' };
      const init = { method, headers: { authorization, ...typed, ...headers } };
      const response = await api.app.request(path, { ...init, ...(body && { body: JSON.stringify(body) }) });
      const text = await response.text();
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
      const parsed: any = text === '' ? undefined : JSON.parse(text);
      return { status: response.status, headers: response.headers, body: parsed };
    };
  };
  const agent = await as({
    client_id: 'an-agent',
    approve: ['DELETE /projects/*', 'POST /projects/*/branches'],
  });
  const marta = await as({ client_id: 'marta', scopes: ['operations:read', 'commands:approve'] });
  const workOnWakes = async () => {
    while (api.woken.length > 0) {
      const wakes = api.woken.splice(0);
      await api.invokeWorker({ Records: wakes.map((wake, place) => received(`m${place}`, wake)) });
    }
  };
  const sweep = async () => {
    await api.invokeWorker({});
    await workOnWakes();
  };
  const decided = (id: string, decision: 'approve' | 'deny', reason?: string) =>
    marta('POST', `${APPROVALS}/${id}`, {}, { decision, ...(reason && { reason }) });
  const published = () =>
    api.published.map(({ detailType, detail }) => ({ detailType, ...(JSON.parse(detail) as object) }));
  const pass = (durationMs: number) => {
    nowMs += durationMs;
  };
  return { api, upstream, as, agent, marta, decided, workOnWakes, sweep, published, pass, now: clock.now };
}

test('a delete that needs approval says that nothing was done, and has its result on repetition once a person approved it', async () => {
  const { agent, marta, upstream, decided, workOnWakes, published } = await setUp();

  const asked = await agent('DELETE', PROJECT);
  const id: string = asked.body.approval.approval_id;
  const again = await agent('DELETE', PROJECT);
  await workOnWakes();

  expect([asked.status, asked.body.type]).toEqual([403, 'urn:operations-bridge:problem:approval-required']);
  expect(asked.body.detail).toMatch(/Nothing was done yet.*Then send the same request again/);
  expect(asked.headers.get('location')).toBe(`${APPROVALS}/${id}`);
  expect(again.body.approval.approval_id).toBe(id);
  expect(upstream.sent).toEqual([]);
  const { body } = await marta('GET', APPROVALS);
  expect(body.approvals).toMatchObject([
    { approval_id: id, client_id: 'an-agent', request: `DELETE /projects/${PROJECT_ID}` },
  ]);

  expect((await decided(id, 'approve')).status).toBe(200);
  await workOnWakes();
  const result = await agent('DELETE', PROJECT);

  expect(upstream.sent.map(({ method }) => method)).toEqual(['DELETE']);
  expect([result.status, result.body]).toEqual([200, { project: { id: PROJECT_ID } }]);
  expect((await marta('GET', APPROVALS)).body.approvals).toEqual([]);
  expect(published()).toMatchObject([
    { detailType: 'Command Approval', state: 'wanted', approval_id: id, client_id: 'an-agent' },
    { detailType: 'Command Approval', state: 'approved', decided_by: 'marta' },
    {
      detailType: 'Command Settled',
      outcome: 'succeeded',
      command: { client_id: 'an-agent', request_id: id },
    },
  ]);
});

test('a person sees the request as it would be sent, and no name in it can say more', async () => {
  const { as, marta } = await setUp();
  const agent = await as({ client_id: 'an-agent', approve: ['DELETE /projects/*/branches/*/roles/*'] });
  const role = encodeURIComponent('tmp (approved by ops) \u202eresu');

  await agent('DELETE', `${PROJECT}/branches/br-1/roles/${role}`);

  const { body } = await marta('GET', APPROVALS);
  expect(body.approvals[0].request).toBe(`DELETE /projects/${PROJECT_ID}/branches/br-1/roles/${role}`);
});

test('an approved call that awaits its end is answered at the end of its operations or of its time, and says which preference was followed', async () => {
  const at = '2026-01-15T12:00:00Z';
  const branch = {
    id: 'op-1',
    project_id: PROJECT_ID,
    action: 'create_branch',
    status: 'running',
    failures_count: 0,
    created_at: at,
    updated_at: at,
  };
  const { agent, decided, workOnWakes, now } = await setUp(({ method }) =>
    Response.json({ ...(method === 'POST' && { operations: [branch] }) }),
  );
  const approved = async (...request: Parameters<typeof agent>) => {
    const asked = await agent(...request);
    await decided(asked.body.approval.approval_id, 'approve');
    await workOnWakes();
    const beganMs = now();
    const { status, headers } = await agent(...request);
    return [status, headers.get('preference-applied'), now() - beganMs >= 20_000];
  };

  const ready = { prefer: 'wait=ready' };
  expect(await approved('DELETE', PROJECT, ready)).toEqual([200, 'wait=ready', false]);
  expect(await approved('DELETE', `/api/v2/projects/${OTHER_PROJECT_ID}`)).toEqual([200, null, false]);
  // No poller runs here, so the bridge never sees the operation end, and answers when the time of the call is over.
  expect(await approved('POST', `${PROJECT}/branches`, ready)).toEqual([200, null, true]);
});

test('what a rule does not name is sent at once, also while another command of the project waits for a person', async () => {
  const { agent, upstream } = await setUp();
  await agent('DELETE', PROJECT);

  const { status } = await agent('PATCH', PROJECT, {}, { project: { name: 'renamed' } });

  expect(status).toBe(200);
  expect(upstream.sent.map(({ method }) => method)).toEqual(['PATCH']);
});

test('a denied call is not sent, its end is published, and the one who asked learns who denied it and why', async () => {
  const { agent, upstream, decided, workOnWakes, published, api } = await setUp();
  const { body } = await agent('DELETE', PROJECT);
  const id: string = body.approval.approval_id;
  await workOnWakes();

  await decided(id, 'deny', 'We still need it.');
  await workOnWakes();
  const again = await agent('DELETE', PROJECT);

  expect([again.status, again.body.type]).toEqual([403, 'urn:operations-bridge:problem:approval-denied']);
  expect(again.body.detail).toContain('marta has denied this call: We still need it.');
  expect(upstream.sent).toEqual([]);
  expect(published().slice(-2)).toMatchObject([
    { detailType: 'Command Approval', state: 'denied', reason: 'We still need it.' },
    { detailType: 'Command Settled', outcome: 'denied' },
  ]);
  expect(JSON.stringify(api.memory.sync.items())).not.toContain('"request":');
});

test('the one who asked cannot approve, and of two people at once one decides', async () => {
  const { as, agent, decided } = await setUp();
  const { body } = await agent('DELETE', PROJECT);
  const path = `${APPROVALS}/${body.approval.approval_id}`;
  const itself = await as({ client_id: 'an-agent', scopes: ['commands:approve'] });
  const joe = await as({ client_id: 'joe', scopes: ['commands:approve'] });

  const own = await itself('POST', path, {}, { decision: 'approve' });
  const both = await Promise.all([
    decided(body.approval.approval_id, 'approve'),
    joe('POST', path, {}, { decision: 'deny' }),
  ]);

  expect([own.status, own.body.type]).toEqual([403, 'urn:operations-bridge:problem:approval-own']);
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
});

test('the audit names both people', async () => {
  const { as, agent, decided } = await setUp();
  const { body } = await agent('DELETE', PROJECT);
  await decided(body.approval.approval_id, 'approve');
  const auditor = await as({ client_id: 'an-auditor', scopes: ['audit:read'] });

  const { records } = (await auditor('GET', '/bridge/v1/audit')).body;

  expect(records).toContainEqual(
    expect.objectContaining({
      client_id: 'marta',
      call: 'decideApproval',
      resource: expect.objectContaining({ approval_id: body.approval.approval_id, asked_by: 'an-agent' }),
    }),
  );
});

test('a question that nobody answers expires after a day, and the same request asks anew', async () => {
  const { agent, decided, sweep, pass, published } = await setUp();
  const first = await agent('DELETE', PROJECT);
  pass(24 * HOUR_MS);
  await sweep();

  const late = await decided(first.body.approval.approval_id, 'approve');
  const second = await agent('DELETE', PROJECT);

  expect(late.status).toBe(409);
  expect(published()).toContainEqual(
    expect.objectContaining({ detailType: 'Command Settled', outcome: 'expired' }),
  );
  expect(second.body.approval.approval_id).not.toBe(first.body.approval.approval_id);
});

test('a call that was asked for anew is sent once, however long ago the first question was', async () => {
  const { agent, upstream, decided, workOnWakes, sweep, pass } = await setUp();
  await agent('DELETE', PROJECT);
  pass(24 * HOUR_MS);
  await sweep();
  pass(14 * HOUR_MS);
  const second = await agent('DELETE', PROJECT);
  pass(9.5 * HOUR_MS);
  await decided(second.body.approval.approval_id, 'approve');
  await workOnWakes();
  pass(HOUR_MS);

  const result = await agent('DELETE', PROJECT);

  expect([result.status, result.body]).toEqual([200, { project: { id: PROJECT_ID } }]);
  expect(upstream.sent.map(({ method }) => method)).toEqual(['DELETE']);
});

test('an approved call has its result for two days after it was asked for', async () => {
  const { agent, upstream, decided, workOnWakes, pass } = await setUp();
  const { body } = await agent('DELETE', PROJECT);
  await decided(body.approval.approval_id, 'approve');
  await workOnWakes();
  pass(47 * HOUR_MS);

  const result = await agent('DELETE', PROJECT);

  expect([result.status, result.body]).toEqual([200, { project: { id: PROJECT_ID } }]);
  expect(upstream.sent).toHaveLength(1);
});

test('of two requests that ask anew at once, one asks', async () => {
  const { agent, marta, sweep, pass } = await setUp();
  await agent('DELETE', PROJECT);
  pass(24 * HOUR_MS);
  await sweep();

  await Promise.all([agent('DELETE', PROJECT), agent('DELETE', PROJECT)]);

  expect((await marta('GET', APPROVALS)).body.approvals).toHaveLength(1);
});

test.each([
  ['withdrawn', 403, 'approval-denied', /withdrawn before it was sent. Nothing was done/],
  ['expired', 403, 'approval-denied', /deadline passed before it could be sent. Nothing was done/],
  ['held', 409, 'in-progress', /has not answered it yet/],
  ['lost', 409, 'outcome-unknown', /may have been carried out/],
])(
  'an approved call without a result is no success for its client: %s',
  async (fate, status, type, detail) => {
    const world = await setUp(() => {
      throw new TypeError('fetch failed');
    });
    const { agent, decided, workOnWakes, sweep, pass, as } = world;
    const operator = await as({ client_id: 'operator' });
    const id: string = (await agent('DELETE', PROJECT)).body.approval.approval_id;
    await workOnWakes();
    if (fate !== 'lost') await operator('POST', '/bridge/v1/freeze', {}, { reason: 'An incident.' });
    await decided(id, 'approve');
    await workOnWakes();
    if (fate === 'withdrawn') await operator('DELETE', `/bridge/v1/commands/${id}`);
    if (fate === 'expired') pass(HOUR_MS);
    if (fate === 'expired') await operator('DELETE', '/bridge/v1/freeze');
    await sweep();

    const again = await agent('DELETE', PROJECT);
    const inLine = await agent('DELETE', PROJECT, { prefer: 'respond-async' });

    expect([again.status, again.body.type]).toEqual([status, `urn:operations-bridge:problem:${type}`]);
    expect(again.body.detail).toMatch(detail);
    expect(again.body.approval.approval_id).toBe(id);
    expect(again.headers.get('retry-after')).toBe(fate === 'held' ? '30' : null);
    expect(inLine.status).toBe(202);
  },
);

test('one agent cannot fill the list, and others are still heard', async () => {
  const { as, agent } = await setUp();
  const other = await as({ client_id: 'another-agent', approve: ['DELETE /projects/*'] });
  const statuses: number[] = [];
  for (let place = 0; place <= 50; place++) {
    const headers = { 'idempotency-key': `key-${place}` };
    statuses.push((await agent('DELETE', PROJECT, headers)).status);
  }

  expect(new Set(statuses.slice(0, 50))).toEqual(new Set([403]));
  expect(statuses[50]).toBe(429);
  expect((await other('DELETE', PROJECT)).status).toBe(403);
});

test('a command with a body is kept sealed, and is sent with it once it was approved', async () => {
  const { api, agent, upstream, decided, workOnWakes, sweep } = await setUp();
  const body = { branch: { name: 'a-secret-name' } };
  const branches = `${PROJECT}/branches`;
  const { body: asked } = await agent('POST', branches, { prefer: 'respond-async' }, body);
  expect(asked.command).toMatchObject({ state: 'awaiting_approval', settled: false });
  expect(JSON.stringify(api.memory.sync.items())).not.toContain('a-secret-name');

  await decided(asked.command.command_id, 'approve');
  await workOnWakes();
  await sweep();

  expect(upstream.sent.map((sent) => JSON.parse(sent.body ?? ''))).toEqual([body]);
});
