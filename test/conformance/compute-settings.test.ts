import { describe, expect, test } from 'vitest';
import { type Service, startService } from './service-under-test.ts';

const update = (service: Service, endpoint: object) => service.call('updateEndpoint', { body: { endpoint } });

describe('the settings of a compute', () => {
  const settings = {
    pg_settings: { work_mem: '64MB', 'auto_explain.log_min_duration': '5s' },
    preload_libraries: { use_defaults: false, enabled_libraries: ['timescaledb'] },
  };

  test('are kept as they were given', async () => {
    const service = await startService();

    expect((await update(service, { settings })).body.endpoint.settings).toEqual(settings);
    expect((await service.endpoint()).settings).toEqual(settings);
  });

  test.each([
    ['a number as the value of a Postgres setting', { pg_settings: { max_connections: 100 } }],
    ['a list of Postgres settings', { pg_settings: ['work_mem'] }],
    ['an object as the value of a setting of the pooler', { pgbouncer_settings: { pool_mode: {} } }],
    ['a library that is no text', { preload_libraries: { enabled_libraries: [7] } }],
    ['a text in place of the settings', 'work_mem=64MB'],
  ])('are refused with %s', async (_name, refused) => {
    const service = await startService();

    expect((await update(service, { settings: refused })).status).toBe(400);
    expect((await service.endpoint()).settings).toEqual({});
  });
});

describe('the provisioner of a compute', () => {
  test('is kept as it was given, at creation and by an update', async () => {
    const service = await startService();
    const { body } = await service.call('createEndpoint', {
      body: { endpoint: { branch_id: service.branchId, type: 'read_only', provisioner: 'k8s-pod' } },
    });
    expect(body.endpoint.provisioner).toBe('k8s-pod');
    expect((await service.endpoint(body.endpoint.id)).provisioner).toBe('k8s-pod');

    await service.pass(60_000);
    await service.call('updateEndpoint', {
      ids: { endpoint_id: body.endpoint.id },
      body: { endpoint: { provisioner: 'k8s-neonvm' } },
    });
    expect((await service.endpoint(body.endpoint.id)).provisioner).toBe('k8s-neonvm');
  });

  test('is refused when the service does not have it', async () => {
    expect((await update(await startService(), { provisioner: 'bare-metal' })).status).toBe(400);
  });
});
