import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { equivalents } from './equivalent.ts';
import { plain } from './judge.ts';
import { createMutantRuns } from './mutant-runs.ts';
import { mutants } from './named.ts';
import { alarmMutants } from './named-alarms.ts';

const runs = createMutantRuns('test/mutation/named.ts');

afterAll(() => runs.end());

describe('mistakes that no test noticed at first', () => {
  test.for(mutants)('are noticed now: $mistake ($name)', { timeout: 120_000 }, async ({ name }) => {
    const errors = await runs.errorsWith(name);

    expect(errors.join('\n')).toMatch(/AssertionError|Test timed out/);
    expect(errors.join('\n')).not.toMatch(/fits \d+ places/);
  });

  test('leave nothing behind: the tests are green without them', { timeout: 120_000 }, async () => {
    expect(await runs.errorsWithout('loser-settles')).toEqual([]);
  });
});

test('one of these mistakes drops each metric behind an alarm', () => {
  const folder = 'infra/aws/resources';
  const definitions = readdirSync(folder).filter((name) => name.endsWith('-alarms.ts'));
  const text = definitions.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  const metrics = [...text.matchAll(/(?:of|bridgeMetric)\('(\w+)'/g)].map(([, metric]) => metric ?? '');

  expect(metrics.length).toBeGreaterThan(10);
  expect(metrics.filter((metric) => !alarmMutants.some(({ find }) => find.includes(`'${metric}'`)))).toEqual(
    [],
  );
});

describe('a proof that a mutant is equivalent', () => {
  test.each(equivalents)('is about code that stands in $file: $line', ({ file, line, original, proof }) => {
    const text = readFileSync(file, 'utf8');

    expect(text.split('\n').map((each) => each.trim())).toContain(line);
    expect(plain(text)).toContain(plain(original));
    expect(proof).not.toBe('');
  });
});
