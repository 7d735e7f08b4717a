/** Drives the vendor's API client unmodified, and checks each answer against what was written before. */

import {
  type Api,
  ConsumptionHistoryGranularity,
  createApiClient,
  EndpointType,
  MemberRole,
  NeonAuthOauthProviderId,
  NeonAuthSupportedAuthProvider,
  OperationStatus,
} from '@neondatabase/api-client';
import { describe, expect, test } from 'vitest';
import { ORGANIZATION_ID } from '../../infra/simulator/world/project-state.ts';
import { DOOR, SETTLING_MS, type Service, startService } from '../conformance/service-under-test.ts';
import { recordedCalls } from './recorded-calls.ts';

const called = new Set<string>();

async function withClient() {
  const service = await startService();
  const client = recordedCalls(createApiClient({ apiKey: service.key, baseURL: service.baseUrl }), called);
  const { projectId, branchId, endpointId } = service;
  const settle = () => service.pass(SETTLING_MS);
  return { service, client, settle, projectId, branchId, endpointId };
}

/** Waits as a careful client does: it reads each operation until none is under way. */
async function finish(client: Api<unknown>, service: Service, projectId: string): Promise<void> {
  await service.pass(SETTLING_MS);
  const { operations } = (await client.listProjectOperations({ projectId })).data;
  expect(operations.filter(({ status }) => status !== OperationStatus.Finished)).toEqual([]);
}

const auth_provider = NeonAuthSupportedAuthProvider.Stack;
const provider = NeonAuthOauthProviderId.Microsoft;
const credentials = { client_id: 'an-id', client_secret: 'a-secret' };
const domain = 'https://app.example.com';
const emailServer = {
  type: 'standard' as const,
  host: 'smtp.example.com',
  port: 587,
  username: 'mailer',
  password: 'a-password',
  sender_email: 'noreply@example.com',
  sender_name: 'Example',
};
const notFound = { response: { status: 404 } };

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
const namesOf = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name);

describe('the API client', () => {
  test('creates a project with all that was asked for, and reads every part of it back', async () => {
    const { service, client } = await withClient();
    const project = {
      name: 'shop',
      region_id: 'aws-eu-central-1',
      pg_version: 16,
      org_id: ORGANIZATION_ID,
      branch: { name: 'production', role_name: 'owner', database_name: 'orders' },
      default_endpoint_settings: { autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 4 },
    };
    const made = (await client.createProject({ project })).data;
    const { id } = made.project;
    await finish(client, service, id);

    const { branch: _branch, ...fields } = project;
    expect((await client.getProject(id)).data.project).toMatchObject(fields);
    const listed = (await client.listProjects({ search: 'shop' })).data.projects;
    expect(idsOf(listed)).toEqual([id]);
    const [branch] = (await client.listProjectBranches({ projectId: id })).data.branches;
    expect(branch).toMatchObject({ id: made.branch.id, name: 'production', default: true });
    const branchId = made.branch.id;
    const { roles } = (await client.listProjectBranchRoles(id, branchId)).data;
    const { databases } = (await client.listProjectBranchDatabases(id, branchId)).data;
    expect([namesOf(roles), namesOf(databases)]).toEqual([['owner'], ['orders']]);
    const [endpoint] = (await client.listProjectEndpoints(id)).data.endpoints;
    expect(endpoint).toMatchObject({ id: made.endpoints[0]?.id, autoscaling_limit_max_cu: 4 });
    const query = { projectId: id, role_name: 'owner', database_name: 'orders' };
    expect((await client.getConnectionUri(query)).data.uri).toBe(made.connection_uris[0]?.connection_uri);
  });

  test('updates, shares, transfers and deletes projects', async () => {
    const { service, client, projectId } = await withClient();
    const settings = { allowed_ips: { ips: ['192.0.2.0/24'], protected_branches_only: false } };
    const change = { name: 'renamed', history_retention_seconds: 7_200, settings };
    await client.updateProject(projectId, { project: change });
    await finish(client, service, projectId);
    expect((await client.getProject(projectId)).data.project).toMatchObject(change);
    expect((await client.listSharedProjects({})).data.projects).toEqual([]);

    await client.deleteProject(projectId);
    await expect(client.getProject(projectId)).rejects.toMatchObject({ response: { status: 404 } });
    expect(idsOf((await client.listProjects({})).data.projects)).toEqual([service.otherProjectId]);
  });

  test('moves a project to another organization, at once and by a request', async () => {
    const { client, projectId } = await withClient();
    const { organizations } = (await client.getCurrentUserOrganizations()).data;
    const other = idsOf(organizations).find((id) => id !== ORGANIZATION_ID) ?? '';
    const organizationOf = async () => (await client.getProject(projectId)).data.project.org_id;

    const there = { destination_org_id: other, project_ids: [projectId] };
    await client.transferProjectsFromOrgToOrg(ORGANIZATION_ID, there);
    expect(await organizationOf()).toBe(other);
    const { projects } = (await client.listProjects({ org_id: other })).data;
    expect(idsOf(projects)).toEqual([projectId]);

    const request = (await client.createProjectTransferRequest(projectId, { ttl_seconds: 60 })).data;
    await client.acceptProjectTransferRequest(projectId, request.id, { org_id: ORGANIZATION_ID });
    expect(await organizationOf()).toBe(ORGANIZATION_ID);
  });

  test('creates, changes, restores, promotes and deletes branches', async () => {
    const { client, settle, projectId, branchId } = await withClient();
    const made = (
      await client.createProjectBranch(projectId, {
        branch: { name: 'dev', parent_id: branchId },
        endpoints: [{ type: EndpointType.ReadWrite }],
      })
    ).data;
    const { id } = made.branch;
    await settle();
    expect((await client.getProjectBranch(projectId, id)).data.branch).toMatchObject({
      name: 'dev',
      parent_id: branchId,
      current_state: 'ready',
    });
    expect((await client.countProjectBranches({ projectId })).data.count).toBe(2);
    const { endpoints } = (await client.listProjectBranchEndpoints(projectId, id)).data;
    expect(idsOf(endpoints)).toEqual(idsOf(made.endpoints));

    await client.updateProjectBranch(projectId, id, { branch: { name: 'next', protected: true } });
    await settle();
    const { branch } = (await client.getProjectBranch(projectId, id)).data;
    expect(branch).toMatchObject({ name: 'next', protected: true });

    await client.restoreProjectBranch(projectId, id, { source_branch_id: branchId });
    await settle();
    expect((await client.getProjectBranch(projectId, id)).data.branch.last_reset_at).toBeTypeOf('string');

    await client.setDefaultProjectBranch(projectId, id);
    await settle();
    const { branches } = (await client.listProjectBranches({ projectId })).data;
    expect(idsOf(branches.filter((each) => each.default))).toEqual([id]);

    await client.setDefaultProjectBranch(projectId, branchId);
    await client.updateProjectBranch(projectId, id, { branch: { protected: false } });
    await settle();
    await client.deleteProjectBranch({ projectId, branchId: id });
    await settle();
    expect(idsOf((await client.listProjectBranches({ projectId })).data.branches)).toEqual([branchId]);
  });

  test('creates, changes and deletes roles and databases, and reads and resets a password', async () => {
    const { client, settle, projectId, branchId } = await withClient();
    await client.createProjectBranchRole(projectId, branchId, { role: { name: 'writer' } });
    await settle();
    expect((await client.getProjectBranchRole(projectId, branchId, 'writer')).data.role.name).toBe('writer');
    const passwordOf = async () =>
      (await client.getProjectBranchRolePassword(projectId, branchId, 'writer')).data.password;
    const before = await passwordOf();
    const reset = (await client.resetProjectBranchRolePassword(projectId, branchId, 'writer')).data;
    await settle();
    expect(await passwordOf()).toBe(reset.role.password);
    expect(reset.role.password).not.toBe(before);

    const database = { name: 'stock', owner_name: 'writer' };
    await client.createProjectBranchDatabase(projectId, branchId, { database });
    await settle();
    await client.updateProjectBranchDatabase(projectId, branchId, 'stock', { database: { name: 'goods' } });
    await settle();
    const shown = (await client.getProjectBranchDatabase(projectId, branchId, 'goods')).data.database;
    expect(shown).toMatchObject({ name: 'goods', owner_name: 'writer' });

    await client.deleteProjectBranchDatabase(projectId, branchId, 'goods');
    await settle();
    await client.deleteProjectBranchRole(projectId, branchId, 'writer');
    await settle();
    const { roles } = (await client.listProjectBranchRoles(projectId, branchId)).data;
    const { databases } = (await client.listProjectBranchDatabases(projectId, branchId)).data;
    expect(namesOf(roles)).not.toContain('writer');
    expect(namesOf(databases)).not.toContain('goods');
  });

  test('creates, starts, changes, restarts, suspends and deletes a compute, and reads its operations', async () => {
    const { service, client, settle, projectId, branchId } = await withClient();
    const endpoint = { branch_id: branchId, type: EndpointType.ReadOnly, name: 'reader' };
    const { id } = (await client.createProjectEndpoint(projectId, { endpoint })).data.endpoint;
    await finish(client, service, projectId);
    const shown = async () => (await client.getProjectEndpoint(projectId, id)).data.endpoint;
    expect(await shown()).toMatchObject({ ...endpoint, current_state: 'active' });

    await client.suspendProjectEndpoint(projectId, id);
    await settle();
    expect((await shown()).current_state).toBe('idle');
    await client.updateProjectEndpoint(projectId, id, { endpoint: { autoscaling_limit_max_cu: 4 } });
    const { operations } = (await client.startProjectEndpoint(projectId, id)).data;
    await settle();
    expect(await shown()).toMatchObject({ current_state: 'active', autoscaling_limit_max_cu: 4 });
    const started = await client.getProjectOperation(projectId, operations[0]?.id ?? '');
    expect(started.data.operation).toMatchObject({ action: 'start_compute', status: 'finished' });

    await client.restartProjectEndpoint(projectId, id);
    await settle();
    expect((await shown()).current_state).toBe('active');
    await client.deleteProjectEndpoint(projectId, id);
    expect(idsOf((await client.listProjectEndpoints(projectId)).data.endpoints)).toEqual([
      service.endpointId,
    ]);
  });

  test('shows who the user is, the organization, its members, regions and consumption', async () => {
    const { service, client, projectId } = await withClient();
    const me = (await client.getCurrentUserInfo()).data;
    expect((await client.getAuthDetails()).data).toMatchObject({ account_id: me.id });
    const organization = (await client.getOrganization(ORGANIZATION_ID)).data;
    expect((await client.getCurrentUserOrganizations()).data.organizations).toContainEqual(organization);

    const { members } = (await client.getOrganizationMembers({ orgId: ORGANIZATION_ID })).data;
    const other = members.find(({ user }) => user.email !== me.email)?.member;
    if (other === undefined) throw new Error('The organization has only one member');
    await client.updateOrganizationMember(ORGANIZATION_ID, other.id, { role: MemberRole.Admin });
    expect((await client.getOrganizationMember(ORGANIZATION_ID, other.id)).data.role).toBe(MemberRole.Admin);
    await client.removeOrganizationMember(ORGANIZATION_ID, other.id);
    const left = (await client.getOrganizationMembers({ orgId: ORGANIZATION_ID })).data.members;
    expect(left).toHaveLength(members.length - 1);

    const { regions } = (await client.getActiveRegions({})).data;
    const { project } = (await client.getProject(projectId)).data;
    expect(regions.map(({ region_id }) => region_id)).toContain(project.region_id);

    await service.wake();
    const nowMs = service.upstream.world().nowMs;
    const history = await client.getConsumptionHistoryPerProject({
      from: new Date(nowMs - 3_600_000).toISOString(),
      to: new Date(nowMs + 3_600_000).toISOString(),
      granularity: ConsumptionHistoryGranularity.Hourly,
      project_ids: [projectId],
    });
    expect(history.data.projects.map(({ project_id }) => project_id)).toEqual([projectId]);
  });

  test('creates, uses and deletes every part of an auth integration', async () => {
    const { client, projectId: project_id, branchId: branch_id } = await withClient();
    const made = (await client.createNeonAuthIntegration({ auth_provider, project_id, branch_id })).data;
    const keys = (await client.createNeonAuthProviderSdkKeys({ auth_provider, project_id })).data;
    expect(keys.auth_provider_project_id).toBe(made.auth_provider_project_id);
    const [shown] = (await client.listNeonAuthIntegrations(project_id)).data.data;
    expect(shown).toMatchObject({ auth_provider_project_id: made.auth_provider_project_id, branch_id });

    const email = 'ada@example.com';
    const user = (await client.createNeonAuthNewUser({ auth_provider, project_id, email })).data;
    await client.deleteNeonAuthUser(project_id, user.id);
    await expect(client.deleteNeonAuthUser(project_id, user.id)).rejects.toMatchObject(notFound);

    await client.addNeonAuthOauthProvider(project_id, { id: provider });
    await client.updateNeonAuthOauthProvider(project_id, provider, credentials);
    const { providers } = (await client.listNeonAuthOauthProviders(project_id)).data;
    expect(providers).toContainEqual({ id: provider, type: 'standard' });
    await client.deleteNeonAuthOauthProvider(project_id, provider);

    await client.addNeonAuthDomainToRedirectUriWhitelist(project_id, { domain, auth_provider });
    await client.deleteNeonAuthDomainFromRedirectUriWhitelist(project_id, {
      auth_provider,
      domains: [{ domain: 'http://localhost' }],
    });
    const { domains } = (await client.listNeonAuthRedirectUriWhitelistDomains(project_id)).data;
    expect(domains).toEqual([{ domain, auth_provider }]);

    await client.updateNeonAuthEmailServer(project_id, emailServer);
    expect((await client.getNeonAuthEmailServer(project_id)).data).toMatchObject({ host: emailServer.host });
    const { url } = (await client.transferNeonAuthProviderProject({ auth_provider, project_id })).data;
    expect(new URL(url).pathname).toContain(project_id);
    await client.deleteNeonAuthIntegration(project_id, auth_provider, {});
    expect((await client.listNeonAuthIntegrations(project_id)).data.data).toEqual([]);
  });

  test('creates, uses and deletes the auth integration of a branch by the newer calls', async () => {
    const { client, projectId, branchId } = await withClient();
    const here = [projectId, branchId] as const;
    const made = (await client.createNeonAuth(...here, { auth_provider })).data;
    const shown = (await client.getNeonAuth(...here)).data;
    expect(shown).toMatchObject({ auth_provider_project_id: made.auth_provider_project_id });
    await expect(client.getNeonAuth(projectId, 'br-other')).rejects.toMatchObject(notFound);

    const user = (await client.createBranchNeonAuthNewUser(...here, { email: 'ada@example.com' })).data;
    await client.deleteBranchNeonAuthUser(...here, user.id);
    await expect(client.deleteBranchNeonAuthUser(...here, user.id)).rejects.toMatchObject(notFound);

    await client.addBranchNeonAuthOauthProvider(...here, { id: provider });
    await client.updateBranchNeonAuthOauthProvider(...here, provider, credentials);
    const { providers } = (await client.listBranchNeonAuthOauthProviders(...here)).data;
    expect(providers).toContainEqual({ id: provider, type: 'standard' });
    await client.deleteBranchNeonAuthOauthProvider(...here, provider);

    await client.addBranchNeonAuthTrustedDomain(...here, { domain, auth_provider });
    const domains = [{ domain: 'http://localhost' }];
    await client.deleteBranchNeonAuthTrustedDomain(...here, { auth_provider, domains });
    const trusted = (await client.listBranchNeonAuthTrustedDomains(...here)).data.domains;
    expect(trusted).toEqual([{ domain, auth_provider }]);

    await client.updateNeonAuthEmailProvider(...here, emailServer);
    expect((await client.getNeonAuthEmailProvider(...here)).data).toMatchObject({ host: emailServer.host });
    await client.disableNeonAuth(...here, {});
    await expect(client.getNeonAuth(...here)).rejects.toMatchObject(notFound);
  });

  test.skipIf(DOOR === 'bridge')(
    'creates, uses and revokes keys of a person and of the organization',
    async () => {
      const { service, client, projectId } = await withClient();
      const { id: ownId, key } = (await client.createApiKey({ key_name: 'laptop' })).data;
      const second = createApiClient({ apiKey: key, baseURL: service.baseUrl });
      expect(namesOf((await second.listApiKeys()).data)).toContain('laptop');
      await client.revokeApiKey(ownId);
      await expect(second.listApiKeys()).rejects.toMatchObject({ response: { status: 401 } });
      expect(namesOf((await client.listApiKeys()).data)).not.toContain('laptop');

      const request = { key_name: 'deploys', project_id: projectId };
      const { id } = (await client.createOrgApiKey(ORGANIZATION_ID, request)).data;
      expect(namesOf((await client.listOrgApiKeys(ORGANIZATION_ID)).data)).toEqual(['deploys']);
      await client.revokeOrgApiKey(ORGANIZATION_ID, id);
      expect((await client.listOrgApiKeys(ORGANIZATION_ID)).data).toEqual([]);
    },
  );

  test('has made at least eighty different calls in the tests above', () => {
    expect(called.size).toBeGreaterThanOrEqual(80);
  });
});
