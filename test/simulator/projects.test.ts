/** Checks what users do with projects: every write is read back through another call. */

import { describe, expect, test } from 'vitest';
import { ORGANIZATION_ID } from '../../infra/simulator/world/project-state.ts';
import { actionsOf, openProject, SETTLING_MS } from './answers-under-test.ts';
import { HOUR_MS } from './upstream-under-test.ts';

const SECOND_ID = 'org-young-meadow-20000002';
const DAY_MS = 24 * HOUR_MS;

describe('a project', () => {
  test('is created with a branch, a role, a database and a compute, which are ready when its operations have finished', async () => {
    const { send, get, settle } = await openProject();
    const request = { name: 'shop', region_id: 'aws-eu-central-1', pg_version: 16, org_id: ORGANIZATION_ID };

    const { status, body } = await send('POST', '/projects', {
      project: { ...request, branch: { name: 'trunk', role_name: 'ada', database_name: 'orders' } },
    });

    expect([status, actionsOf(body)]).toEqual([201, ['create_timeline running', 'start_compute scheduling']]);
    expect(body.branch).toMatchObject({ name: 'trunk', current_state: 'init', pending_state: 'ready' });
    const [{ connection_uri, connection_parameters }] = body.connection_uris;
    expect(connection_parameters).toMatchObject({ role: 'ada', database: 'orders' });
    expect(connection_parameters.host).toMatch(/^ep-.*\.eu-central-1\.aws\.service\.example$/);
    settle();
    const base = `/projects/${body.project.id}`;
    const branch = `${base}/branches/${body.branch.id}`;
    expect((await get(base)).body.project).toMatchObject(request);
    expect((await get(branch)).body.branch).toMatchObject({ current_state: 'ready', default: true });
    expect((await get(`${base}/endpoints`)).body.endpoints).toMatchObject([{ current_state: 'active' }]);
    expect((await get(`${branch}/databases`)).body.databases).toMatchObject([{ name: 'orders' }]);
    const query = 'role_name=ada&database_name=orders';
    expect((await get(`${base}/connection_uri?${query}`)).body.uri).toBe(connection_uri);
  });

  test('has a name as people give them, and one that a caller creates without a name is named as its id', async () => {
    const { projectId, get, succeed } = await openProject();

    const { project } = await succeed('POST', '/projects', { project: {} });

    expect((await get(`/projects/${projectId}`)).body.project.name).toMatch(/^[a-z]+-[a-z]+$/);
    expect(project.name).toBe(project.id);
  });

  test('that a caller created is left to callers: only its compute suspends by itself', async () => {
    const { succeed, get, upstream } = await openProject();
    const { project } = await succeed('POST', '/projects', { project: {} });
    upstream.passMs(DAY_MS);

    const { operations } = (await get(`/projects/${project.id}/operations`)).body;

    expect(actionsOf({ operations })).toEqual([
      'suspend_compute finished',
      'start_compute finished',
      'create_timeline finished',
    ]);
  });

  test('is listed by search, organization and pages', async () => {
    const { projectId, succeed, get } = await openProject();
    const shop = (await succeed('POST', '/projects', { project: { name: 'shop' } })).project.id;
    const blog = (await succeed('POST', '/projects', { project: { name: 'blog', org_id: SECOND_ID } }))
      .project.id;
    const ids = async (query: string) =>
      (await get(`/projects?${query}`)).body.projects.map(({ id }: { id: string }) => id);

    expect(await ids('search=sho')).toEqual([shop]);
    expect(await ids(`search=${shop.slice(0, -1)}`)).toEqual([shop]);
    expect(await ids(`org_id=${SECOND_ID}`)).toEqual([blog]);
    expect(new Set(await ids(`org_id=${ORGANIZATION_ID}`))).toEqual(new Set([projectId, shop]));
    const all = await ids('limit=400');
    expect(await ids(`limit=400&cursor=${all[0]}`)).toEqual(all.slice(1));
    expect((await get('/projects?org_id=org-none')).status).toBe(404);
    expect((await get('/projects/shared')).body).toEqual({ projects: [] });
  });

  test('is renamed without an operation, and another history reaches the storage', async () => {
    const { base, succeed, get } = await openProject();
    const renamed = await succeed('PATCH', base, { project: { name: 'renamed' } });
    const kept = await succeed('PATCH', base, { project: { history_retention_seconds: 3_600 } });

    expect([renamed.operations, actionsOf(kept)]).toEqual([[], ['apply_storage_config running']]);
    const { project } = (await get(base)).body;
    expect(project).toMatchObject({ name: 'renamed', history_retention_seconds: 3_600 });
  });

  test('applies changed settings to its active compute, and keeps those that were not named', async () => {
    const { base, endpointId, succeed, get } = await openProject();
    await succeed('POST', `${base}/endpoints/${endpointId}/start`);

    const body = await succeed('PATCH', base, {
      project: { settings: { enable_logical_replication: true } },
    });

    expect(actionsOf(body)).toEqual(['apply_config running']);
    expect((await get(base)).body.project.settings).toMatchObject({
      enable_logical_replication: true,
      block_vpc_connections: false,
    });
  });

  test('gives new computes its default size', async () => {
    const { base, branchId, succeed } = await openProject();
    await succeed('PATCH', base, {
      project: { default_endpoint_settings: { autoscaling_limit_max_cu: 4, suspend_timeout_seconds: 600 } },
    });

    const { endpoint } = await succeed('POST', `${base}/endpoints`, {
      endpoint: { branch_id: branchId, type: 'read_only' },
    });

    expect(endpoint).toMatchObject({ autoscaling_limit_max_cu: 4, suspend_timeout_seconds: 600 });
  });

  test('is deleted from all answers, while its operations show how the deletion ends', async () => {
    const { base, projectId, endpointId, succeed, send, get, settle, upstream } = await openProject();
    await succeed('POST', `${base}/endpoints/${endpointId}/start`);

    const { status, body } = await send('DELETE', base);

    expect([status, body.project.id]).toEqual([200, projectId]);
    expect((await get('/projects')).body.projects).toEqual([]);
    for (const path of [base, `${base}/branches`, `${base}/endpoints`])
      expect((await get(path)).status).toBe(404);
    settle();
    const { operations } = (await get(`${base}/operations?limit=2`)).body;
    expect(actionsOf({ operations })).toEqual(['delete_tenant finished', 'suspend_compute finished']);
    expect((await send('DELETE', base)).status).toBe(200);
    upstream.passMs(HOUR_MS);
    expect((await get(`${base}/operations`)).status).toBe(404);
    expect((await send('DELETE', '/projects/none')).status).toBe(404);
  });

  test('that is idle for three months is detached from storage, and reattached by the next call that needs it', async () => {
    const { base, endpointId, send, get, upstream, statusesOf } = await openProject({ sessionsPerHour: 0 });
    upstream.passMs(91 * DAY_MS);
    const before = (await get(`${base}/operations`)).body.operations;

    const { body } = await send('POST', `${base}/endpoints/${endpointId}/start`);
    upstream.passMs(4 * SETTLING_MS);

    expect(actionsOf({ operations: before })).toEqual(['tenant_detach finished']);
    expect(actionsOf(body)).toEqual(['tenant_reattach running', 'start_compute scheduling']);
    expect(await statusesOf(body.operations)).toEqual(['tenant_reattach finished', 'start_compute finished']);
    expect((await get(`${base}/endpoints/${endpointId}`)).body.endpoint.current_state).toBe('active');
    expect(before[0]).not.toHaveProperty('branch_id');
  });

  test.each([
    ['an unknown region', { region_id: 'aws-moon-1' }, 400],
    ['a version of Postgres that is not offered', { pg_version: 13 }, 400],
    ['a size that is not offered', { autoscaling_limit_max_cu: 17 }, 400],
    ['an unknown organization', { org_id: 'org-none' }, 404],
    ['an empty name', { name: '' }, 400],
  ])('is not created with %s', async (_what, project, status) => {
    const { send } = await openProject();

    expect((await send('POST', '/projects', { project })).status).toBe(status);
  });
});

describe('a project that is shared', () => {
  test('is reached by a person of another organization, who lists it as shared, until that ends', async () => {
    const { base, projectId, succeed, send, get, upstream } = await openProject();
    upstream.apiKeys.add('guest-key', 'user-guest');
    const guest = { authorization: 'Bearer guest-key' };
    expect((await get(base, guest)).status).toBe(404);

    const { id } = await succeed('POST', `${base}/permissions`, { email: 'user-guest@example.com' });

    expect((await get(base, guest)).status).toBe(200);
    expect((await get('/projects', guest)).body.projects).toEqual([]);
    expect((await get('/projects/shared', guest)).body.projects).toMatchObject([{ id: projectId }]);
    expect((await get('/projects/shared')).body.projects).toEqual([]);
    expect((await get(`${base}/permissions`)).body.project_permissions).toMatchObject([{ id }]);
    const again = await send('POST', `${base}/permissions`, { email: 'user-guest@example.com' });
    expect(again.status).toBe(409);
    const revoked = await succeed('DELETE', `${base}/permissions/${id}`);
    expect(revoked).toHaveProperty('revoked_at');
    expect((await get(base, guest)).status).toBe(404);
    expect((await send('DELETE', `${base}/permissions/${id}`)).status).toBe(404);
  });
});

describe('a transfer', () => {
  const transfer = (project_ids: readonly string[]) => ({ destination_org_id: SECOND_ID, project_ids });
  const path = `/organizations/${ORGANIZATION_ID}/projects/transfer`;

  test('moves a project to another organization, and ends the keys that are scoped to it', async () => {
    const { base, projectId, send, get, succeed } = await openProject();
    const keysPath = `/organizations/${ORGANIZATION_ID}/api_keys`;
    const scoped = await succeed('POST', keysPath, { key_name: 'scoped', project_id: projectId });
    const organization = await succeed('POST', keysPath, { key_name: 'organization' });
    const withKey = (key: string) => ({ authorization: `Bearer ${key}` });
    expect((await get(base, withKey(organization.key))).status).toBe(200);

    expect((await send('POST', path, transfer([projectId]))).body).toEqual({});

    expect((await get(base)).body.project.org_id).toBe(SECOND_ID);
    expect((await get(base, withKey(scoped.key))).status).toBe(401);
    expect((await get(base, withKey(organization.key))).status).toBe(404);
    expect((await get('/projects', withKey(organization.key))).body.projects).toEqual([]);
  });

  test('moves all of the projects, or none', async () => {
    const { base, projectId, send, get } = await openProject();

    expect((await send('POST', path, transfer([projectId, 'none']))).status).toBe(404);
    expect((await get(base)).body.project.org_id).toBe(ORGANIZATION_ID);
  });

  test('by request happens when the request is accepted, once, and before it expires', async () => {
    const { base, succeed, send, get, upstream } = await openProject();
    const ask = async () => (await succeed('POST', `${base}/transfer_requests`, { ttl_seconds: 600 })).id;
    const expired = await ask();
    upstream.passMs(600_000);
    const accept = (id: string) => send('PUT', `${base}/transfer_requests/${id}`, { org_id: SECOND_ID });
    expect((await accept(expired)).status).toBe(404);

    const id = await ask();
    expect([(await accept(id)).status, (await accept(id)).status]).toEqual([204, 404]);
    expect((await get(base)).body.project.org_id).toBe(SECOND_ID);
  });
});
