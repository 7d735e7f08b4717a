/** `operations-bridge test-consumer` plays docs/examples/consumer-cases.yaml: both consumers of this project pass, and faulty ones do not. */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runProgram } from '../../../infra/cli/subcommands/program.ts';
import { ROOT } from '../../../infra/release/project.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { openMarkTable } from './mark-table.ts';
import { EXAMPLES, pythonIsMissing } from './python.ts';

const PACKAGE = `${process.execPath} ${join(ROOT, 'test/doors/consumers/package-under-test.ts')}`;

async function testConsumer(...args: readonly string[]) {
  const [lines, notes]: [string[], string[]] = [[], []];
  let code = 0;
  await runProgram(['test-consumer', ...args], {
    environment: {},
    signal: new AbortController().signal,
    clock: systemClock,
    print: (line) => void lines.push(line),
    note: (line) => void notes.push(line),
    isColoured: false,
    readInput: async () => '',
    exitWith: (chosen) => {
      code = chosen;
    },
  });
  return { code, notes, failed: lines.filter((line) => line.startsWith('FAILED')), lines };
}

/** Runs with these variables, which the consumer inherits. */
async function testWith(variables: Readonly<Record<string, string>>, program: string) {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    return await testConsumer(program);
  } finally {
    process.env = before;
  }
}

test('the package passes every case, also a restart with its marks in a table', async () => {
  const { environment, tableName } = await openMarkTable();

  expect(await testWith({ ...environment, EVENT_MARKS: tableName }, PACKAGE)).toMatchObject({
    code: 0,
    failed: [],
    notes: ['26 of 26 cases passed.'],
  });
});

test('a program that cannot be run, or that ends, is said at once or in each case', async () => {
  await expect(testConsumer('no-such-program-anywhere')).rejects.toThrow(/cannot be run .*ENOENT/);

  const { code, failed, lines } = await testConsumer('false', '--skip', 'signatures');
  expect([code, failed.length, lines.length]).toEqual([1, 15, 15]);
  expect(lines[0]).toContain('The program has ended with the code 1.');
});

describe.skipIf(pythonIsMissing !== undefined)('in Python', () => {
  const folder = mkdtempSync(join(tmpdir(), 'consumers-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Returns the program whose consumer has another text in place of one of its own. */
  function consumerWith(text: string, other: string): string {
    const place = mkdtempSync(join(folder, 'one-'));
    cpSync(EXAMPLES, place, { recursive: true });
    const file = join(place, 'bridge_consumer.py');
    const source = readFileSync(file, 'utf8');
    expect(source.split(text)).toHaveLength(2);
    writeFileSync(file, source.replace(text, other));
    return `python3 -B ${join(place, 'consumer_under_test.py')}`;
  }

  test('the example passes', async () => {
    const program = `python3 -B ${join(EXAMPLES, 'consumer_under_test.py')}`;

    expect(await testConsumer(program, '--skip', 'restart')).toMatchObject({ code: 0, failed: [] });
  });

  test.each([
    {
      fault: 'records before the effect',
      text: '    try:\n        effect(*parsed)',
      other: '    mark.done()\n    try:\n        effect(*parsed)',
      title: /An event whose effect fails comes again/,
    },
    {
      fault: 'knows no copies',
      text: '            if self._done.get(key, 0) >= number:',
      other: '            if False:',
      title: /A copy has no second effect$/,
    },
    {
      fault: 'refuses what it does not know',
      text: '    if detail_type not in REQUIRED:\n        return None',
      other: '    if detail_type not in REQUIRED:\n        raise ValueError(detail_type)',
      title: /A type that is not known yet/,
    },
    {
      fault: 'has a closed set of statuses',
      text: '    missing = [',
      other: '    assert detail.get("status") != "on_hold"\n    missing = [',
      title: /A status, an action and an outcome/,
    },
    {
      fault: 'fails as a whole batch',
      text: '            failures.append({"itemIdentifier": message["messageId"]})',
      other:
        '            return {"batchItemFailures": [{"itemIdentifier": each["messageId"]} for each in records]}',
      title: /A failing effect holds back none/,
    },
    {
      fault: 'keeps no order',
      text: 'if states == "latest" and',
      other: 'if states == "never" and',
      title: /An earlier state of an operation is old/,
    },
    {
      fault: 'takes replays of a webhook',
      text: 'TOLERANCE_SECONDS = 300',
      other: 'TOLERANCE_SECONDS = 300_000',
      title: /six minutes ago/,
    },
  ])('a consumer that $fault fails', async ({ text, other, title }) => {
    const { code, failed } = await testConsumer(consumerWith(text, other), '--skip', 'restart');

    expect(code).toBe(1);
    expect(failed.map((line) => line.split('\n')[0])).toContainEqual(expect.stringMatching(title));
  });
});
