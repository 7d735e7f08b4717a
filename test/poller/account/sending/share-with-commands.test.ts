import { describe, expect, test } from 'vitest';
import { shareWithCommands } from '../../../../functions/poller/account/sending/account-budget.ts';
import { USAGE_LOOK_MS, unknownCommandsMax } from '../../../../shared/core/rates/account-rate.ts';
import { anInvocation } from '../invocation-under-test.ts';

const MINUTE_MS = 60_000;

/** Lets the loop sleep `count` times, and then stops the invocation. */
function stopAfter({ stop, hooks, sleeps }: ReturnType<typeof anInvocation>, count: number) {
  hooks.onSleep = () => {
    if (sleeps.length >= count) stop.abort();
  };
}

describe('what commands send', () => {
  function withCommands(counts: readonly (number | 'busy')[], requestsPerMinute = 250) {
    const left = [...counts];
    const charged: number[] = [];
    const sentCount = async () => {
      const next = left.shift() ?? 0;
      if (next === 'busy') throw new Error('busy');
      return next;
    };
    const world = anInvocation({ commands: { sentCount, requestsPerMinute } });
    Object.assign(world.deps.budget, { charge: (count: number) => void charged.push(count) });
    stopAfter(world, counts.length);
    return { ...world, charged };
  }

  test('is taken out of the limit as it becomes known', async () => {
    const { deps, memory, charged, sleeps } = withCommands([5, 5, 12]);
    await shareWithCommands(deps, memory.commands);

    expect(charged).toEqual([5, 0, 7]);
    expect(sleeps).toEqual([USAGE_LOOK_MS, USAGE_LOOK_MS, USAGE_LOOK_MS]);
    expect(memory.commands.sentCount).toBe(12);
  });

  test('before this process is taken out for one minute at most', async () => {
    const { deps, memory, charged } = withCommands([1_000_000, 1_000_300]);
    await shareWithCommands(deps, memory.commands);

    expect(charged).toEqual([unknownCommandsMax(250), 300]);
  });

  test('counts from where the invocation before has stopped', async () => {
    const { deps, memory, charged } = withCommands([17]);
    memory.commands.sentCount = 10;
    await shareWithCommands(deps, memory.commands);

    expect(charged).toEqual([7]);
  });

  test('is assumed to be their whole share while the table cannot be read, and then only the rest is taken', async () => {
    const { deps, memory, charged } = withCommands([0, 'busy', 'busy', 40]);
    await shareWithCommands(deps, memory.commands);

    const assumed = Math.ceil((250 * USAGE_LOOK_MS) / MINUTE_MS);
    expect(charged).toEqual([0, assumed, assumed, Math.max(0, 40 - 2 * assumed)]);
  });

  test('is never given back, also when less was sent than was assumed', async () => {
    const { deps, memory, charged } = withCommands([0, 'busy', 1, 2]);
    await shareWithCommands(deps, memory.commands);

    expect(charged.slice(2)).toEqual([0, 1]);
  });

  test('is looked at once a minute while the poller needs less than its own share, and at once when it needs more', async () => {
    const { deps, memory, charged, sleeps } = withCommands(Array.from({ length: 30 }, () => 5));
    let isUnused = true;
    Object.assign(deps.budget, { isOwnShareUnused: () => isUnused });
    const { clock } = deps;
    const sleep = clock.sleep.bind(clock);
    Object.assign(deps.clock, {
      sleep: (durationMs: number, signal?: AbortSignal) => {
        if (sleeps.length === 20) isUnused = false;
        return sleep(durationMs, signal);
      },
    });
    await shareWithCommands(deps, memory.commands);

    const idleLooks = Math.ceil((21 * USAGE_LOOK_MS) / MINUTE_MS);
    expect(charged).toHaveLength(idleLooks + (30 - 21));
  });

  test('is nothing in an account without commands', async () => {
    const world = anInvocation();
    await shareWithCommands(world.deps, world.memory.commands);

    expect(world.sleeps).toEqual([]);
  });
});
