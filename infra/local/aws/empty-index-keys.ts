/** Makes dynalite refuse an empty key of an index, which DynamoDB refuses and dynalite 4.0.0 takes. */

import type { Databases, StoredItem, TableDescription } from 'dynalite/db/index.js';

/** DynamoDB answers with this text (DynamoDB Developer Guide, "Constraints"). */
const REFUSAL =
  'One or more parameter values are not valid. A value specified for a secondary index key is not supported. ' +
  'The AttributeValue for a key attribute cannot contain an empty string value.';

/** From now on, each write of this process that leaves an index with an empty key is refused and changes nothing. */
export function refuseEmptyIndexKeys(databases: Databases): void {
  const { updateIndexes } = databases;
  databases.updateIndexes = (store, table, before, after, done) => {
    if (after !== null && hasEmptyIndexKey(table, after)) done(databases.validationError(REFUSAL));
    else updateIndexes(store, table, before, after, done);
  };
}

function hasEmptyIndexKey(table: TableDescription, item: StoredItem): boolean {
  const { GlobalSecondaryIndexes = [], LocalSecondaryIndexes = [] } = table;
  return [...GlobalSecondaryIndexes, ...LocalSecondaryIndexes]
    .flatMap(({ KeySchema }) => KeySchema)
    .some(({ AttributeName }) => item[AttributeName]?.['S'] === '' || item[AttributeName]?.['B'] === '');
}
