/**
 * In every script a process of one version dies at a drawn call, and the next process is of the other version: a deployment, and a
 * roll-back. What one version leaves in the table the other one takes over.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { createAccount } from '../../../../functions/poller/create-account.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';
import type { Poller } from '../bridge.ts';
import { idOf } from '../rows.ts';
import { pollerOfSecondEdition } from '../versions.ts';
import { SCENARIOS } from './all.ts';
import { isOfBranch, linesOf, RECOVERY_S, type Scenario, stageOf, unpublished } from './scenario.ts';

let old: Poller;
beforeAll(async () => {
  old = await pollerOfSecondEdition();
});

const TAKING_OVER = SCENARIOS.filter(({ crashes, takesOver }) => crashes !== false && takesOver !== false);

describe('a poller of another version', () => {
  const named = TAKING_OVER.map((scenario) => [scenario.name, scenario] as const);
  test.each(named)('takes over: %s', { timeout: 60_000 }, async (_, scenario) => {
    const random = seededRandom(scenario.name.length);
    const isRollBack = random.next() < 0.5;
    const [first, next] = isRollBack ? [createAccount, old] : [old, createAccount];
    const callCount = await callsOf(scenario, first);
    const stage = await stageOf(scenario, first);
    const call = Math.ceil(random.next() * callCount);
    stage.killAt({ call, when: 'after' });
    stage.deploy(next);
    await scenario.script(stage);
    await stage.runS(RECOVERY_S);

    const where = `${isRollBack ? 'rolled back' : 'deployed'} at call ${call} of ${callCount}`;
    expect(stage.brokenPromises({ exceptFor: (scenario.exceptFor ?? []).map(idOf) }), where).toEqual([]);
    expect(linesOf(stage.events()).filter(isOfBranch), where).toEqual(
      scenario.tells?.filter(isOfBranch) ?? expect.anything(),
    );
    expect(unpublished(stage), where).toEqual([]);
  });
});

async function callsOf(scenario: Scenario, poller: Poller): Promise<number> {
  const whole = await stageOf(scenario, poller);
  const earlierCount = whole.calls().length;
  await scenario.script(whole);
  return whole.calls().length - earlierCount;
}
