/** Every way of keeping marks, in TypeScript and in Python, answers the cases of docs/examples/consumer-cases.yaml. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  type BegunMark,
  createMemoryMarks,
  createTableMarks,
  type Marks,
} from '../../../infra/packages/events/operations-bridge-events.ts';
import { type MarkTableUnderTest, openMarkTable } from './mark-table.ts';
import { boto3IsMissing, EXAMPLES, python, pythonIsMissing } from './python.ts';

type Step =
  | readonly ['begin', name: string, key: string, number: number, answer: 'new' | 'old' | 'running']
  | readonly ['done', name: string, answer: 'recorded' | 'lost']
  | readonly ['failed', name: string]
  | readonly ['wait', ms: number]
  | readonly ['restart'];

interface Case {
  readonly title: string;
  readonly needs?: string;
  readonly steps: readonly Step[];
}

const { marks: cases } = parse(readFileSync(join(EXAMPLES, 'consumer-cases.yaml'), 'utf8')) as {
  marks: readonly Case[];
};
const casesInMemory = cases.filter(({ needs }) => needs === undefined);
const START_MS = Date.parse('2026-01-16T21:02:09.412Z');

/** Returns the steps with the answers that the marks gave. */
async function play(steps: readonly Step[], open: (now: () => number) => Marks): Promise<readonly Step[]> {
  let nowMs = START_MS;
  let marks = open(() => nowMs);
  const begun = new Map<string, BegunMark>();
  const markOf = (name: string) => begun.get(name) ?? Promise.reject(new Error(`${name} did not begin`));
  const answers: Step[] = [];
  for (const step of steps) {
    if (step[0] === 'wait') nowMs += step[1];
    if (step[0] === 'restart') marks = open(() => nowMs);
    if (step[0] === 'failed') await (await markOf(step[1])).failed();
    if (step[0] === 'begin') {
      const [kind, name, key, number] = step;
      const mark = await marks.begin(key, number);
      if (typeof mark !== 'string') begun.set(name, mark);
      answers.push([kind, name, key, number, typeof mark === 'string' ? mark : 'new']);
    } else if (step[0] === 'done') {
      const done = (await markOf(step[1])).done();
      const answer = await done.then(
        () => 'recorded' as const,
        () => 'lost' as const,
      );
      answers.push(['done', step[1], answer]);
    } else answers.push(step);
  }
  return answers;
}

describe('marks in memory', () => {
  test.each(casesInMemory)('$title', async ({ steps }) => {
    expect(await play(steps, (now) => createMemoryMarks({ now }))).toEqual(steps);
  });

  test('The mark that was done first is forgotten when there are more than can be kept', async () => {
    const marks = createMemoryMarks({ keysMax: 2 });
    const carryOut = async (key: string) => {
      const mark = await marks.begin(key, 1);
      if (typeof mark === 'string') return mark;
      await mark.done();
      return 'new';
    };
    const answers: string[] = [];
    for (const key of ['a', 'b', 'a', 'c', 'b', 'a']) answers.push(await carryOut(key));

    expect(answers).toEqual(['new', 'new', 'old', 'new', 'old', 'new']);
  });
});

describe('marks in a table', () => {
  const open = ({ documents, tableName }: MarkTableUnderTest, consumer: string, now: () => number) =>
    createTableMarks(documents, { tableName, consumer, now });

  test('The table answers every case, also after a restart', async () => {
    const table = await openMarkTable();
    for (const { title, steps } of cases)
      expect(await play(steps, (now) => open(table, title, now)), title).toEqual(steps);
  });

  test('A mark is kept for 200 days, so that a replay meets it', async () => {
    const table = await openMarkTable();
    await open(table, 'a-consumer', () => START_MS).begin('a', 1);

    const { Item } = await table.documents.get({
      TableName: table.tableName,
      Key: { pk: 'a-consumer/a' },
    });
    expect(Item?.['expires_at']).toBe(Math.ceil(START_MS / 1_000) + 200 * 86_400);
  });

  test('Two consumers of one table do not see the marks of each other', async () => {
    const table = await openMarkTable();
    const mark = await open(table, 'one', () => START_MS).begin('a', 1);
    if (typeof mark !== 'string') await mark.done();

    expect(await open(table, 'other', () => START_MS).begin('a', 1)).toBeTypeOf('object');
  });

  test('A write that the SDK repeats because its reply was lost is not taken for the mark of another', async () => {
    const { documents, tableName } = await openMarkTable();
    const twice = {
      get: documents.get.bind(documents),
      update: async (input: Parameters<typeof documents.update>[0]) => {
        await documents.update(input);
        return documents.update(input);
      },
    };
    const marks = createTableMarks(twice, { tableName, consumer: 'c', now: () => START_MS });

    const mark = await marks.begin('a', 1);
    if (typeof mark === 'string') throw new Error(`The event is ${mark}`);
    await mark.done();
    expect(await marks.begin('a', 1)).toBe('old');
  });

  test('A table that refuses is told to the caller, and nothing counts as done', async () => {
    const { documents } = await openMarkTable();
    const marks = createTableMarks(documents, { tableName: 'of-nobody', consumer: 'c' });

    await expect(marks.begin('a', 1)).rejects.toThrow(/not found/);
  });
});

/** Plays the cases as `play` does. `open` makes marks for a case, with a clock. */
const PLAY = `
def play(case, open):
    clock = {"now": ${START_MS} / 1000}
    now = lambda: clock["now"]
    marks, begun, answers = open(case["title"], now), {}, []
    for step in case["steps"]:
        kind, rest = step[0], step[1:]
        if kind == "wait":
            clock["now"] += rest[0] / 1000
        elif kind == "restart":
            marks = open(case["title"], now)
        elif kind == "failed":
            begun[rest[0]].failed()
        elif kind == "begin":
            mark = marks.begin(rest[1], rest[2])
            if mark not in (consumer.OLD, consumer.RUNNING):
                begun[rest[0]], mark = mark, "new"
            step = ["begin", *rest[:3], mark]
        elif kind == "done":
            try:
                begun[rest[0]].done()
                step = ["done", rest[0], "recorded"]
            except consumer.MarkLost:
                step = ["done", rest[0], "lost"]
        answers.append(step)
    return answers
`;

describe('marks of the Python consumer', () => {
  test.skipIf(pythonIsMissing !== undefined)('Its memory answers every case', async () => {
    const open = 'lambda title, now: consumer.MemoryMarks(now=now)';
    const answers = await python(
      `${PLAY}\nprint(json.dumps([play(case, ${open}) for case in input]))`,
      casesInMemory,
    );

    expect(answers).toEqual(casesInMemory.map(({ steps }) => steps));
  });

  test.skipIf(boto3IsMissing !== undefined)(
    'Its table answers every case, also after a restart',
    async () => {
      const { environment, tableName } = await openMarkTable();
      const open = `lambda title, now: consumer.TableMarks(client, "${tableName}", title, now=now)`;
      const answers = await python(
        `${PLAY}\nimport boto3\nclient = boto3.client("dynamodb")\nprint(json.dumps([play(case, ${open}) for case in input]))`,
        cases,
        { ...environment, AWS_DEFAULT_REGION: 'us-east-1' },
      );

      expect(answers).toEqual(cases.map(({ steps }) => steps));
    },
  );

  test.skipIf(boto3IsMissing !== undefined)(
    'A write that boto3 repeats because its reply was lost is not taken for the mark of another',
    async () => {
      const { environment, tableName } = await openMarkTable();
      const answer = await python(
        `import boto3
client = boto3.client("dynamodb")
write = client.update_item
client.update_item = lambda **input: (write(**input), write(**input))[1]
marks = consumer.TableMarks(client, "${tableName}", "c")
marks.begin("a", 1).done()
print(json.dumps(marks.begin("a", 1)))`,
        null,
        { ...environment, AWS_DEFAULT_REGION: 'us-east-1' },
      );

      expect(answer).toBe('old');
    },
  );
});
