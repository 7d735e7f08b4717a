import { expect, test } from 'vitest';
import { idOf } from '../rows.ts';
import { OPERATIONS } from './operations.ts';
import { linesOf, type Scenario, stageOf } from './scenario.ts';

const SCENARIOS: readonly Scenario[] = [...OPERATIONS];

test.each(SCENARIOS)('$name', async (scenario) => {
  const stage = await stageOf(scenario);
  await scenario.script(stage);

  expect(linesOf(stage.events())).toEqual(scenario.tells);
  expect(stage.brokenPromises({ exceptFor: (scenario.exceptFor ?? []).map(idOf) })).toEqual([]);
  scenario.also?.(stage);
});
