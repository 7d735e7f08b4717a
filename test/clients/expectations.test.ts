/** Tests what public clients rely on without saying so: default names, forms of ids, empty lists, and refusals that say what is wrong. */

import { expect, test } from 'vitest';
import { DOOR, startService } from '../conformance/service-under-test.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function setUp() {
  const service = await startService();
  const { projectId, branchId } = service;
  return {
    service,
    send: service.send,
    project: `/projects/${projectId}`,
    branch: `/projects/${projectId}/branches/${branchId}`,
  };
}

const namesOf = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name);

test('a project has the default database and role, and people have UUIDs', async () => {
  const { send, branch } = await setUp();

  expect(namesOf((await send('GET', `${branch}/databases`)).body.databases)).toEqual(['neondb']);
  expect(namesOf((await send('GET', `${branch}/roles`)).body.roles)).toEqual(['neondb_owner']);
  expect((await send('GET', '/users/me')).body.id).toMatch(UUID);
});

test('auth begins on a branch with the provider of the command line, and with a database that is there', async () => {
  const { send, branch } = await setUp();
  const auth_provider = 'better_auth';
  const begin = (body: object) => send('POST', `${branch}/auth`, { body: { auth_provider, ...body } });

  expect((await begin({ database_name: 'no-such-database' })).status).toBeGreaterThanOrEqual(400);
  expect((await begin({})).status).toBe(201);
  expect((await send('GET', `${branch}/auth`)).body.auth_provider).toBe(auth_provider);
});

test('auth of a project begins with a role and a database that are there', async () => {
  const { service, branch } = await setUp();
  const { projectId: project_id, branchId: branch_id } = service;
  const begin = (more: object) =>
    service.call('createAuthIntegration', {
      body: { auth_provider: 'stack', project_id, branch_id, ...more },
    });

  for (const more of [{ database_name: 'none' }, { role_name: 'none' }])
    expect([400, 404]).toContain((await begin(more)).status);
  expect((await begin({ database_name: 'neondb', role_name: 'neondb_owner' })).status).toBe(201);
  expect(branch).toContain(branch_id);
});

test('a call that is not simulated says so, and not that something does not exist', async () => {
  const { send, branch } = await setUp();
  const { status, body } = await send('GET', `${branch}/functions/hello`);

  expect([status, body.code]).toEqual([404, 'NOT_SIMULATED']);
  expect(body.message).toBe('the simulated service does not have this call');
});

test('functions, buckets and snapshots are empty lists', async () => {
  const { send, project, branch } = await setUp();

  expect((await send('GET', `${branch}/functions`)).body).toEqual({ functions: [] });
  expect((await send('GET', `${branch}/buckets`)).body).toEqual({ buckets: [] });
  expect((await send('GET', `${project}/snapshots`)).body).toEqual({ snapshots: [] });
});

test('every page of operations has its pagination, the empty one and the one behind the end, too', async () => {
  const { service, send, project } = await setUp();
  const first = (await send('GET', `${project}/operations?cursor=`)).body;
  await service.wake();
  const { pagination } = (await send('GET', `${project}/operations?limit=1000`)).body;
  const behind = (await send('GET', `${project}/operations?cursor=${pagination.cursor}`)).body;

  expect(first).toEqual({ operations: [], pagination: expect.anything() });
  expect(behind).toEqual({ operations: [], pagination: expect.anything() });
});

test('JSON under the content type of a form is called what it is', async () => {
  const { send, project } = await setUp();
  const raw = { text: '{"branch":{"name":"x"}}', contentType: 'application/x-www-form-urlencoded' };
  const { status, text } = await send('POST', `${project}/branches`, { raw });

  expect(status).toBe(400);
  expect(text).toContain('looks like JSON; send it with content-type: application/json');
});

test.runIf(DOOR === 'service')(
  'a connection outlives the longest pause that the service asks for',
  async () => {
    const { send } = await setUp();

    expect((await send('GET', '/regions')).headers.get('keep-alive')).toBe('timeout=75');
  },
);
