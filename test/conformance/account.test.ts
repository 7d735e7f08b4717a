import { describe, expect, test } from 'vitest';
import { SETTLING_MS, type Service, startService } from './service-under-test.ts';

const projectRow = async (service: Service) => {
  const { body } = await service.call('listProjects');
  return body.projects.find(({ id }: { id: string }) => id === service.projectId);
};

describe('a project', () => {
  test('is shown as locked while an operation holds its lock, and no longer', async () => {
    const service = await startService();
    expect((await projectRow(service)).locked).toBe(false);

    await service.control('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/connect`);
    expect((await projectRow(service)).locked).toBe(true);

    await service.pass(SETTLING_MS);
    expect((await projectRow(service)).locked).toBe(false);
  });
});

describe('the auth integration', () => {
  const integrationOn = (service: Service, branch_id: string) =>
    service.call('createAuthIntegration', {
      body: { auth_provider: 'stack', project_id: service.projectId, branch_id },
    });

  test('is bound to the production branch, and to no other one', async () => {
    const service = await startService();
    const other = await service.emptyBranch();

    const refused = await integrationOn(service, other);
    expect(refused.status).toBe(400);
    expect(refused.body.message).toContain(other);
    expect((await service.call('listAuthIntegrations')).body.data).toEqual([]);

    expect((await integrationOn(service, service.branchId)).status).toBe(201);
    expect((await service.call('listAuthIntegrations')).body.data[0].branch_id).toBe(service.branchId);
  });

  test('shows its owner by the two names of the public contract, and how far a transfer is', async () => {
    const service = await startService();
    await service.withAuth();
    const shown = async () => {
      const { owned_by, transfer_status } = (await service.call('listAuthIntegrations')).body.data[0];
      return { owned_by, transfer_status };
    };
    expect(await shown()).toEqual({ owned_by: 'neon', transfer_status: undefined });

    const body = { auth_provider: 'stack', project_id: service.projectId };
    const url = new URL((await service.call('transferAuthOwnership', { body })).body.url);
    expect(await shown()).toEqual({ owned_by: 'neon', transfer_status: 'initiated' });

    const form = new URLSearchParams({ code: url.searchParams.get('code') ?? '', account: 'ada' });
    await fetch(url, { method: 'POST', body: form });
    expect(await shown()).toEqual({ owned_by: 'user', transfer_status: 'finished' });
  });
});

describe('the authorization header', () => {
  test.each(['bearer', 'BEARER', 'bEaReR'])('is accepted with the scheme written as %s', async (scheme) => {
    const { baseUrl, key } = await startService();
    const response = await fetch(`${baseUrl}/projects`, { headers: { authorization: `${scheme} ${key}` } });

    expect(response.status).toBe(200);
  });

  test('is refused with another scheme', async () => {
    const { baseUrl, key } = await startService();
    const response = await fetch(`${baseUrl}/projects`, { headers: { authorization: `Basic ${key}` } });

    expect(response.status).toBe(401);
  });
});
