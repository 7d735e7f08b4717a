/**
 * In every script a process dies before or after one of its calls, and the next process finishes its work. Two drawn
 * calls of each script are tried, or every call of each when `CRASH_AT` is `every call`.
 */

import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../../shared/runtime/random.ts';
import type { Kill } from '../bridge.ts';
import { idOf } from '../rows.ts';
import { SCENARIOS } from './all.ts';
import { isSureToBeTold, linesOf, RECOVERY_S, type Scenario, stageOf, unpublished } from './scenario.ts';

const IS_EVERY_CALL = process.env['CRASH_AT'] === 'every call';
const DRAWN_COUNT = 2;

const CRASHING = SCENARIOS.filter(({ crashes }) => crashes !== false);

describe('a process that dies', () => {
  test.each(CRASHING.map((scenario) => [scenario.name, scenario] as const))(
    'breaks no promise: %s',
    { timeout: IS_EVERY_CALL ? 900_000 : 120_000 },
    async (_, scenario) => {
      const whole = await stageOf(scenario);
      const earlierCount = whole.callCount();
      await scenario.script(whole);
      const callCount = whole.callCount() - earlierCount;

      for (const kill of killsOf(scenario, callCount)) {
        const stage = await stageOf(scenario);
        stage.killAt(kill);
        await scenario.script(stage);
        await stage.runS(RECOVERY_S);
        const where = `killed ${kill.when} call ${kill.call} of ${callCount}`;
        expect(stage.brokenPromises({ exceptFor: (scenario.exceptFor ?? []).map(idOf) }), where).toEqual([]);
        expect(linesOf(stage.events()).filter(isSureToBeTold), where).toEqual(
          scenario.tells?.filter(isSureToBeTold) ?? expect.anything(),
        );
        expect(unpublished(stage), where).toEqual([]);
      }
    },
  );
});

function killsOf({ name }: Scenario, callCount: number): readonly Kill[] {
  const every = Array.from({ length: callCount }, (_, place) => place + 1).flatMap(
    (call): readonly Kill[] => [
      { call, when: 'before' },
      { call, when: 'after' },
    ],
  );
  if (IS_EVERY_CALL) return every;
  const random = seededRandom(name.length);
  return Array.from({ length: DRAWN_COUNT }, () => every[Math.floor(random.next() * every.length)]).filter(
    (kill) => kill !== undefined,
  );
}
