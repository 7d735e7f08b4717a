/** Plays a script in a world, and leaves a minute at the end for what is under way. */

import { msOf, type Script } from './script.ts';
import { createWorld, type SlackForm, START_MS, type World } from './world.ts';

export async function play(
  script: Script,
  slack: SlackForm,
  prepare?: (world: World) => void,
): Promise<World> {
  const { policy, channels, isLong } = script;
  const world = createWorld({
    slack,
    ...(policy && { policy }),
    ...(channels && { channels }),
    ...(isLong && { sweepMs: msOf('10:00') }),
  });
  prepare?.(world);
  const faults: unknown[] = [];
  for (const { atMs, words, perform } of script.steps) {
    const task = async () => {
      try {
        await perform(world);
      } catch (error) {
        faults.push(new Error(`The script cannot go on at "${words}"`, { cause: error }));
      }
    };
    world.time.at(START_MS + atMs, () => void world.time.hold(task));
  }
  await world.time.runUntil(START_MS + msOf(script.until));
  if (faults.length > 0) throw faults[0];
  return world;
}
