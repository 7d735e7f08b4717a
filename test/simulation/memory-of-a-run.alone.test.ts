import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { dependenciesOf, invoke } from './by-hand.ts';
import { START_MS } from './close-stage.ts';
import { deriveOptions } from './options.ts';
import { setTheStage } from './simulate.ts';
import { NOTHING_ODD } from './upstream-model.ts';

/** Runs a poller that crashes in the middle of its invocation, and returns a reference that keeps nothing in memory. */
async function runThatCrashed(): Promise<WeakRef<object>> {
  const stage = setTheStage({ ...deriveOptions(1) }, NOTHING_ODD);
  const { scheduler } = stage.world;
  const owner = { name: 'crashed', isCrashed: false, clockSkewMs: 0 };
  void invoke(dependenciesOf(stage, owner), emptyAccountMemory(), 60_000);
  await scheduler.runUntil(START_MS + 5_000);
  owner.isCrashed = true;
  await scheduler.runUntil(START_MS + 120_000);
  return new WeakRef(stage.world);
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await nextTurn();
  collect();
}

test('a poller that crashed in its invocation is not kept in memory, so one thread can run any number of seeds', async () => {
  const world = await runThatCrashed();

  await collectGarbage();

  expect(world.deref()).toBeUndefined();
});
