/** The answer to a command is lost on its way to the caller, who repeats the command under the same Idempotency-Key. */

import { describe, expect, test } from 'vitest';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { openApi } from './api-door.ts';

const BRANCHES = `/api/v2/projects/${PROJECT_ID}/branches`;
const PASSWORD = 'a-role-password-1234';
const OPERATION = {
  id: '22222222-2222-4222-8222-222222222222',
  project_id: PROJECT_ID,
  branch_id: 'br-lost-answer-1',
  action: 'create_branch',
  status: 'running',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
};
const CREATED = {
  branch: { id: 'br-lost-answer-1', name: 'ci' },
  roles: [{ name: 'owner', password: PASSWORD }],
  connection_uris: [{ connection_uri: `postgres://owner:${PASSWORD}@host/db` }],
  operations: [OPERATION],
};

const key = { 'idempotency-key': 'a-key' };
const body = { branch: { name: 'ci' } };

describe('the creation of a branch, whose answer holds a password', () => {
  test('is repeated without the password: with the branch, the operations, and the place to ask for secrets', async () => {
    const { ask, upstream, api } = await openApi(() => Response.json(CREATED, { status: 201 }));
    const first = await ask('POST', BRANCHES, key, body);
    const again = await ask('POST', BRANCHES, key, body);

    expect(JSON.stringify(first.body)).toContain(PASSWORD);
    expect(first.headers.get('bridge-secrets-withheld')).toBeNull();
    expect(again).toMatchObject({
      status: 201,
      body: {
        branch: CREATED.branch,
        operations: CREATED.operations,
        roles: [{ name: 'owner', password: '' }],
      },
    });
    expect(JSON.stringify(again.body)).not.toContain(PASSWORD);
    expect(again.headers.get('bridge-secrets-withheld')).toBe(
      `/api/v2/projects/${PROJECT_ID}/connection_uri?branch_id=br-lost-answer-1`,
    );
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('bridge-first-request-id')).toBe(first.headers.get('bridge-request-id'));
    expect(upstream.sent).toHaveLength(1);
    const stored = api.memory.sync.items().map((item) => JSON.stringify(item));
    const opened = stored.map((item) => Buffer.from(item, 'base64url').toString('latin1'));
    for (const text of [...stored, ...opened]) expect(text).not.toContain(PASSWORD);
  });

  test('is repeated as it was when the answer held no secret', async () => {
    const plain = { branch: CREATED.branch, operations: [OPERATION] };
    const { ask } = await openApi(() => Response.json(plain, { status: 201 }));
    await ask('POST', BRANCHES, key, body);
    const again = await ask('POST', BRANCHES, key, body);

    expect([again.status, again.body]).toEqual([201, plain]);
    expect(again.headers.get('bridge-secrets-withheld')).toBeNull();
  });

  test.each([
    ['is too large to be kept', { ...CREATED, notes: 'x'.repeat(70_000) }],
    [
      'is nested too deep to be searched',
      { ...CREATED, notes: JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) },
    ],
  ])('is answered with a problem that names what was done when the answer %s', async (_why, large) => {
    const { ask, upstream } = await openApi(() => Response.json(large, { status: 201 }));
    const first = await ask('POST', BRANCHES, key, body);
    const firstId = first.headers.get('bridge-request-id');
    const again = await ask('POST', BRANCHES, key, body);

    expect(again).toMatchObject({
      status: 409,
      body: {
        type: expect.stringContaining('secret-already-issued'),
        first_request_id: firstId,
        project_id: PROJECT_ID,
        branch_id: 'br-lost-answer-1',
        operation_ids: [OPERATION.id],
      },
    });
    for (const named of [firstId, 'br-lost-answer-1', OPERATION.id, 'was carried out', 'or was too large'])
      expect(again.body.detail).toContain(named);
    expect(again.headers.get('bridge-first-request-id')).toBe(firstId);
    expect(upstream.sent).toHaveLength(1);
  });

  test('leaves nothing of its answer to another command under the key a day later', async () => {
    const answers = [CREATED, { endpoint: {}, operations: [] }];
    const { as, pass } = await openApi(() => Response.json(answers.shift(), { status: 201 }));
    const ask = await as({ validForMs: 1e9 });
    await ask('POST', BRANCHES, key, body);
    pass(24 * 3_600_000 - 1_000);
    expect((await ask('POST', BRANCHES, key, body)).headers.get('bridge-secrets-withheld')).not.toBeNull();
    pass(2_000);
    const other = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
    const token = { 'idempotency-key': 'a-key' };
    await ask('POST', other, token);
    const again = await ask('POST', other, token);

    expect(again.status).toBe(201);
    expect(again.headers.get('bridge-secrets-withheld')).toBeNull();
    expect(again.body).toEqual({ endpoint: {}, operations: [] });
  });
});

test('what a call issues once is kept nowhere, and its repetition names the first request', async () => {
  const issued = {
    secret_server_key: 'ssk_shown-once-123456',
    url: 'https://host.example/claim?code=shown-once',
  };
  const { ask, api } = await openApi(() => Response.json(issued));
  const call = [
    'POST',
    '/api/v2/projects/auth/keys',
    key,
    { project_id: PROJECT_ID, auth_provider: 'stack' },
  ] as const;
  const first = await ask(...call);
  const again = await ask(...call);

  expect([first.status, again.status]).toEqual([200, 409]);
  expect(again.body.first_request_id).toBe(first.headers.get('bridge-request-id'));
  expect(JSON.stringify(again.body)).not.toContain('shown-once');
  const stored = api.memory.sync.items().map((item) => JSON.stringify(item));
  for (const text of stored) expect(text).not.toContain('shown-once');
});
