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

  test('is the start of a compute that is never suspended', async () => {
    const service = await startService();
    await service.call('updateEndpoint', { body: { endpoint: { suspend_timeout_seconds: -1 } } });
    await service.wake();
    await service.pass(600_000);

    const { last_active, started_at } = await service.endpoint();
    expect(last_active).toBe(started_at);
  });
});
