/** Lets `test-consumer` play its cases against the package operations-bridge-events. With a table in EVENT_MARKS the marks outlive the process. */

import { createInterface } from 'node:readline';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import {
  createMemoryMarks,
  createTableMarks,
  forEachNew,
  verifySignature,
} from '../../../infra/packages/events/operations-bridge-events.ts';

const question = z.union([
  z.object({ deliver: z.array(z.string()), failing: z.array(z.string()) }),
  z.object({
    verify: z.object({
      body: z.string(),
      headers: z.record(z.string(), z.string()),
      secrets: z.array(z.string()),
    }),
  }),
]);

// Failures of the cases are no news.
console.error = () => undefined;

const { EVENT_MARKS: tableName } = process.env;
const marks =
  tableName === undefined
    ? createMemoryMarks()
    : createTableMarks(DynamoDBDocument.from(new DynamoDBClient()), { tableName, consumer: 'under-test' });

async function answerTo(asked: z.output<typeof question>): Promise<object> {
  if ('verify' in asked) {
    const { body, headers, secrets } = asked.verify;
    try {
      verifySignature(body, headers, secrets);
      return { accepted: true };
    } catch {
      return { accepted: false };
    }
  }
  const effects: string[] = [];
  const records = asked.deliver.map((body, place) => ({ messageId: String(place), body }));
  const { batchItemFailures } = await forEachNew(
    records,
    marks,
    async ({ detail: { id } }) => {
      if (asked.failing.includes(id)) throw new Error('this effect fails, because the case wants it');
      effects.push(id);
    },
    { states: 'latest' },
  );
  return { effects, again: batchItemFailures.map(({ itemIdentifier }) => Number(itemIdentifier)) };
}

for await (const line of createInterface(process.stdin))
  console.log(JSON.stringify(await answerTo(question.parse(JSON.parse(line)))));
