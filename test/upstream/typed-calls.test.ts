/** The typed client against the simulated service. */

import { inspect } from 'node:util';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { systemClock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret, type Secret } from '../../shared/runtime/secret.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import type { Attempt } from '../../shared/upstream/send.ts';
import { createUpstreamCalls } from '../../shared/upstream/typed-calls.ts';
import { isUpstreamError } from '../../shared/upstream/upstream-error.ts';
import { KEY, type Service, startService } from '../conformance/service-under-test.ts';

function callsOf({ baseUrl }: Service, onAttempt: (attempt: Attempt) => void = () => {}) {
  const clock = systemClock;
  const key = createSecret(KEY);
  return createUpstreamCalls({
    baseUrl,
    apiKey: { current: async () => key, refresh: async () => key },
    clock,
    random: seededRandom(1),
    budget: createRequestBudget({ clock, requestsPerMinute: 700, burst: 40 }),
    onAttempt,
  });
}

const ids = ({ projectId, endpointId }: Service) => ({ project_id: projectId, endpoint_id: endpointId });

describe('a typed call', () => {
  test('answers what the table says, with its type', async () => {
    const service = await startService();
    const { endpoints } = await callsOf(service).listEndpoints({ ids: ids(service) });

    expect(endpoints.map(({ id }) => id)).toEqual([service.endpointId]);
    expectTypeOf(endpoints[0]?.current_state).toEqualTypeOf<string | undefined>();
  });

  test('carries secrets both ways in a wrapper that never prints', async () => {
    const service = await startService();
    const calls = callsOf(service);
    const where = { auth_provider: 'stack', project_id: service.projectId };
    const keys = await calls.createAuthIntegration({ body: { ...where, branch_id: service.branchId } });
    expectTypeOf(keys.secret_server_key).toEqualTypeOf<Secret>();
    expect(keys.secret_server_key.reveal()).toMatch(/^ssk_/);
    for (const printed of [JSON.stringify(keys), inspect(keys), inspect([keys], { depth: 9 })])
      expect(printed).not.toContain('ssk_');

    const server = await calls.updateEmailServer({
      ids: { project_id: service.projectId },
      body: {
        type: 'standard',
        host: 'smtp.example.com',
        port: 587,
        username: 'mailer',
        password: createSecret('a-password'),
        sender_email: 'noreply@example.com',
        sender_name: 'Example',
      },
    });
    expect(server.password?.reveal()).toBe('a-password');
  });

  test('without a body in its answer gives nothing', async () => {
    const service = await startService();
    await service.withAuth();
    const body = { auth_provider: 'stack', domain: 'https://app.example.com' };

    expect(await callsOf(service).addRedirectDomain({ ids: ids(service), body })).toBeUndefined();
  });

  test('with a field that nobody knows is not sent, and says which field, not its value', async () => {
    const service = await startService();
    const request = { ids: ids(service), body: { endpoint: { unheard_of: 'canary-value' } } };
    const error = await callsOf(service)
      .updateEndpoint(request as never)
      .catch((thrown: unknown) => thrown);

    expect(isUpstreamError(error) && [error.kind, error.status]).toEqual(['rejected', undefined]);
    expect(String(error)).toContain('PATCH /projects/{project_id}/endpoints/{endpoint_id}');
    expect(inspect(error)).not.toContain('canary-value');
  });

  test.each([
    ['..', 'ep-a'],
    ['a/b', 'ep-a'],
    ['%2e%2e', 'ep-a'],
    ['a-project', 'ep-../restart'],
    ['a-project', 'br-a'],
  ])('with the ids %s and %s is not sent', async (project_id, endpoint_id) => {
    const service = await startService();
    const call = callsOf(service).restartEndpoint({ ids: { project_id, endpoint_id } });

    await expect(call).rejects.toMatchObject({ kind: 'rejected', status: undefined });
  });

  test('that failed in an unknown way is not sent again, as it may be executed', async () => {
    const service = await startService();
    service.upstream.faults.internalError = 1;
    const before = service.upstream.world().groundTruth().length;
    const branch = service.branchId;
    const body = { endpoint: { branch_id: branch, type: 'read_only' as const } };

    await expect(callsOf(service).createEndpoint({ ids: ids(service), body })).rejects.toMatchObject({
      kind: 'unavailable',
      status: 500,
    });
    expect(service.upstream.world().groundTruth().length - before).toBe(1);
  });

  test('that the service refused without any work is sent again', async () => {
    const service = await startService();
    service.upstream.faults.unavailable = 1;
    const body = { endpoint: { suspend_timeout_seconds: 600 } };
    const healAfter = ({ status }: Attempt) => {
      if (status === 503) service.upstream.faults.unavailable = 0;
    };
    const call = callsOf(service, healAfter).updateEndpoint({ ids: ids(service), body });

    expect((await call).endpoint.suspend_timeout_seconds).toBe(600);
  });
});
