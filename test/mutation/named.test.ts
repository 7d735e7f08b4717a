import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { equivalents } from './equivalent.ts';
import { plain } from './judge.ts';
import { mutants } from './named.ts';
import { alarmMutants } from './named-alarms.ts';

describe('mistakes that no test noticed at first', () => {
  test.concurrent.for(mutants)(
    'are noticed now: $mistake ($name)',
    { timeout: 120_000 },
    async ({ name }, { expect: expectHere }) => {
      const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutation/named.config.ts'];
      const env = { ...process.env, MUTANT: name, VITEST: undefined, NO_COLOR: '1' };

      const outcome = await promisify(execFile)(process.execPath, args, { env }).then(
        () => 'green',
        (error: { stdout: string; stderr: string }) => `${error.stdout}${error.stderr}`,
      );

      expectHere(outcome).toMatch(/AssertionError|Test timed out/);
      expectHere(outcome).not.toMatch(/fits \d+ places/);
    },
  );
});

test('one of these mistakes drops each metric behind an alarm', () => {
  const folder = 'infra/aws/monitoring';
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
