/**
 * Holds the identity of everything that is deployed. A resource with another logical id, physical name or key schema
 * is another resource to CloudFormation, which would delete the present one with its content. deployed-identities.json
 * records the first deployed version and what was added since.
 */

import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import deployed from './deployed-identities.json' with { type: 'json' };
import indexesByRelease from './indexes-by-release.json' with { type: 'json' };
import { type Resource, synthesize } from './stack-under-test.ts';

// The dashboard is deployed only when it is asked for.
const stack = synthesize({ dashboard: true });

interface Identity {
  readonly type: string;
  readonly name?: unknown;
  readonly keys?: unknown;
  readonly attributes?: unknown;
  readonly indexes?: unknown;
}

/** This property holds the physical name, by type. A role or a topic without a name gets one from CloudFormation. */
const NAME_OF: Readonly<Record<string, string>> = {
  'AWS::ApiGatewayV2::Api': 'Name',
  'AWS::ApiGatewayV2::Route': 'RouteKey',
  'AWS::ApiGatewayV2::Stage': 'StageName',
  'AWS::CloudWatch::Alarm': 'AlarmName',
  'AWS::CloudWatch::Dashboard': 'DashboardName',
  'AWS::DynamoDB::Table': 'TableName',
  'AWS::EventSchemas::Registry': 'RegistryName',
  'AWS::EventSchemas::Schema': 'SchemaName',
  'AWS::Events::Archive': 'ArchiveName',
  'AWS::Events::EventBus': 'Name',
  'AWS::Events::Rule': 'Name',
  'AWS::IAM::Role': 'RoleName',
  'AWS::Lambda::Function': 'FunctionName',
  'AWS::Logs::LogGroup': 'LogGroupName',
  'AWS::SNS::Topic': 'TopicName',
  'AWS::SQS::Queue': 'QueueName',
  'AWS::Scheduler::Schedule': 'Name',
  'AWS::SecretsManager::Secret': 'Name',
};

function identityOf({ Type, Properties }: Resource): Identity {
  const name: unknown = Properties?.[NAME_OF[Type] ?? ''];
  const isTable = Type === 'AWS::DynamoDB::Table';
  return {
    type: Type,
    ...(name !== undefined && { name }),
    ...(isTable && {
      keys: Properties.KeySchema,
      attributes: Properties.AttributeDefinitions,
      indexes: Properties.GlobalSecondaryIndexes,
    }),
  };
}

describe('a deployed resource', () => {
  test.each(Object.entries(deployed))('keeps its logical id, name and keys: %s', (id, identity) => {
    const resource = stack.resource(id);

    expect(resource && identityOf(resource)).toEqual(identity);
  });

  test('is on the list when its type has a name: add what is missing to deployed-identities.json', () => {
    const named = stack.resources.filter(([, { Type }]) => Type in NAME_OF);
    const missing = named.filter(([id]) => !(id in deployed));

    expect(Object.fromEntries(missing.map(([id, resource]) => [id, identityOf(resource)]))).toEqual({});
    expect(new Set(named.map(([, { Type }]) => Type))).toEqual(new Set(Object.keys(NAME_OF)));
  });
});

/** Returns the indexes that one release has and the other one lacks. */
function changedIndexes(before: readonly string[], after: readonly string[]): readonly string[] {
  return [
    ...before.filter((name) => !after.includes(name)),
    ...after.filter((name) => !before.includes(name)),
  ];
}

describe('the indexes of the table', () => {
  const releases: Readonly<Record<string, readonly string[]>> = indexesByRelease;
  const versions = Object.keys(releases);

  test('are those that indexes-by-release.json records for the version in package.json, its last one', () => {
    const [table] = stack.ofType('AWS::DynamoDB::Table');
    const indexes = table?.Properties.GlobalSecondaryIndexes as readonly { readonly IndexName: string }[];

    expect(versions.at(-1)).toBe(manifest.version);
    expect(releases[manifest.version]).toEqual(indexes.map(({ IndexName }) => IndexName));
  });

  test('change by at most one from release to release, because DynamoDB adds or removes one per update', () => {
    const changes = versions
      .slice(1)
      .map((version, place) =>
        changedIndexes(releases[versions[place] ?? ''] ?? [], releases[version] ?? []),
      );

    expect(changes.filter(({ length }) => length > 1)).toEqual([]);
  });

  test('are compared by what was added and what was removed', () => {
    expect(changedIndexes(['work'], ['work', 'feed'])).toEqual(['feed']);
    expect(changedIndexes(['work'], ['work', 'feed', 'list'])).toEqual(['feed', 'list']);
    expect(changedIndexes(['work', 'feed'], ['work', 'list'])).toEqual(['feed', 'list']);
  });
});
