/** Tests what every implementation of the table refuses, as DynamoDB does, and that a refused write changes nothing. */

import { describe, expect, test } from 'vitest';
import { INDEXES, type Table } from '../../shared/store/table.ts';

const REFUSED = { name: 'ValidationException' };

/** Several suites share a table, so every test has keys of its own. */
let testCount = 0;
const freshKey = (sk: string) => {
  testCount += 1;
  return { pk: `OPS#refusals#${testCount}`, sk };
};

export function describeRefusals(name: string, open: () => Table): void {
  describe(`the refusals of ${name}`, () => {
    test('two equal keys in one read are refused', async () => {
      const [table, key] = [open(), freshKey('OP#1')];
      await table.update({ key, set: { kind: 'operation' } });

      await expect(table.getMany([key, { ...key }])).rejects.toMatchObject(REFUSED);
      expect((await table.getMany([key, { ...key, sk: 'OP#2' }])).map(({ sk }) => sk)).toEqual(['OP#1']);
    });

    test.each([...new Set(INDEXES.flatMap(({ partitionKey, sortKey }) => [partitionKey, sortKey]))])(
      'an empty text in the index key %s is refused, and nothing of the write is kept',
      async (attribute) => {
        const [table, key] = [open(), freshKey('OP#1')];
        if (attribute === 'pk') {
          await expect(
            table.update({ key: { ...key, pk: '' }, set: { kind: 'operation' } }),
          ).rejects.toMatchObject(REFUSED);
          return;
        }
        await table.update({ key, set: { kind: 'operation', status: 'running' } });

        await expect(
          table.update({ key, set: { status: 'finished', [attribute]: '' } }),
        ).rejects.toMatchObject(REFUSED);
        expect(await table.get(key)).toMatchObject({ status: 'running' });
      },
    );

    test('an empty text in any other attribute is taken', async () => {
      const [table, key] = [open(), freshKey('OP#1')];
      await table.update({ key, set: { kind: 'operation', status: '' } });

      expect(await table.get(key)).toMatchObject({ status: '' });
    });
  });
}
