/**
 * In every script a process dies at calls of its ports, and the next process finishes its work. Of each kind of call one is
 * drawn, and a process dies before it and, unless it only reads, after it. Every call is tried when `CRASH_AT` is `every call`.
 */

import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../../shared/runtime/random.ts';
import { type CallKind, type Kill, READ } from '../bridge.ts';
import { idOf } from '../rows.ts';
import { SCENARIOS } from './all.ts';
import { isSureToBeTold, linesOf, RECOVERY_S, type Scenario, stageOf, unpublished } from './scenario.ts';

const IS_EVERY_CALL = process.env['CRASH_AT'] === 'every call';

const CRASHING = SCENARIOS.filter(({ crashes }) => crashes !== false);

describe('a process that dies', () => {
  test.each(CRASHING.map((scenario) => [scenario.name, scenario] as const))(
    'breaks no promise: %s',
    { timeout: IS_EVERY_CALL ? 900_000 : 120_000 },
    async (_, scenario) => {
      const whole = await stageOf(scenario);
      const earlierCount = whole.calls().length;
      await scenario.script(whole);
      const calls = whole.calls().slice(earlierCount);

      for (const kill of killsOf(scenario, calls)) {
        const stage = await stageOf(scenario);
        stage.killAt(kill);
        await scenario.script(stage);
        await stage.runS(RECOVERY_S);
        const where = `killed ${kill.when} call ${kill.call} of ${calls.length}: ${calls[kill.call - 1]}`;
        expect(stage.brokenPromises({ exceptFor: (scenario.exceptFor ?? []).map(idOf) }), where).toEqual([]);
        expect(linesOf(stage.events()).filter(isSureToBeTold), where).toEqual(
          scenario.tells?.filter(isSureToBeTold) ?? expect.anything(),
        );
        expect(unpublished(stage), where).toEqual([]);
      }
    },
  );
});

function killsOf({ name }: Scenario, calls: readonly CallKind[]): readonly Kill[] {
  const random = seededRandom(name.length);
  const drawn = (same: readonly number[]) => same[Math.floor(random.next() * same.length)] ?? [];
  const places = calls.map((_, place) => place);
  const tried = IS_EVERY_CALL
    ? places
    : [...Map.groupBy(places, (place) => calls[place]).values()].flatMap(drawn);
  return tried.flatMap((place): readonly Kill[] => {
    const call = place + 1;
    const before: Kill = { call, when: 'before' };
    return calls[place] === READ ? [before] : [before, { call, when: 'after' }];
  });
}
