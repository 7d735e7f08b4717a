/** Runs the Python consumer of docs/bindings.md with the system's Python, beside the TypeScript package as its measure. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import type * as z from 'zod';
import {
  createMemoryMarks,
  ifNew,
  verifySignature,
} from '../../../infra/packages/events/operations-bridge-events.ts';
import { commandSettled, eventCatalog, operationStateChanged } from '../../../shared/events/catalog.ts';
import { EXAMPLES, python, pythonIsMissing } from './python.ts';

const testWithPython = test.skipIf(pythonIsMissing !== undefined);

const changed = (fields: Partial<typeof operationStateChanged.example>) => ({
  source: 'operations-bridge',
  'detail-type': operationStateChanged.detailType,
  detail: { ...operationStateChanged.example, of_the_future: 1, ...fields },
});
const STREAM = [
  changed({ id: 'a', sequence: 1, status: 'running' }),
  changed({ id: 'c', sequence: 3, status: 'finished' }),
  changed({ id: 'b', sequence: 2, status: 'failed' }),
  changed({ id: 'c', sequence: 3, status: 'finished' }),
  changed({ id: 'd', sequence: 1, operation_id: 'another' }),
  changed({ id: 'e', sequence: 1, account_id: 'another' }),
  { ...changed({ id: 'f', sequence: 9 }), source: 'aws.ec2' },
  { source: 'operations-bridge', 'detail-type': commandSettled.detailType, detail: commandSettled.example },
  { source: 'operations-bridge', 'detail-type': 'Of The Future', detail: {} },
];

/** Delivers the stream three times. The effect of every second event fails when it is carried out for the first time. */
const DELIVERIES = `
def deliveries(states):
    marks, tried, answers = consumer.MemoryMarks(), set(), []
    def effect(detail_type, detail):
        if detail["id"] in tried:
            return
        tried.add(detail["id"])
        if len(tried) % 2 == 0:
            raise OSError("the database is away")
    for event in input * 3:
        try:
            answers.append("done" if consumer.if_new(event, marks, effect, states) else "not done")
        except OSError:
            answers.append("failed")
    return answers
`;

async function deliveries(states: 'every' | 'latest'): Promise<readonly string[]> {
  const marks = createMemoryMarks();
  const tried = new Set<string>();
  const answers: string[] = [];
  for (const event of [...STREAM, ...STREAM, ...STREAM]) {
    const answer = ifNew(
      event,
      marks,
      async ({ detail: { id } }) => {
        if (tried.has(id)) return;
        tried.add(id);
        if (tried.size % 2 === 0) throw new Error('the database is away');
      },
      { states },
    );
    answers.push(
      await answer.then(
        (said) => (said === 'done' ? 'done' : 'not done'),
        () => 'failed',
      ),
    );
  }
  return answers;
}

testWithPython.each(['every', 'latest'] as const)(
  'the Python consumer carries out the same effects as the TypeScript package where %s state counts',
  async (states) => {
    const expected = await deliveries(states);

    expect(expected).toEqual(expect.arrayContaining(['done', 'not done', 'failed']));
    expect(await python(`${DELIVERIES}\nprint(json.dumps(deliveries("${states}")))`, STREAM)).toEqual(
      expected,
    );
  },
);

testWithPython(
  'its Lambda handler gives back only the messages that failed, and tells the others',
  async () => {
    const bodies = [
      JSON.stringify(STREAM[0]),
      'no JSON',
      JSON.stringify({ ...changed({ id: 'g' }), detail: {} }),
      JSON.stringify(STREAM[0]),
    ];
    const Records = bodies.map((body, place) => ({ messageId: `m${place}`, body }));

    const answer = await python(
      `import contextlib, io
with contextlib.redirect_stdout(io.StringIO()) as said: answer = consumer.handler(input)
print(json.dumps({**answer, "said": said.getvalue().splitlines()}))`,
      { Records },
    );

    expect(answer).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm1' }, { itemIdentifier: 'm2' }],
      said: [
        'start_compute of solitary-cell-58208823 is running, 0 failed',
        expect.stringContaining('message m1 goes back to the queue: JSONDecodeError'),
        expect.stringContaining(
          'message m2 goes back to the queue: ValueError: Operation State Changed lacks',
        ),
      ],
    });
  },
);

test('it requires only fields that its events always have', () => {
  const source = readFileSync(join(EXAMPLES, 'bridge_consumer.py'), 'utf8');
  const table = /REQUIRED = \{([\s\S]*?)\n\}/.exec(source)?.[1] ?? '';
  const rows = [...table.matchAll(/"([^"]+)": \(([^)]*)\)/g)];
  const requiredOf = (detailType: string | undefined) => {
    const definition = eventCatalog.find((each) => each.detailType === detailType);
    const fields = Object.entries<z.ZodType>(definition?.detail.shape ?? {});
    return fields.filter(([, field]) => !field.safeParse(undefined).success).map(([name]) => name);
  };

  expect(rows).toHaveLength(2);
  for (const [, detailType, names = ''] of rows)
    expect(requiredOf(detailType)).toEqual(
      expect.arrayContaining([...names.matchAll(/"(\w+)"/g)].map(([, name]) => name)),
    );
});

testWithPython('it accepts and refuses the same signatures as the TypeScript package', async () => {
  const secret = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;
  const other = `whsec_${Buffer.from('another secret of 32 bytes......').toString('base64')}`;
  const body = JSON.stringify({ hello: 'wörld' });
  const signed = (at: Date) => ({
    'Webhook-Id': 'evt_1',
    'Webhook-Timestamp': String(Math.floor(at.getTime() / 1_000)),
    'Webhook-Signature': `v1,bm90IHRoaXMgb25l ${new Webhook(secret).sign('evt_1', at, body)}`,
  });
  const now = signed(new Date());
  const requests = [
    { body, headers: now, secrets: [secret] },
    { body, headers: now, secrets: [other, secret] },
    { body, headers: now, secrets: [other] },
    { body: `${body} `, headers: now, secrets: [secret] },
    { body, headers: { ...now, 'Webhook-Id': 'evt_2' }, secrets: [secret] },
    { body, headers: {}, secrets: [secret] },
    { body, headers: signed(new Date(Date.now() - 360_000)), secrets: [secret] },
  ];
  const isGenuine = (request: (typeof requests)[number]) => {
    try {
      const headers = request.headers as Record<string, string>;
      return verifySignature(request.body, headers, request.secrets) !== undefined;
    } catch {
      return false;
    }
  };

  const verdicts = await python(
    `
def genuine(request):
    try:
        return consumer.verify_signature(request["body"].encode(), request["headers"], request["secrets"]) is not None
    except consumer.SignatureError:
        return False
print(json.dumps([genuine(request) for request in input]))`,
    requests,
  );

  expect(verdicts).toEqual([true, true, false, false, false, false, false]);
  expect(verdicts).toEqual(requests.map(isGenuine));
});
