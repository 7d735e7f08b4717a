import { expect, test } from 'vitest';
import { idOf } from '../rows.ts';
import { SCENARIOS } from './all.ts';
import { linesOf, stageOf } from './scenario.ts';

test.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))('%s', async (_, scenario) => {
  const stage = await stageOf(scenario);
  await scenario.script(stage);

  if (scenario.tells !== undefined) expect(linesOf(stage.events())).toEqual(scenario.tells);
  expect(stage.brokenPromises({ exceptFor: (scenario.exceptFor ?? []).map(idOf) })).toEqual([]);
  expect(stage.failures.filter(isMistake)).toEqual([]);
  expect(stage.measured.get('BoundMet') ?? [], 'a bound was met, of which an alarm tells').toEqual([]);
  scenario.also?.(stage);
});

test('each script has a sentence of its own', () => {
  const names = SCENARIOS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

/** An invocation may fail because a port refuses, and never by a mistake in the code. */
function isMistake(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}
