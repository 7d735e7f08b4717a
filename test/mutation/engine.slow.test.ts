import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type EngineResult, runEngine } from './engine/run-engine.ts';

const SAMPLE = 'test/mutation/engine/sample/sample.ts';
const workFolder = mkdtempSync(join(tmpdir(), 'mutants-'));

let result: EngineResult;

beforeAll(async () => {
  const testFiles = ['sample', 'once'].map((name) => `test/mutation/engine/sample/${name}.check.ts`);
  result = await runEngine([SAMPLE], {
    workFolder,
    testFiles,
    processCount: 2,
    patienceMs: 500,
    report: () => () => {},
  });
}, 120_000);

function ends() {
  return result.outcomes.map(({ original, replacement, isNoticed, isTimedOut, isUncovered }) => {
    const end = isUncovered ? 'no test runs it' : isTimedOut ? 'late' : isNoticed ? 'noticed' : 'survives';
    return `${original} → ${replacement}: ${end}`;
  });
}

describe('the engine of mutants', () => {
  test('notices a mutant that a test notices, and lets the others survive', () => {
    expect(ends()).toContain('years >= 18 → years < 18: noticed');
    expect(ends()).toContain('years >= 18 → years > 18: survives');
    expect(ends()).toContain('years >= 18 → true: noticed');
  });

  test('loads the modules anew for code that runs while they are loaded', () => {
    expect(ends()).toContain('6 * 2 → 6 / 2: noticed');
    expect(ends()).toContain('years * MONTHS → years / MONTHS: noticed');
  });

  test('ends a loop that never ends by itself', () => {
    expect(ends()).toContain('each-- → each++: late');
    expect(ends()).toContain('roundCount > 2 → false: late');
  });

  test('blames a mutant for what it leaves behind, and no other mutant', () => {
    expect(ends()).toContain('openCount-- → openCount++: noticed');
    expect(ends()).toContain('roundCount > 2 → true: survives');
  });

  test('names code that no test runs', () => {
    expect(ends()).toContain(`'Nobody is so old' → "": no test runs it`);
  });

  test('names a test that is red when it runs again, and asks the others', () => {
    expect(result.unrepeatable).toEqual([
      'test/mutation/engine/sample/once.check.ts: something that happens once in a process',
    ]);
  });

  test('leaves nothing to go on with when it has decided every mutant', () => {
    expect(readdirSync(workFolder)).toEqual([]);
  });
});
