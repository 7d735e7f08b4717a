import { expect, test } from 'vitest';
import { createGate, WAITING_DELIVERIES_MAX } from '../../../infra/local/aws/event-bridge/deliveries.ts';

test('a gate lets ten deliveries run and a bounded number wait, refuses one more, and goes on as they end', async () => {
  const gate = createGate();
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  let startedCount = 0;
  const deliver = () => {
    startedCount += 1;
    return opened;
  };
  const deliveries = Array.from({ length: WAITING_DELIVERIES_MAX + 10 }, () => gate.run(deliver));

  expect(startedCount).toBe(10);
  await expect(gate.run(deliver)).rejects.toMatchObject({
    code: 'RESOURCE_LIMIT_EXCEEDED',
    isRetryable: false,
  });
  open();
  await Promise.all(deliveries);
  expect(startedCount).toBe(WAITING_DELIVERIES_MAX + 10);
});
