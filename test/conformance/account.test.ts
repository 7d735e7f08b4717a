import { describe, expect, test } from 'vitest';
import { DOOR, SETTLING_MS, type Service, startService } from './service-under-test.ts';

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

describe('the free plan', () => {
  const freePlan = () => startService({ plan: 'free' });
  const sized = (service: Service, maxCu: number) =>
    service.call('updateEndpoint', { body: { endpoint: { autoscaling_limit_max_cu: maxCu } } });

  test('has computes of at most two vCPUs and eight gigabytes', async () => {
    const service = await freePlan();
    const facts = await service.control(
      'GET',
      `/projects/${service.projectId}/endpoints/${service.endpointId}`,
    );

    expect((await sized(service, 2)).status).toBe(200);
    expect(facts.body.max).toMatchObject({ vcpu: 2, ram_gb: 8 });
  });

  test('refuses a larger compute, and keeps the size as it was', async () => {
    const service = await freePlan();
    const refused = await sized(service, 3);

    expect(refused.status).toBe(400);
    expect(refused.body.message).toMatch(/autoscaling_limit_max_cu.*free plan.*2 CU/);
    expect((await service.endpoint()).autoscaling_limit_max_cu).toBe(2);
  });

  test('refuses to create a larger compute', async () => {
    const service = await freePlan();
    const size = { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 };
    const refused = await service.call('createEndpoint', {
      body: { endpoint: { branch_id: service.branchId, type: 'read_only', ...size } },
    });

    expect(refused.status).toBe(400);
    expect((await service.call('listEndpoints')).body.endpoints).toHaveLength(1);
  });

  test.skipIf(DOOR === 'bridge')('is shown by its projects with its limits, as a paid plan is', async () => {
    const shown = async (service: Service) => {
      const { project } = (await service.send('GET', `/projects/${service.projectId}`)).body;
      return [
        project.owner.subscription_type,
        project.owner.branches_limit,
        project.branch_logical_size_limit,
      ];
    };

    expect(await shown(await freePlan())).toEqual(['free_v3', 10, 512]);
    expect(await shown(await startService())).toEqual(['scale_v3', 5_000, 16_777_216]);
  });
});
