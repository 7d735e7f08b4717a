/**
 * What a deployed bridge is known by stays: a resource of another logical id or name is another resource, and CloudFormation would
 * delete the one before it. The list was written from the template of the version that was deployed first.
 */

import { expect, test } from 'vitest';
import deployed from './deployed-identities.json' with { type: 'json' };
import { type Resource, synthesize } from './stack-under-test.ts';

const stack = synthesize();

interface Identity {
  readonly type: string;
  readonly name?: unknown;
  readonly keys?: unknown;
  readonly indexes?: unknown;
}

const NAMES = [
  'TableName',
  'Name',
  'ArchiveName',
  'QueueName',
  'TopicName',
  'FunctionName',
  'RoleName',
  'LogGroupName',
  'RegistryName',
  'StageName',
];

function identityOf({ Type, Properties }: Resource): Identity {
  const name = NAMES.map((each) => Properties?.[each]).find((each) => each !== undefined);
  const isTable = Type === 'AWS::DynamoDB::Table';
  return {
    type: Type,
    ...(name !== undefined && { name }),
    ...(isTable && { keys: Properties.KeySchema, indexes: Properties.GlobalSecondaryIndexes }),
  };
}

test.each(Object.entries(deployed))('%s is there as it was deployed', (id, identity) => {
  const resource = stack.resource(id);

  expect(resource && identityOf(resource)).toEqual(identity);
});

test('the list names the table, the bus, its archive, every queue, the topic, the functions with roles and logs, and the front door', () => {
  const types = Object.values(deployed).map(({ type }) => type.split('::').slice(1).join('::'));

  expect(Object.keys(deployed)).toHaveLength(29);
  expect([...new Set(types)].toSorted()).toEqual([
    'ApiGatewayV2::Api',
    'ApiGatewayV2::Stage',
    'DynamoDB::Table',
    'EventSchemas::Registry',
    'Events::Archive',
    'Events::EventBus',
    'Events::Rule',
    'IAM::Role',
    'Lambda::Function',
    'Logs::LogGroup',
    'SNS::Topic',
    'SQS::Queue',
    'Scheduler::Schedule',
  ]);
});
