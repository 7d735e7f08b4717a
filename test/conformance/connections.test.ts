import { describe, expect, test } from 'vitest';
import { SETTLING_MS, type Service, startService } from './service-under-test.ts';

const CU_025 = { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 0.25 };

const facts = (service: Service) => `/projects/${service.projectId}/endpoints/${service.endpointId}`;
const connect = (service: Service, body?: object) =>
  service.control('POST', `${facts(service)}/connect`, body);

async function withSmallestCompute(): Promise<Service> {
  const service = await startService();
  await service.call('updateEndpoint', { body: { endpoint: CU_025 } });
  return service;
}

describe('a compute of 0.25 CU', () => {
  test('accepts 112 connections and refuses the next one, as Postgres does', async () => {
    const service = await withSmallestCompute();
    expect((await connect(service, { count: 112 })).body.connection_count).toBe(112);

    const refused = await connect(service);
    expect(refused.status).toBe(409);
    expect(refused.body.message).toContain('SQLSTATE 53300');
    expect((await service.control('GET', facts(service))).body.connection_count).toBe(112);
  });

  test('opens all connections of one request or none', async () => {
    const service = await withSmallestCompute();

    expect((await connect(service, { count: 113 })).status).toBe(409);
    expect((await service.control('GET', facts(service))).body.connection_count).toBe(0);
    expect((await service.endpoint()).pending_state).toBeUndefined();
  });

  test('accepts connections again after a restart has dropped them', async () => {
    const service = await withSmallestCompute();
    await connect(service, { count: 112 });
    await service.pass(SETTLING_MS);
    await service.call('restartEndpoint');

    expect((await connect(service)).body.connection_count).toBe(1);
  });
});

describe('the pooler', () => {
  test('accepts ten thousand clients, which do not count toward max_connections, and no more', async () => {
    const service = await withSmallestCompute();
    await connect(service, { count: 112 });

    const pooled = await connect(service, { count: 10_000, pooled: true });
    expect(pooled.body).toMatchObject({ connection_count: 112, pooled_connection_count: 10_000 });

    expect((await connect(service, { pooled: true })).status).toBe(409);
  });

  test('loses its clients when the compute restarts', async () => {
    const service = await withSmallestCompute();
    await connect(service, { pooled: true });
    await service.pass(SETTLING_MS);
    await service.call('restartEndpoint');

    expect((await service.control('GET', facts(service))).body.pooled_connection_count).toBe(0);
  });
});

test('a request to connect that is not valid is refused and says why', async () => {
  const refused = await connect(await startService(), { count: 0 });

  expect(refused.status).toBe(400);
  expect(refused.body.message).toContain('count');
});

describe('the last activity of a compute', () => {
  test('is its last connection, and the compute is suspended when its time-out has passed since then', async () => {
    const service = await startService();
    await service.wake();
    await service.pass(120_000);
    await connect(service);
    const connected = await service.endpoint();
    await service.pass(240_000);

    const used = await service.endpoint();
    expect(used).toMatchObject({ current_state: 'active', last_active: connected.last_active });
    expect(Date.parse(String(used.last_active))).toBeGreaterThan(
      Date.parse(String(used.started_at)) + 110_000,
    );

    await service.pass(60_000 + SETTLING_MS);
    expect((await service.endpoint()).current_state).toBe('idle');
  });

  test('stays as it was when the compute is suspended, by its time-out or by a command', async () => {
    const service = await startService();
    await service.wake();
    await service.pass(120_000);
    await connect(service);
    const connected = await service.endpoint();
    await service.pass(300_000 + SETTLING_MS);
    const suspended = await service.endpoint();
    expect(suspended).toMatchObject({ current_state: 'idle', last_active: connected.last_active });

    await service.wake();
    await service.pass(60_000);
    const woken = await service.endpoint();
    expect(woken.last_active).toBe(woken.started_at);
    await service.send('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/suspend`);
    expect(await service.endpoint()).toMatchObject({ pending_state: 'idle', last_active: woken.last_active });
    await service.pass(SETTLING_MS);
    expect(await service.endpoint()).toMatchObject({ current_state: 'idle', last_active: woken.last_active });
  });

  test('is the last connection also of a compute that is never suspended', async () => {
    const service = await startService();
    await service.call('updateEndpoint', { body: { endpoint: { suspend_timeout_seconds: -1 } } });
    await service.wake();
    await service.pass(600_000);
    const unused = await service.endpoint();
    expect(unused.last_active).toBe(unused.started_at);

    await connect(service);
    expect(Date.parse(String((await service.endpoint()).last_active))).toBeGreaterThanOrEqual(
      Date.parse(String(unused.started_at)) + 600_000,
    );
  });

  test('is of this compute alone: another one of the project does not change it', async () => {
    const service = await startService();
    await service.wake();
    const before = await service.endpoint();
    const branch_id = await service.emptyBranch();
    await service.call('createEndpoint', { body: { endpoint: { branch_id, type: 'read_write' } } });
    await service.pass(SETTLING_MS);

    expect((await service.endpoint()).last_active).toBe(before.last_active);
  });

  test('goes on while the compute is used, and is neither ahead of time nor before the start', async () => {
    const service = await startService({ sessionsPerHour: 12 });
    let used = 0;
    for (let minute = 0; minute < 40; minute++) {
      await service.pass(60_000);
      const { last_active, started_at } = await service.endpoint();
      if (last_active === undefined) continue;
      const passedMs = service.upstream.world().nowMs - Date.parse(String(last_active));
      expect(passedMs).toBeGreaterThanOrEqual(0);
      expect(Date.parse(String(last_active))).toBeGreaterThanOrEqual(Date.parse(String(started_at)));
      if (passedMs < 1_000 && last_active !== started_at) used += 1;
    }
    expect(used).toBeGreaterThan(0);
  });
});
