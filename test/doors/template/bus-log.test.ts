/** Reads the log of the bus out of the template: it is there only when the configuration asks for it, and has no events in it. */

import { describe, expect, test } from 'vitest';
import { synthesize } from '../../aws/stack-under-test.ts';

const GROUP = '/aws/vendedlogs/events/event-bus/operations-bridge';
const DELIVERED = ['DeliverySource', 'DeliveryDestination', 'Delivery'].map((part) => `AWS::Logs::${part}`);

describe('a log of the bus', () => {
  test('is not deployed unless the configuration asks for it', () => {
    const usual = synthesize();

    expect(DELIVERED.map((type) => usual.ofType(type))).toEqual([[], [], []]);
    expect(usual.ofType('AWS::Events::EventBus').map(({ Properties }) => Properties.LogConfig)).toEqual([
      undefined,
    ]);
    expect(JSON.stringify(usual.resources)).not.toMatch(/FilterLogEvents|BUS_LOG|vendedlogs/);
  });

  test('has the steps and the errors of deliveries without the events, in an encrypted group that ends', () => {
    const stack = synthesize({ bus_log: true, customer_managed_key: true });

    expect(stack.ofType('AWS::Events::EventBus').map(({ Properties }) => Properties.LogConfig)).toEqual([
      { Level: 'INFO', IncludeDetail: 'NONE' },
    ]);
    const types = stack.ofType('AWS::Logs::DeliverySource').map(({ Properties }) => Properties.LogType);
    expect(types).toEqual(['INFO_LOGS', 'ERROR_LOGS']);
    expect(stack.ofType('AWS::Logs::Delivery')).toHaveLength(2);
    const [group] = stack
      .ofType('AWS::Logs::LogGroup')
      .filter(({ Properties }) => Properties.LogGroupName === GROUP);
    expect(group?.Properties).toMatchObject({ RetentionInDays: 30, KmsKeyId: expect.anything() });
  });

  test('is read by the API alone, and by one call', () => {
    const { resources } = synthesize({ bus_log: true });
    const readers = resources.filter(([, { Properties }]) =>
      JSON.stringify(Properties ?? {}).includes('logs:FilterLogEvents'),
    );

    expect(readers.map(([id]) => id)).toEqual([expect.stringMatching(/^Apiapi/)]);
  });
});
