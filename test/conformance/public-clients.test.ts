/** Runs clients that others wrote for the public service, unmodified: only the base URL and the key are changed. */

import { createNeonClient, raw } from '@neon/sdk';
import {
  createApiClient,
  EndpointType,
  NeonAuthOauthProviderId,
  NeonAuthSupportedAuthProvider,
} from '@neondatabase/api-client';
import { describe, expect, test } from 'vitest';
import { DOOR, SETTLING_MS, startService } from './service-under-test.ts';

const auth_provider = NeonAuthSupportedAuthProvider.Stack;

describe('the public client of 2026', () => {
  const withClient = async () => {
    const service = await startService();
    return { service, client: createApiClient({ apiKey: service.key, baseURL: service.baseUrl }) };
  };

  test('lists projects and operations, page by page, and gets one operation', async () => {
    const { service, client } = await withClient();
    await service.wake();
    const { projects } = (await client.listProjects({ limit: 10 })).data;
    expect(projects.map(({ id }) => id).toSorted()).toEqual(
      [service.projectId, service.otherProjectId].toSorted(),
    );

    const first = (await client.listProjectOperations({ projectId: service.projectId, limit: 1 })).data;
    const operationId = first.operations[0]?.id ?? '';
    const { operation } = (await client.getProjectOperation(service.projectId, operationId)).data;
    expect(operation.id).toBe(operationId);
    const cursor = first.pagination?.cursor ?? '';
    const rest = (await client.listProjectOperations({ projectId: service.projectId, cursor })).data;
    expect(rest.operations.map(({ id }) => id)).not.toContain(operationId);
  });

  test('creates, changes, restarts and deletes a compute', async () => {
    const { service, client } = await withClient();
    const { projectId, branchId } = service;
    const created = await client.createProjectEndpoint(projectId, {
      endpoint: { branch_id: branchId, type: EndpointType.ReadOnly },
    });
    expect([created.status, created.data.endpoint.current_state]).toEqual([201, 'init']);
    const { id } = created.data.endpoint;
    await service.pass(SETTLING_MS);

    const changed = await client.updateProjectEndpoint(projectId, id, {
      endpoint: { autoscaling_limit_max_cu: 4 },
    });
    expect(changed.data.endpoint.autoscaling_limit_max_cu).toBe(4);
    await service.pass(SETTLING_MS);
    expect((await client.restartProjectEndpoint(projectId, id)).data.operations).toHaveLength(2);
    await service.pass(SETTLING_MS);
    expect((await client.listProjectEndpoints(projectId)).data.endpoints).toHaveLength(2);
    expect((await client.deleteProjectEndpoint(projectId, id)).status).toBe(200);
  });

  test('creates, uses and deletes every object of an auth integration', async () => {
    const { service, client } = await withClient();
    const { projectId: project_id, branchId: branch_id } = service;
    const created = await client.createNeonAuthIntegration({ auth_provider, project_id, branch_id });
    expect([created.status, created.data.auth_provider]).toEqual([201, auth_provider]);
    expect((await client.createNeonAuthProviderSdkKeys({ auth_provider, project_id })).status).toBe(201);
    expect((await client.listNeonAuthIntegrations(project_id)).data.data).toHaveLength(1);
    expect((await client.transferNeonAuthProviderProject({ auth_provider, project_id })).data.url).toMatch(
      /^http/,
    );

    const user = await client.createNeonAuthNewUser({ auth_provider, project_id, email: 'ada@example.com' });
    expect((await client.deleteNeonAuthUser(project_id, user.data.id)).status).toBe(204);

    const id = NeonAuthOauthProviderId.Microsoft;
    expect((await client.addNeonAuthOauthProvider(project_id, { id })).data.type).toBe('shared');
    const credentials = { client_id: 'an-id', client_secret: 'a-secret' };
    expect((await client.updateNeonAuthOauthProvider(project_id, id, credentials)).data.type).toBe(
      'standard',
    );
    expect((await client.listNeonAuthOauthProviders(project_id)).data.providers).toHaveLength(3);
    expect((await client.deleteNeonAuthOauthProvider(project_id, id)).status).toBe(204);

    const domain = 'https://app.example.com';
    await client.addNeonAuthDomainToRedirectUriWhitelist(project_id, { domain, auth_provider });
    const { domains } = (await client.listNeonAuthRedirectUriWhitelistDomains(project_id)).data;
    expect(domains).toContainEqual({ domain, auth_provider });
    await client.deleteNeonAuthDomainFromRedirectUriWhitelist(project_id, {
      auth_provider,
      domains: [{ domain }],
    });

    await client.updateNeonAuthEmailServer(project_id, {
      type: 'standard',
      host: 'smtp.example.com',
      port: 587,
      username: 'mailer',
      password: 'a-password',
      sender_email: 'noreply@example.com',
      sender_name: 'Example',
    });
    expect((await client.getNeonAuthEmailServer(project_id)).data).toMatchObject({
      type: 'standard',
      port: 587,
    });
  });

  test.skipIf(DOOR === 'bridge')('creates a key, uses it and revokes it', async () => {
    const { service, client } = await withClient();
    const { key, id } = (await client.createApiKey({ key_name: 'made-by-a-client' })).data;
    const second = createApiClient({ apiKey: key, baseURL: service.baseUrl });
    expect((await second.listApiKeys()).data.map(({ name }) => name)).toContain('made-by-a-client');
    await client.revokeApiKey(id);

    await expect(second.listApiKeys()).rejects.toMatchObject({ response: { status: 401 } });
  });
});

describe("the vendor's current client", () => {
  const withClient = async () => {
    const service = await startService();
    return {
      service,
      neon: createNeonClient({
        apiKey: service.key,
        baseUrl: service.baseUrl,
        throwOnError: true,
        retries: 0,
      }),
    };
  };

  test('pages through operations to the end and recognizes errors', async () => {
    const { service, neon } = await withClient();
    await service.wake();
    const operations = await neon.operations.list({ projectId: service.projectId }).all();
    expect(operations.length).toBeGreaterThan(0);
    await neon.operations.waitFor({ operations });

    const missing = neon.operations.list({ projectId: 'no-such-project-00000001' }).all();
    await expect(missing).rejects.toMatchObject({ status: 404 });
  });

  test('creates, restarts and deletes a compute', async () => {
    const { service, neon } = await withClient();
    const where = { projectId: service.projectId };
    const made = await neon.postgres.endpoints.create({
      ...where,
      branch_id: service.branchId,
      type: 'read_only',
    });
    await service.pass(SETTLING_MS);
    const endpointId = made.id;
    expect((await neon.postgres.endpoints.restart({ ...where, endpointId })).pending_state).toBe('active');
    await service.pass(SETTLING_MS);
    await neon.postgres.endpoints.delete({ ...where, endpointId });

    expect((await neon.postgres.endpoints.list(where)).map(({ id }) => id)).toEqual([service.endpointId]);
  });

  test('creates and deletes an auth integration through its raw functions', async () => {
    const { service, neon } = await withClient();
    const { client } = neon;
    const { projectId: project_id, branchId: branch_id } = service;
    const body = { auth_provider: 'stack' as const, project_id };

    const created = await raw.createNeonAuthIntegration({ client, body: { ...body, branch_id } });
    expect(created.data?.secret_server_key).toBeTypeOf('string');
    const user = await raw.createNeonAuthNewUser({ client, body: { ...body, email: 'ada@example.com' } });
    const auth_user_id = user.data?.id ?? '';
    const deleted = await raw.deleteNeonAuthUser({ client, path: { project_id, auth_user_id } });
    expect(deleted.response?.status).toBe(204);
    await raw.deleteNeonAuthIntegration({ client, path: { project_id, auth_provider: 'stack' } });
    const list = await raw.listNeonAuthIntegrations({ client, path: { project_id } });
    expect(list.data?.data).toEqual([]);
  });
});
