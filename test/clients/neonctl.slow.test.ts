/** Drives the vendor's command line against the bridge in front of the simulated service. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import { ORGANIZATION_ID } from '../../infra/simulator/world/project-state.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createApiUnderTest, listen } from '../api/api-under-test.ts';
import { runPoller } from '../api/poller-under-test.ts';
import { KEY, SETTLING_MS, startService } from '../conformance/service-under-test.ts';
import { openNeonctl } from './neonctl.ts';

/** The program starts up to twenty times in a test, and a busy machine takes several seconds for each start. */
vi.setConfig({ testTimeout: 600_000 });

/** The tests move the simulated time forward, and the program refuses times in the future of its own clock. */
const aDayAgo = { ...systemClock, now: () => systemClock.now() - 24 * 3_600_000 };

async function withNeonctl() {
  const service = await startService({ clock: aDayAgo });
  const neonctl = openNeonctl(service);
  const settle = () => service.pass(SETTLING_MS);
  return { service, neonctl, settle };
}

const namesOf = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name);

describe('neonctl', () => {
  test('connects to this machine only, because its analytics are off', async () => {
    const { neonctl } = await withNeonctl();

    const { stderr } = await neonctl.run('me', '--output', 'json');
    expect(stderr).toContain('loopback-only: refused a connection to track.neon.tech');

    const quiet = await neonctl.run('me', '--output', 'json', '--no-analytics');
    expect(quiet.stderr).not.toContain('loopback-only');
  });

  test('says what is wrong when the key is wrong', async () => {
    const { service } = await withNeonctl();
    const { exitCode, stderr } = await openNeonctl({ ...service, key: 'another-key' }).run(
      'me',
      '--no-analytics',
    );

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/the Neon API rejected the API key/);
  });

  test('shows who the user is, and the organizations', async () => {
    const { neonctl } = await withNeonctl();
    const me = await neonctl.json('me');
    expect(me).toMatchObject({ login: expect.any(String), email: expect.stringContaining('@') });
    expect(await neonctl.table('me')).toContain(me.email);

    const organizations = await neonctl.json('orgs', 'list');
    expect(organizations.map(({ id }: { id: string }) => id)).toContain(ORGANIZATION_ID);
    expect(await neonctl.table('orgs', 'list')).toContain(ORGANIZATION_ID);
  });

  test('creates, lists, shows, changes and deletes a project', async () => {
    const { service, neonctl, settle } = await withNeonctl();
    const created = await neonctl.json('projects', 'create', '--name', 'shop', '--cu', '0.5-2');
    const { id } = created.project;
    expect(created).toMatchObject({ project: { name: 'shop' }, connection_uris: [{ connection_uri: /^/ }] });
    await settle();
    expect(await neonctl.table('projects', 'create', '--name', 'till')).toContain('till');
    await settle();

    const listed = await neonctl.json('projects', 'list');
    expect(namesOf(listed.projects)).toEqual(expect.arrayContaining(['shop', 'till']));
    expect(listed.shared_with_you).toEqual([]);
    expect(await neonctl.table('projects', 'list')).toMatch(new RegExp(`${id}.*shop`));

    expect(await neonctl.json('projects', 'update', id, '--name', 'store')).toMatchObject({ name: 'store' });
    await settle();
    expect(await neonctl.table('projects', 'update', id, '--name', 'market')).toContain('market');
    await settle();
    expect(await neonctl.json('projects', 'get', id)).toMatchObject({
      name: 'market',
      default_endpoint_settings: { autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 2 },
    });
    expect(await neonctl.table('projects', 'get', id)).toContain('market');

    expect((await neonctl.json('projects', 'delete', id)).id).toBe(id);
    await settle();
    expect((await service.send('GET', `/projects/${id}`)).status).toBe(404);
    const till = listed.projects.find(({ name }: { name: string }) => name === 'till').id;
    expect(await neonctl.table('projects', 'delete', till)).toContain('till');
  });

  test('creates, lists, shows, renames, restores and deletes branches', async () => {
    const { service, neonctl, settle } = await withNeonctl();
    const ofProject = ['--project-id', service.projectId];
    const json = async (...args: readonly string[]) => {
      const shown = await neonctl.json('branches', ...args, ...ofProject);
      await settle();
      return shown;
    };
    const table = async (...args: readonly string[]) => {
      const shown = await neonctl.table('branches', ...args, ...ofProject);
      await settle();
      return shown;
    };

    const { branch, endpoints } = await json('create', '--name', 'dev');
    expect(branch).toMatchObject({ name: 'dev', parent_id: service.branchId });
    expect(endpoints).toHaveLength(1);
    expect(await table('create', '--name', 'look', '--parent', 'dev', '--no-compute')).toContain('look');

    const listed = await json('list');
    expect(namesOf(listed).toSorted()).toEqual(['dev', 'look', 'main']);
    expect(await table('list')).toMatch(/\[default\] main/);
    expect(await json('get', 'dev')).toMatchObject({ id: branch.id, current_state: 'ready' });
    expect(await table('get', 'dev')).toContain(branch.id);

    expect(await json('rename', 'dev', 'next')).toMatchObject({ id: branch.id, name: 'next' });
    expect(await table('rename', 'look', 'view')).toContain('view');

    const reader = await json('add-compute', 'next', '--type', 'read_only', '--cu', '1');
    expect(await service.endpoint(reader.id)).toMatchObject({ branch_id: branch.id, type: 'read_only' });
    expect(await table('add-compute', 'view', '--type', 'read_write')).toMatch(/ep-/);

    expect(await json('restore', 'view', '^parent')).toMatchObject({ last_reset_at: expect.any(String) });
    const aMomentAgo = new Date(service.upstream.world().nowMs - 1_000).toISOString();
    const backup = ['--preserve-under-name', 'before'];
    expect(await table('restore', 'next', `^self@${aMomentAgo}`, ...backup)).toMatch(
      /Backup branch[\s\S]*before/,
    );

    expect(await json('set-default', 'next')).toMatchObject({ id: branch.id });
    expect(await table('set-default', 'main')).toContain(service.branchId);

    expect(await json('delete', 'view')).toMatchObject({ name: 'view' });
    expect(await table('delete', 'next')).toContain(branch.id);
    const { body } = await service.send('GET', `/projects/${service.projectId}/branches`);
    expect(namesOf(body.branches).toSorted()).toEqual(['before', 'main']);
  });

  test('creates, lists and deletes roles and databases', async () => {
    const { service, neonctl, settle } = await withNeonctl();
    const json = async (...args: readonly string[]) => {
      const shown = await neonctl.json(...args, '--project-id', service.projectId);
      await settle();
      return shown;
    };
    const table = async (...args: readonly string[]) => {
      const shown = await neonctl.table(...args, '--project-id', service.projectId);
      await settle();
      return shown;
    };
    expect(await json('roles', 'create', '--name', 'writer')).toMatchObject({ name: 'writer' });
    expect(await table('roles', 'create', '--name', 'reader')).toContain('reader');
    expect(namesOf(await json('roles', 'list'))).toEqual(expect.arrayContaining(['writer', 'reader']));
    expect(await table('roles', 'list')).toMatch(/^writer .*\n(.*\n)*reader |^reader .*\n(.*\n)*writer /m);

    const orders = await json('databases', 'create', '--name', 'orders', '--owner-name', 'writer');
    expect(orders).toMatchObject({ name: 'orders', owner_name: 'writer' });
    expect(await table('databases', 'create', '--name', 'stock', '--owner-name', 'reader')).toContain(
      'stock',
    );
    expect(namesOf(await json('databases', 'list'))).toEqual(expect.arrayContaining(['orders', 'stock']));
    expect(await table('databases', 'list')).toMatch(/orders +writer/);

    expect(await json('databases', 'delete', 'orders')).toMatchObject({ name: 'orders' });
    expect(await table('databases', 'delete', 'stock')).toContain('stock');
    expect(await json('roles', 'delete', 'writer')).toMatchObject({ name: 'writer' });
    expect(await table('roles', 'delete', 'reader')).toContain('reader');
    const branch = `/projects/${service.projectId}/branches/${service.branchId}`;
    const { roles } = (await service.send('GET', `${branch}/roles`)).body;
    const { databases } = (await service.send('GET', `${branch}/databases`)).body;
    expect([...namesOf(roles), ...namesOf(databases)]).toHaveLength(2);
  });

  test('prints a connection string, and its parts', async () => {
    const { service, neonctl } = await withNeonctl();
    const project = ['--project-id', service.projectId];
    const { host } = await service.endpoint();

    const text = await neonctl.table('connection-string', ...project);
    const url = new URL(text.trim());
    expect({ protocol: url.protocol, host: url.host }).toEqual({ protocol: 'postgresql:', host });
    expect(url.password).not.toBe('');

    const parts = await neonctl.json('connection-string', 'main', '--extended', '--pooled', ...project);
    expect(parts).toMatchObject({ role: url.username, password: decodeURIComponent(url.password) });
    expect(parts.host).toBe(host.replace(service.endpointId, `${service.endpointId}-pooler`));
    expect(parts.database).toBe(url.pathname.slice(1));
  });

  test('lists operations', async () => {
    const { service, neonctl } = await withNeonctl();
    await service.wake();
    const [newest] = (await service.call('listOperations')).body.operations;

    const listed = await neonctl.json('operations', 'list', '--project-id', service.projectId);
    expect(listed[0]).toMatchObject({ id: newest.id, action: 'start_compute', status: 'finished' });
    expect(await neonctl.table('operations', 'list', '--project-id', service.projectId)).toMatch(
      new RegExp(`${newest.id} +start_compute +finished`),
    );
  });

  test('remembers a project in its context and uses it from then on', async () => {
    const { service, neonctl } = await withNeonctl();
    await neonctl.table('set-context', '--project-id', service.projectId);
    const context = JSON.parse(readFileSync(join(neonctl.folder, '.neon'), 'utf8'));
    expect(context).toMatchObject({ projectId: service.projectId });

    await service.wake();
    const listed = await neonctl.json('operations', 'list');
    expect(listed.map(({ project_id }: { project_id: string }) => project_id)).toEqual([service.projectId]);

    const other = [
      'set-context',
      '--project-id',
      service.otherProjectId,
      '--output',
      'json',
      '--no-analytics',
    ];
    expect(await neonctl.run(...other)).toMatchObject({ exitCode: 0, stdout: '' });
    expect(await neonctl.json('operations', 'list')).toEqual([]);
  });
});

/**
 * Starts a bridge with its poller in front of the simulated service. Just before the program's
 * first command reaches the bridge, another client starts an operation that holds the project.
 */
async function startLockedBridge() {
  const upstream = await startUpstream({
    seed: 3,
    projectCount: 1,
    sessionsPerHour: 0,
    historyMs: 1_000,
    trouble: 0,
    apiKeys: [KEY],
  });
  onTestFinished(() => upstream.close());
  const [project] = upstream.world().projects();
  const projectId = project?.id ?? '';
  const holdProject = async () => {
    const path = `/projects/${projectId}/endpoints/${project?.computes[0]?.endpoint_id}/start`;
    const headers = { authorization: `Bearer ${KEY}` };
    const held = await fetch(`${upstream.baseUrl}${path}`, { method: 'POST', headers });
    expect(held.status).toBe(200);
  };
  const api = createApiUnderTest({ upstreamBaseUrl: upstream.baseUrl, upstreamKey: KEY });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void runPoller({ baseUrl: upstream.baseUrl, key: KEY, fetch }, api, systemClock, stop.signal);
  const received: string[] = [];
  let isHeld = false;
  const app = new Hono();
  app.all('*', async (c) => {
    const { pathname } = new URL(c.req.url);
    received.push(`${c.req.method} ${pathname.replace('/api/v2', '')}`);
    if (c.req.method === 'POST' && !isHeld) {
      isHeld = true;
      await holdProject();
    }
    return api.app.fetch(c.req.raw);
  });
  const baseUrl = `${await listen({ app })}/api/v2`;
  const key = await api.issueToken({ settles: true });
  return { projectId, upstream, received, neonctl: openNeonctl({ baseUrl, key }) };
}

describe('neonctl with a token that was created with --settle', () => {
  test('creates a branch while another operation holds the project, without a retry of its own', async () => {
    const { projectId, upstream, received, neonctl } = await startLockedBridge();

    const created = await neonctl.json('branches', 'create', '--name', 'dev', '--project-id', projectId);

    const branches = `/projects/${projectId}/branches`;
    expect(created.branch.name).toBe('dev');
    expect(received.filter((request) => request === `POST ${branches}`)).toHaveLength(1);
    // The answer came when the operations of the branch had ended.
    const headers = { authorization: `Bearer ${KEY}` };
    const response = await fetch(`${upstream.baseUrl}${branches}/${created.branch.id}`, { headers });
    expect(((await response.json()) as { branch: object }).branch).toMatchObject({ current_state: 'ready' });
  });
});
