/** Checks what users do with roles, passwords, databases and connection strings, and with earlier states of them. */

import { describe, expect, test } from 'vitest';
import { actionsOf, openProject } from './answers-under-test.ts';

const namesOf = (rows: readonly { name: string }[]) => rows.map(({ name }) => name);

async function openBranch() {
  const opened = await openProject();
  const branch = `${opened.base}/branches/${opened.branchId}`;
  const roleNames = async (path = branch) => namesOf((await opened.get(`${path}/roles`)).body.roles);
  const databaseNames = async (path = branch) =>
    namesOf((await opened.get(`${path}/databases`)).body.databases);
  return { ...opened, branch, roleNames, databaseNames };
}

describe('a role', () => {
  test('is created with a password that is revealed again, and is listed without it', async () => {
    const { branch, succeed, get } = await openBranch();

    const { role } = await succeed('POST', `${branch}/roles`, { role: { name: 'ada' } });

    expect((await get(`${branch}/roles/ada/reveal_password`)).body).toEqual({ password: role.password });
    const listed = (await get(`${branch}/roles`)).body.roles;
    expect(namesOf(listed)).toEqual(['neondb_owner', 'ada']);
    expect(JSON.stringify(listed)).not.toContain(role.password);
    expect((await get(`${branch}/roles/ada`)).body.role).toMatchObject({ name: 'ada', protected: false });
  });

  test('wakes an idle compute for a short time, and is applied to an active one', async () => {
    const { branch, base, endpointId, send, get, settle, succeed } = await openBranch();
    const idle = await send('POST', `${branch}/roles`, { role: { name: 'ada' } });
    expect(actionsOf(idle.body)).toEqual(['apply_config running', 'suspend_compute scheduling']);
    expect((await get(`${base}/endpoints/${endpointId}`)).body.endpoint).toMatchObject({
      current_state: 'idle',
      pending_state: 'active',
    });
    settle();
    expect((await get(`${base}/endpoints/${endpointId}`)).body.endpoint.current_state).toBe('idle');

    await succeed('POST', `${base}/endpoints/${endpointId}/start`);
    const active = await send('POST', `${branch}/roles`, { role: { name: 'eve' } });
    expect(actionsOf(active.body)).toEqual(['apply_config running']);
    expect((await send('POST', `${branch}/roles`, { role: { name: 'bob' } })).status).toBe(423);
  });

  test('gets another password when it is reset', async () => {
    const { branch, succeed, get } = await openBranch();
    const path = `${branch}/roles/neondb_owner`;
    const before = (await get(`${path}/reveal_password`)).body.password;

    const { role } = await succeed('POST', `${path}/reset_password`);

    expect(role.password).not.toBe(before);
    expect((await get(`${path}/reveal_password`)).body.password).toBe(role.password);
  });

  test('without login has no password', async () => {
    const { branch, succeed, send, get } = await openBranch();
    const { role } = await succeed('POST', `${branch}/roles`, { role: { name: 'group', no_login: true } });

    expect(role).not.toHaveProperty('password');
    expect((await get(`${branch}/roles/group/reveal_password`)).status).toBe(412);
    expect((await send('POST', `${branch}/roles/group/reset_password`)).status).toBe(412);
  });

  test('is deleted once, and not while it owns a database', async () => {
    const { branch, succeed, send, roleNames } = await openBranch();
    await succeed('POST', `${branch}/roles`, { role: { name: 'ada' } });
    expect((await send('DELETE', `${branch}/roles/neondb_owner`)).status).toBe(422);

    await succeed('DELETE', `${branch}/roles/ada`);

    expect(await roleNames()).toEqual(['neondb_owner']);
    expect((await send('DELETE', `${branch}/roles/ada`)).status).toBe(204);
  });

  test.each([
    ['a name that exists', 'neondb_owner', 409],
    ['a name that Postgres reserves', 'pg_ada', 400],
    ['an empty name', '', 400],
    ['a name of 64 bytes', 'x'.repeat(64), 400],
  ])('is refused for %s', async (_what, name, status) => {
    const { branch, send } = await openBranch();

    expect((await send('POST', `${branch}/roles`, { role: { name } })).status).toBe(status);
  });

  test('needs a compute that applies it', async () => {
    const { base, succeed, send } = await openBranch();
    const { branch } = await succeed('POST', `${base}/branches`);

    const { status } = await send('POST', `${base}/branches/${branch.id}/roles`, { role: { name: 'ada' } });

    expect(status).toBe(422);
  });
});

describe('a database', () => {
  test('is created, renamed, given to another owner and deleted', async () => {
    const { branch, succeed, send, get, databaseNames } = await openBranch();
    await succeed('POST', `${branch}/roles`, { role: { name: 'ada' } });
    const { database } = await succeed('POST', `${branch}/databases`, {
      database: { name: 'orders', owner_name: 'neondb_owner' },
    });
    expect(await databaseNames()).toEqual(['neondb', 'orders']);

    await succeed('PATCH', `${branch}/databases/orders`, { database: { name: 'sales', owner_name: 'ada' } });

    expect((await get(`${branch}/databases/sales`)).body.database).toMatchObject({
      id: database.id,
      owner_name: 'ada',
    });
    expect((await get(`${branch}/databases/orders`)).status).toBe(404);
    const deleted = await succeed('DELETE', `${branch}/databases/sales`);
    expect(actionsOf(deleted)).toEqual(['apply_config running', 'suspend_compute scheduling']);
    expect(await databaseNames()).toEqual(['neondb']);
    expect((await send('DELETE', `${branch}/databases/sales`)).status).toBe(204);
  });

  test.each([
    ['an unknown owner', { name: 'orders', owner_name: 'nobody' }, 404],
    ['a name that exists', { name: 'neondb', owner_name: 'neondb_owner' }, 409],
    ['no owner', { name: 'orders' }, 400],
  ])('is refused for %s', async (_what, database, status) => {
    const { branch, send } = await openBranch();

    expect((await send('POST', `${branch}/databases`, { database })).status).toBe(status);
  });
});

describe('a connection string', () => {
  test('leads to the compute of the default branch, with the password that is revealed', async () => {
    const { base, branch, endpointId, get } = await openBranch();
    const { password } = (await get(`${branch}/roles/neondb_owner/reveal_password`)).body;

    const { uri } = (await get(`${base}/connection_uri?database_name=neondb&role_name=neondb_owner`)).body;

    const url = new URL(uri);
    expect([url.username, url.password, url.pathname]).toEqual(['neondb_owner', password, '/neondb']);
    expect(url.host).toBe((await get(`${base}/endpoints/${endpointId}`)).body.endpoint.host);
  });

  test('names the pooler on request', async () => {
    const { base, endpointId, get } = await openBranch();
    const query = 'database_name=neondb&role_name=neondb_owner&pooled=true';

    const { uri } = (await get(`${base}/connection_uri?${query}`)).body;

    expect(new URL(uri).host.split('.')[0]).toBe(`${endpointId}-pooler`);
  });

  test.each([
    ['no database', 'role_name=neondb_owner', 400],
    ['an unknown role', 'role_name=ada&database_name=neondb', 404],
    ['an unknown database', 'role_name=neondb_owner&database_name=orders', 404],
    ['an unknown branch', 'role_name=neondb_owner&database_name=neondb&branch_id=br-none', 404],
    ['an unknown compute', 'role_name=neondb_owner&database_name=neondb&endpoint_id=ep-none', 404],
  ])('is refused for %s', async (_what, query, status) => {
    const { base, get } = await openBranch();

    expect((await get(`${base}/connection_uri?${query}`)).status).toBe(status);
  });
});

describe('an earlier state', () => {
  const isoOf = (epochMs: number) => new Date(epochMs).toISOString();

  test('is what a branch contains that begins at a time or at the LSN of another branch', async () => {
    const { base, branch, succeed, upstream, databaseNames } = await openBranch();
    const beforeMs = upstream.world.nowMs;
    upstream.passMs(5_000);
    const { branch: marker } = await succeed('POST', `${base}/branches`);
    await succeed('POST', `${branch}/databases`, { database: { name: 'late', owner_name: 'neondb_owner' } });
    const createdFrom = async (point: object) =>
      databaseNames(
        `${base}/branches/${(await succeed('POST', `${base}/branches`, { branch: point })).branch.id}`,
      );

    expect(await createdFrom({})).toEqual(['neondb', 'late']);
    expect(await createdFrom({ parent_timestamp: isoOf(beforeMs) })).toEqual(['neondb']);
    expect(await createdFrom({ parent_lsn: marker.parent_lsn })).toEqual(['neondb']);
  });

  test('is restored in place, while the state before is kept under a name', async () => {
    const { base, branch, branchId, succeed, send, get, settle, upstream, databaseNames } =
      await openBranch();
    const child = await succeed('POST', `${base}/branches`);
    const beforeMs = upstream.world.nowMs;
    upstream.passMs(5_000);
    await succeed('POST', `${branch}/databases`, { database: { name: 'late', owner_name: 'neondb_owner' } });
    const request = { source_branch_id: branchId, source_timestamp: isoOf(beforeMs) };
    expect((await send('POST', `${branch}/restore`, request)).status).toBe(400);

    const { status, body } = await send('POST', `${branch}/restore`, {
      ...request,
      preserve_under_name: 'before-restore',
    });

    expect([status, actionsOf(body)]).toEqual([200, ['create_branch running']]);
    expect(body.branch).toMatchObject({ current_state: 'resetting', pending_state: 'ready' });
    expect(await databaseNames()).toEqual(['neondb', 'late']);
    settle();
    expect(await databaseNames()).toEqual(['neondb']);
    const { branches } = (await get(`${base}/branches?search=before-restore`)).body;
    expect(await databaseNames(`${base}/branches/${branches[0].id}`)).toEqual(['neondb', 'late']);
    const restored = (await get(branch)).body.branch;
    expect(restored).toMatchObject({ current_state: 'ready', parent_id: branches[0].id });
    expect(restored).toHaveProperty('last_reset_at');
    const moved = (await get(`${base}/branches/${child.branch.id}`)).body.branch;
    expect(moved.parent_id).toBe(branches[0].id);
  });

  test('restarts the active compute of the branch that is restored to the head of its parent', async () => {
    const { base, branch, branchId, endpointId, succeed, send, get, settle, databaseNames } =
      await openBranch();
    const made = await succeed('POST', `${base}/branches`, { endpoints: [{ type: 'read_write' }] });
    await succeed('POST', `${branch}/databases`, { database: { name: 'new', owner_name: 'neondb_owner' } });
    const child = `${base}/branches/${made.branch.id}`;
    expect(await databaseNames(child)).toEqual(['neondb']);

    const { body } = await send('POST', `${child}/restore`, { source_branch_id: branchId });
    settle();

    expect(actionsOf(body)).toEqual([
      'suspend_compute running',
      'create_branch scheduling',
      'start_compute scheduling',
    ]);
    expect(await databaseNames(child)).toEqual(['neondb', 'new']);
    const computes = (await get(`${child}/endpoints`)).body.endpoints;
    expect(computes).toMatchObject([{ current_state: 'active' }]);
    expect(computes[0].id).not.toBe(endpointId);
  });
});
