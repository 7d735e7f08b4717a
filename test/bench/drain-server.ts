/**
 * Imitates, with as little work as possible, a table full of unpublished operations and a bus. It runs in a process
 * of its own.
 */

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { attributesOf, keyOf } from '../../shared/store/items.ts';
import { aRecord } from '../builders.ts';

type Attributes = Readonly<Record<string, unknown>>;

interface RequestBody {
  readonly Limit?: number;
  readonly RequestItems?: Readonly<Record<string, { readonly Keys: readonly { sk: { S: string } }[] }>>;
  readonly Entries?: readonly unknown[];
}

const record = aRecord({ status: 'finished' });
const { pk } = keyOf(record);

const answers: Readonly<Record<string, (body: RequestBody) => Attributes>> = {
  Query: ({ Limit = 1 }) => {
    const Items = Array.from({ length: Limit }, () => ({ pk: { S: pk }, sk: { S: `OP#${randomUUID()}` } }));
    return { Items, LastEvaluatedKey: Items.at(-1) };
  },
  BatchGetItem: ({ RequestItems = {} }) => ({
    Responses: Object.fromEntries(
      Object.entries(RequestItems).map(([table, { Keys }]) => [table, Keys.map(({ sk }) => itemOf(sk.S))]),
    ),
    UnprocessedKeys: {},
  }),
  UpdateItem: () => ({}),
  PutEvents: ({ Entries = [] }) => ({
    FailedEntryCount: 0,
    Entries: Entries.map(() => ({ EventId: randomUUID() })),
  }),
};

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const call = String(request.headers['x-amz-target']).split('.').at(-1) ?? '';
    const body = JSON.parse(Buffer.concat(chunks).toString()) as RequestBody;
    response.setHeader('content-type', 'application/x-amz-json-1.0');
    response.end(JSON.stringify(answers[call]?.(body) ?? {}));
  });
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));

function itemOf(sk: string): Attributes {
  const fields = { ...attributesOf({ ...record, operation_id: sk.slice(3) }), pk, sk, work: 'main' };
  return (marshalled(fields) as { M: Attributes }).M;
}

function marshalled(value: unknown): Attributes {
  if (value === null) return { NULL: true };
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (Array.isArray(value)) return { L: value.map(marshalled) };
  const entries = Object.entries(value as object).filter(([, field]) => field !== undefined);
  return { M: Object.fromEntries(entries.map(([name, field]) => [name, marshalled(field)])) };
}
