/** Reads the key that encrypts what the bridge keeps: what uses it, and who may use it. */

import { describe, expect, test } from 'vitest';
import { checkEdges } from '../../aws/edges.ts';
import { isAllowed, listOf, type Statement } from '../../aws/policies.ts';
import { type Resource, synthesize } from '../../aws/stack-under-test.ts';
import { ACCOUNT, arn } from '../../aws/symbols.ts';

const stack = synthesize({ customer_managed_key: true });
const [keyId = '', key] = stack.resources.find(([, { Type }]) => Type === 'AWS::KMS::Key') ?? [];
const policy: readonly Statement[] = key?.Properties.KeyPolicy.Statement;

const ANOTHER_ACCOUNT = '210987654321';

/** Where each kind of resource names the key that encrypts it. */
const PLACES: Readonly<Record<string, (properties: Resource['Properties']) => unknown>> = {
  'AWS::DynamoDB::Table': ({ SSESpecification }) => SSESpecification.KMSMasterKeyId,
  'AWS::SQS::Queue': ({ KmsMasterKeyId }) => KmsMasterKeyId,
  'AWS::SNS::Topic': ({ KmsMasterKeyId }) => KmsMasterKeyId,
  'AWS::Logs::LogGroup': ({ KmsKeyId }) => KmsKeyId,
};

const isOurs = (value: unknown) => JSON.stringify(value ?? '').includes(keyId);

describe('a key of one’s own', () => {
  test('is not deployed unless the configuration asks for it', () => {
    const usual = synthesize();

    expect(usual.ofType('AWS::KMS::Key')).toEqual([]);
    for (const [type, place] of Object.entries(PLACES))
      expect(usual.ofType(type).map(({ Properties }) => place(Properties))).toEqual(
        usual.ofType(type).map(() => undefined),
      );
  });

  test('encrypts the table, every queue, every topic and every log, is rotated, and outlives the stack as the table does', () => {
    for (const [type, place] of Object.entries(PLACES)) {
      const found = stack.ofType(type);
      expect(found.length).toBeGreaterThan(0);
      expect([type, found.filter(({ Properties }) => !isOurs(place(Properties)))]).toEqual([type, []]);
    }
    expect(key).toMatchObject({ DeletionPolicy: 'Retain', Properties: { EnableKeyRotation: true } });
  });

  test.each([
    ['AlarmsPublish', 'cloudwatch.amazonaws.com'],
    ['RulesSend', 'events.amazonaws.com'],
    ['SchedulesSend', 'scheduler.amazonaws.com'],
    ['TopicsDeliver', 'sns.amazonaws.com'],
  ])('%s: %s may use it to send for this AWS account, and for no other', (sid, service) => {
    const own = policy.filter((statement) => (statement as { Sid?: string }).Sid === sid);
    const may = (action: string, account: string, caller = service) =>
      isAllowed(stack.resources, own, {
        service: caller,
        action,
        resource: '*',
        context: { 'aws:sourceaccount': account },
      });

    expect(own).toHaveLength(1);
    for (const action of ['kms:Decrypt', 'kms:GenerateDataKey']) {
      expect([action, may(action, ACCOUNT)]).toEqual([action, true]);
      expect([action, may(action, ANOTHER_ACCOUNT)]).toEqual([action, false]);
      expect([action, may(action, ACCOUNT, 'lambda.amazonaws.com')]).toEqual([action, false]);
    }
    expect(may('kms:ScheduleKeyDeletion', ACCOUNT)).toBe(false);
  });

  test('CloudWatch Logs may use it for log groups of this AWS account, and for no others', () => {
    const may = (account: string) =>
      isAllowed(stack.resources, policy, {
        service: 'logs.eu-central-1.amazonaws.com',
        action: 'kms:GenerateDataKey',
        resource: '*',
        context: {
          'kms:encryptioncontext:aws:logs:arn': arn('logs', 'log-group:any').replace(ACCOUNT, account),
        },
      });

    expect(may(ACCOUNT)).toBe(true);
    expect(may(ANOTHER_ACCOUNT)).toBe(false);
  });

  test('has no statement beyond those of the services and the one that leaves the rest to IAM', () => {
    expect(policy).toHaveLength(6);
    const [ofIam] = policy.filter(({ Principal }) => 'AWS' in (Principal as object));
    expect(JSON.stringify(ofIam?.Principal)).toContain(':root');
  });

  test('may be used by every role that uses the table, a queue or a topic, and through no wildcard', () => {
    const policies = [...stack.ofType('AWS::IAM::Policy'), ...stack.ofType('AWS::IAM::ManagedPolicy')];
    const roles = stack.resources.filter(([, { Type }]) => Type === 'AWS::IAM::Role');
    for (const [id] of roles) {
      const statements = policies
        .filter(({ Properties }) => JSON.stringify(Properties.Roles).includes(id))
        .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]);
      const uses = statements.some(({ Action }) => /dynamodb:|sqs:|sns:/.test(JSON.stringify(Action)));
      const mayUse = statements.filter(({ Resource }) => isOurs(Resource));

      expect([id, uses]).toEqual([id, true]);
      for (const action of ['kms:Decrypt', 'kms:GenerateDataKey'])
        expect([id, action, mayUse.some(({ Action }) => listOf(Action).includes(action))]).toEqual([
          id,
          action,
          true,
        ]);
      expect(
        mayUse.flatMap(({ Action }) => listOf(Action)).filter((action) => String(action).includes('*')),
      ).toEqual([]);
    }
    expect(roles.length).toBeGreaterThan(6);
  });

  test('breaks no edge of the template', () => {
    expect(checkEdges(stack.resources).broken).toEqual([]);
  });
});
