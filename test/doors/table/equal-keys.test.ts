import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createDynamoDbTable } from '../../../shared/store/dynamodb-table.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import { tableDefinition } from '../../../shared/store/table.ts';
import { createTable, openAws } from '../../local/aws/aws-under-test.ts';

describe('a read of many items', () => {
  test('asks DynamoDB for no key twice, however often the key was asked for', async () => {
    const random = seededRandom(41);
    const { tables } = await openAws();
    await createTable(tables, tableDefinition('doors'));
    const table = createDynamoDbTable(tables, 'doors');
    const keys = Array.from({ length: 150 }, (_, index) => projectKey('main', `p-${index}`));
    for (const key of keys) await table.update({ key, set: { kind: 'project' } });
    const asked = [...keys, ...keys.filter(() => random.next() < 0.5), keys[0], keys[0]];

    const items = await table.getMany(asked.flatMap((key) => key ?? []));

    expect(items.map(({ pk }) => pk).toSorted()).toEqual(keys.map(({ pk }) => pk).toSorted());
  });
});
