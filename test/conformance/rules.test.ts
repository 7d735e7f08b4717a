import { describe, expect, test } from 'vitest';
import { SETTLING_MS, type Service, startService } from './service-under-test.ts';

const MINUTE_MS = 60_000;
const branchesAndComputes = async (service: Service) => (await service.call('listEndpoints')).body.endpoints;

describe('a compute', () => {
  test('starts as init with active pending, and is active once its start_compute has finished', async () => {
    const service = await startService();
    const branch_id = await service.emptyBranch();

    const { body } = await service.call('createEndpoint', {
      body: { endpoint: { branch_id, type: 'read_write' } },
    });
    expect(body.endpoint).toMatchObject({
      current_state: 'init',
      pending_state: 'active',
      type: 'read_write',
    });
    expect(body.endpoint).not.toHaveProperty('last_active');
    expect(body.operations).toMatchObject([
      { action: 'start_compute', status: 'running', endpoint_id: body.endpoint.id, total_duration_ms: 0 },
    ]);

    await service.pass(SETTLING_MS);
    const { operation } = (
      await service.call('getOperation', { ids: { operation_id: body.operations[0].id } })
    ).body;
    expect(operation.status).toBe('finished');
    const endpoint = await service.endpoint(body.endpoint.id);
    expect(endpoint).toMatchObject({ current_state: 'active', last_active: expect.any(String) });
    expect(endpoint).not.toHaveProperty('pending_state');
  });

  test('is suspended after five minutes without activity, and shows since when', async () => {
    const service = await startService();
    await service.wake();
    await service.pass(5 * MINUTE_MS + SETTLING_MS);

    expect(await service.endpoint()).toMatchObject({
      current_state: 'idle',
      suspended_at: expect.any(String),
    });
    const { operations } = (await service.call('listOperations')).body;
    expect(operations).toContainEqual(
      expect.objectContaining({ action: 'suspend_compute', status: 'finished' }),
    );
  });

  test('stays active while connections arrive, because each one resets the timer', async () => {
    const service = await startService();
    await service.wake();
    for (let count = 0; count < 4; count++) {
      await service.pass(4 * MINUTE_MS);
      expect((await service.endpoint()).current_state).toBe('active');
      await service.control('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/connect`);
    }
  });

  test.each([
    ['120 seconds', 120, 3, 'idle'],
    ['ten minutes', 600, 6, 'active'],
    ['never', -1, 24 * 60, 'active'],
  ])(
    'with a suspend time-out of %s (%d s) is, after %d minutes, %s',
    async (_name, seconds, minutes, state) => {
      const service = await startService();
      await service.call('updateEndpoint', { body: { endpoint: { suspend_timeout_seconds: seconds } } });
      await service.wake();
      await service.pass(minutes * MINUTE_MS);

      expect((await service.endpoint()).current_state).toBe(state);
    },
  );

  test('that is idle is started by a connection and by the start call', async () => {
    const service = await startService();
    await service.control('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/connect`);
    expect(await service.endpoint()).toMatchObject({ pending_state: 'active' });
    await service.pass(SETTLING_MS);
    expect((await service.endpoint()).current_state).toBe('active');

    const suspended = await service.send(
      'POST',
      `/projects/${service.projectId}/endpoints/${service.endpointId}/suspend`,
    );
    expect(suspended.body.endpoint).toMatchObject({ current_state: 'active', pending_state: 'idle' });
    await service.pass(SETTLING_MS);
    expect((await service.endpoint()).current_state).toBe('idle');

    const started = await service.send(
      'POST',
      `/projects/${service.projectId}/endpoints/${service.endpointId}/start`,
    );
    expect(started.body.endpoint).toMatchObject({
      current_state: 'idle',
      pending_state: 'active',
      suspended_at: expect.any(String),
      last_active: expect.any(String),
    });
    expect(started.body.operations).toMatchObject([{ action: 'start_compute' }]);
  });

  test('that is restarted drops its connections and is suspended before it starts', async () => {
    const service = await startService();
    await service.wake();
    const facts = `/projects/${service.projectId}/endpoints/${service.endpointId}`;
    expect((await service.control('GET', facts)).body.connection_count).toBe(1);

    const { body } = await service.call('restartEndpoint');

    expect(body.endpoint).toMatchObject({ current_state: 'active', pending_state: 'active' });
    expect(
      body.operations.map(({ action, status }: { action: string; status: string }) => [action, status]),
    ).toEqual([
      ['suspend_compute', 'running'],
      ['start_compute', 'scheduling'],
    ]);
    expect((await service.control('GET', facts)).body.connection_count).toBe(0);
    await service.pass(SETTLING_MS);
    expect((await service.endpoint()).current_state).toBe('active');
  });

  test('that is deleted and created again has other connection details, and deleting it twice answers 204', async () => {
    const service = await startService();
    const before = await service.endpoint();
    await service.call('deleteEndpoint');
    expect((await service.call('deleteEndpoint')).status).toBe(204);

    const { body } = await service.call('createEndpoint', {
      body: { endpoint: { branch_id: service.branchId, type: 'read_write' } },
    });

    expect(body.endpoint.id).not.toBe(before.id);
    expect(body.endpoint.host).not.toBe(before.host);
  });

  test('can have several read replicas on its branch', async () => {
    const service = await startService();
    for (let count = 0; count < 3; count++) {
      const { status, body } = await service.call('createEndpoint', {
        body: { endpoint: { branch_id: service.branchId, type: 'read_only' } },
      });
      expect({ status, type: body.endpoint.type }).toEqual({ status: 201, type: 'read_only' });
      await service.pass(SETTLING_MS);
    }
    expect(await branchesAndComputes(service)).toHaveLength(4);
  });

  test('can be moved to a branch without a primary compute, and not to a branch with one', async () => {
    const service = await startService();
    const empty = await service.emptyBranch();
    const moved = await service.call('updateEndpoint', { body: { endpoint: { branch_id: empty } } });
    expect(moved.body.endpoint.branch_id).toBe(empty);

    await service.call('createEndpoint', {
      body: { endpoint: { branch_id: service.branchId, type: 'read_write' } },
    });
    await service.pass(SETTLING_MS);
    const back = await service.call('updateEndpoint', {
      body: { endpoint: { branch_id: service.branchId } },
    });
    expect(back.status).toBe(409);
  });

  test('is restarted by a change of its size when it is active, and not when it is idle', async () => {
    const service = await startService();
    const size = (maxCu: number) => ({ body: { endpoint: { autoscaling_limit_max_cu: maxCu } } });
    expect((await service.call('updateEndpoint', size(4))).body.operations).toEqual([]);
    await service.wake();

    const { operations } = (await service.call('updateEndpoint', size(8))).body;
    expect(operations.map(({ action }: { action: string }) => action)).toEqual([
      'suspend_compute',
      'start_compute',
    ]);
  });

  test('applies changed settings with an operation while it is active', async () => {
    const service = await startService();
    await service.wake();
    const body = { endpoint: { pooler_enabled: true } };
    const answer = await service.call('updateEndpoint', { body });

    expect(answer.body.endpoint.pooler_enabled).toBe(true);
    expect(answer.body.operations).toMatchObject([{ action: 'apply_config', status: 'running' }]);
  });

  test('locks its project while its operations run, and no longer', async () => {
    const service = await startService();
    await service.wake();
    await service.call('restartEndpoint');
    expect((await service.call('restartEndpoint')).status).toBe(423);
    // The lock does not affect reads.
    expect((await service.call('listOperations')).status).toBe(200);
    await service.pass(SETTLING_MS);
    expect((await service.call('restartEndpoint')).status).toBe(200);
  });
});

describe('a size', () => {
  const sized = (service: Service, min: number, max: number) =>
    service.call('updateEndpoint', {
      body: { endpoint: { autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max } },
    });

  test.each([
    [0.25, 0.25],
    [0.25, 16],
    [0.5, 8],
    [16, 16],
    [18, 18],
    [56, 56],
  ])('from %d to %d is offered', async (min, max) => {
    expect((await sized(await startService(), min, max)).status).toBe(200);
  });

  test.each([
    [0.75, 1],
    [0, 1],
    [1.5, 2],
    [17, 17],
    [58, 58],
    [16, 18],
    [2, 1],
  ])('from %d to %d is refused', async (min, max) => {
    expect((await sized(await startService(), min, max)).status).toBe(400);
  });

  test.each([
    [0.25, 112],
    [0.5, 225],
    [1, 450],
    [2, 901],
    [3, 1351],
    [4, 1802],
    [5, 2253],
    [6, 2703],
    [7, 3154],
    [8, 3604],
    [9, 4000],
    [38, 4000],
  ])('of %d has at most %d connections', async (cu, connections) => {
    const service = await startService();
    await sized(service, cu, cu);
    const { body } = await service.control(
      'GET',
      `/projects/${service.projectId}/endpoints/${service.endpointId}`,
    );

    expect(body).toMatchObject({
      max_connections: connections,
      max: { vcpu: cu, ram_gb: 4 * cu, lfc_gb: 3 * cu },
    });
  });
});

describe('the auth integration', () => {
  test('adds users to the users table, and removes them again', async () => {
    const service = await startService();
    await service.withAuth();
    const body = {
      auth_provider: 'stack',
      project_id: service.projectId,
      email: 'ada@example.com',
      name: 'Ada',
    };
    const { id } = (await service.call('createAuthUser', { body })).body;

    const users = () => service.control('GET', `/projects/${service.projectId}/users`);
    expect((await users()).body.users).toEqual([
      { id, email: 'ada@example.com', name: 'Ada', created_at: expect.any(String) },
    ]);
    await service.call('deleteAuthUser', { ids: { auth_user_id: id } });
    expect((await users()).body.users).toEqual([]);
  });

  test.each([1, 255])('accepts a user name of %i characters', async (length) => {
    const service = await startService();
    await service.withAuth();
    const body = {
      auth_provider: 'stack',
      project_id: service.projectId,
      email: 'a@example.com',
      name: 'x'.repeat(length),
    };

    expect((await service.call('createAuthUser', { body })).status).toBe(201);
  });

  test('issues new keys with every call', async () => {
    const service = await startService();
    const first = await service.withAuth();
    const body = { auth_provider: 'stack', project_id: service.projectId };
    const second = (await service.call('createAuthKeys', { body })).body;

    expect(second.auth_provider_project_id).toBe(first.auth_provider_project_id);
    expect(second.secret_server_key).not.toBe(first.secret_server_key);
  });

  test('changes its owner in two steps: the call, then a confirmation in the browser', async () => {
    const service = await startService();
    await service.withAuth();
    const owner = async () => (await service.call('listAuthIntegrations')).body.data[0].owned_by;
    const body = { auth_provider: 'stack', project_id: service.projectId };
    const url = new URL((await service.call('transferAuthOwnership', { body })).body.url);
    expect(await owner()).toBe('neon');

    expect(await (await fetch(url)).text()).toContain('<form method="post">');
    const form = new URLSearchParams({ code: url.searchParams.get('code') ?? '', account: 'ada' });
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(200);

    expect(await owner()).toBe('user');
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(404);
  });

  test('uses shared keys of a provider until it is given credentials of its own', async () => {
    const service = await startService();
    await service.withAuth();
    expect((await service.call('addOauthProvider', { body: { id: 'microsoft' } })).body).toEqual({
      id: 'microsoft',
      type: 'shared',
    });
    const body = { client_id: 'an-id', client_secret: 'a-secret' };
    const updated = await service.call('updateOauthProvider', {
      ids: { oauth_provider_id: 'microsoft' },
      body,
    });
    expect(updated.body).toEqual({ id: 'microsoft', type: 'standard', ...body });

    await service.call('deleteOauthProvider', { ids: { oauth_provider_id: 'microsoft' } });
    const { providers } = (await service.call('listOauthProviders')).body;
    expect(providers.map(({ id }: { id: string }) => id)).not.toContain('microsoft');
  });

  test('shows only the type of a shared e-mail server, and every setting of a standard one', async () => {
    const service = await startService();
    await service.withAuth();
    expect((await service.call('getEmailServer')).body).toEqual({ type: 'shared' });
    const standard = {
      type: 'standard',
      host: 'smtp.example.com',
      port: 587,
      username: 'mailer',
      password: 'a-password',
      sender_email: 'noreply@example.com',
      sender_name: 'Example',
    };
    expect((await service.call('updateEmailServer', { body: standard })).body).toEqual(standard);
    expect((await service.call('getEmailServer')).body).toEqual(standard);
    await service.call('updateEmailServer', { body: { type: 'shared' } });
    expect((await service.call('getEmailServer')).body).toEqual({ type: 'shared' });
  });

  test('adds domains to the whitelist and removes them', async () => {
    const service = await startService();
    await service.withAuth();
    const domain = 'https://app.example.com';
    const added = await service.call('addRedirectDomain', { body: { domain, auth_provider: 'stack' } });
    expect([added.status, added.text]).toEqual([201, '']);
    const domains = async () => (await service.call('listRedirectDomains')).body.domains;
    expect(await domains()).toContainEqual({ domain, auth_provider: 'stack' });

    const body = { auth_provider: 'stack', domains: [{ domain }] };
    expect((await service.call('deleteRedirectDomains', { body })).text).toBe('');
    expect(await domains()).not.toContainEqual({ domain, auth_provider: 'stack' });
  });
});

describe('form-encoded bodies', () => {
  const form = (text: string) => ({ raw: { text, contentType: 'application/x-www-form-urlencoded' } });

  test('are accepted like JSON, with brackets for nested fields', async () => {
    const service = await startService();
    const created = await service.call(
      'createEndpoint',
      form(
        `endpoint[branch_id]=${service.branchId}&endpoint[type]=read_only&endpoint[autoscaling_limit_max_cu]=4`,
      ),
    );
    expect(created.status).toBe(201);
    expect(created.body.endpoint.autoscaling_limit_max_cu).toBe(4);

    await service.withAuth();
    const user = `project_id=${service.projectId}&auth_provider=stack&email=ada%40example.com`;
    expect((await service.call('createAuthUser', form(user))).status).toBe(201);
    const server =
      'type=standard&host=smtp.example.com&port=587&username=u&password=p&sender_email=a%40example.com&sender_name=A';
    expect((await service.call('updateEmailServer', form(server))).body.port).toBe(587);
    const domains = 'auth_provider=stack&domains[0][domain]=http://localhost';
    expect((await service.call('deleteRedirectDomains', form(domains))).status).toBe(200);
  });

  test('cannot change the prototype of objects', async () => {
    const service = await startService();
    await service.call(
      'createAuthUser',
      form('__proto__[polluted]=yes&constructor[prototype][polluted]=yes'),
    );

    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
