import { expect, test } from 'vitest';
import { startLocalNotifier } from '../../infra/local/queue-functions.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { openAws } from './aws/aws-under-test.ts';

test('a notifier whose thread has died fails every invocation, and can be closed', async () => {
  const { aws } = await openAws();
  const lines: string[] = [];
  const failures = () => lines.filter((line) => line.includes('the invocation failed')).length;
  let nowMs = 0;
  const notifier = startLocalNotifier({
    aws,
    // The function refuses this environment, so its thread ends with an error.
    tableName: '',
    busName: 'default',
    clock: { now: () => nowMs, sleep: (_durationMs, signal) => systemClock.sleep(1, signal) },
    speed: 1,
    originMs: 0,
    dataDir: undefined,
    channelSecrets: {},
    print: (line) => lines.push(line),
    style: { isColoured: false },
  });
  await expect.poll(failures, { timeout: 60_000 }).toBe(1);

  nowMs += 3_600_000;
  await expect.poll(failures, { timeout: 60_000 }).toBe(2);
  await notifier.close();
});
