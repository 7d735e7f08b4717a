/** Runs what is Python's own in the consumer of docs/bindings.md. What every consumer must do is in consumer-cases.slow.test.ts. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type * as z from 'zod';
import { eventCatalog, operationStateChanged } from '../../../shared/events/catalog.ts';
import { EXAMPLES, python, pythonIsMissing } from './python.ts';

const testWithPython = test.skipIf(pythonIsMissing !== undefined);

const changed = (fields: Partial<typeof operationStateChanged.example>) => ({
  source: 'operations-bridge',
  'detail-type': operationStateChanged.detailType,
  detail: { ...operationStateChanged.example, of_the_future: 1, ...fields },
});

testWithPython(
  'its Lambda handler gives back only the messages that failed, and tells the others',
  async () => {
    const bodies = [
      JSON.stringify(changed({ id: 'a', sequence: 1, status: 'running' })),
      'no JSON',
      JSON.stringify({ ...changed({ id: 'g' }), detail: {} }),
      JSON.stringify(changed({ id: 'a', sequence: 1, status: 'running' })),
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
