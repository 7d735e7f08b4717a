/**
 * Checks every edge of the deployed template. The edges are derived from its resources, so a new one is checked
 * without a new test.
 */

import { describe, expect, test } from 'vitest';
import { checkEdges } from './edges.ts';
import type { Resource } from './stack-under-test.ts';
import { synthesize } from './stack-under-test.ts';
import type { Resources } from './symbols.ts';

const stack = synthesize();

/** Returns the template without some resources, or with their properties changed. */
function changed(
  isMeant: (id: string, resource: Resource) => boolean,
  change?: (properties: Resource['Properties']) => void,
): Resources {
  const copy = structuredClone(stack.resources);
  const meant = copy.filter(([id, resource]) => isMeant(id, resource));
  expect(meant.length).toBeGreaterThan(0);
  if (change === undefined) return copy.filter((each) => !meant.includes(each));
  for (const [, { Properties }] of meant) change(Properties);
  return copy;
}

describe('every edge of the template', () => {
  test('has the permission, the target and the subscriber that it needs', () => {
    const { broken, found } = checkEdges(stack.resources);

    expect(broken).toEqual([]);
    expect(Object.values(found).every((count) => count > 0)).toBe(true);
    expect(found['AWS::CloudWatch::Alarm']).toBeGreaterThan(15);
  });
});

describe('the check of the edges', () => {
  const isOf =
    (...types: readonly string[]) =>
    (_id: string, { Type }: Resource) =>
      types.includes(Type);
  const isNamed = (part: string) => (id: string) => id.includes(part);

  test.each<[string, Parameters<typeof changed>, RegExp]>([
    [
      'the policy of the alarm topic',
      [isNamed('AlarmsTopicPolicy')],
      /^Alarms\w+: CloudWatch is not allowed to publish to AlarmsTopic/,
    ],
    [
      'an alarm of another name',
      [isNamed('Alarmscanarymissing'), (alarm) => Object.assign(alarm, { AlarmName: 'another-canary' })],
      /^Alarmscanarymissing\w+: CloudWatch is not allowed to publish/,
    ],
    [
      'a statement for another account',
      [
        isNamed('AlarmsTopicPolicy'),
        ({ PolicyDocument }) => {
          for (const { Condition } of PolicyDocument.Statement)
            if (Condition.StringEquals) Condition.StringEquals['aws:SourceAccount'] = '210987654321';
        },
      ],
      /CloudWatch is not allowed to publish/,
    ],
    [
      'an alarm without action',
      [isNamed('Alarmscanarymissing'), (alarm) => Object.assign(alarm, { AlarmActions: [] })],
      /has no action/,
    ],
    ['every subscription', [isOf('AWS::SNS::Subscription')], /AlarmsTopic\w* has no subscriber/],
    [
      'the policy of the queue of alerts',
      [isNamed('NotifierQueuePolicy')],
      /^NotifierRule\w+: EventBridge is not allowed to send to NotifierQueue/,
    ],
    [
      'the policy of the queue of undelivered events',
      [isNamed('EventsUndeliveredPolicy')],
      /EventBridge is not allowed to send to EventsUndelivered/,
    ],
    [
      'the dead-letter queue of a rule',
      [
        isOf('AWS::Events::Rule'),
        ({ Targets }) => {
          for (const target of Targets) delete target.DeadLetterConfig;
        },
      ],
      /a target has no dead-letter queue/,
    ],
    [
      'the policy of the role of a schedule',
      [isNamed('PollerScheduleRoleDefaultPolicy')],
      /^PollerScheduleLane0\w+: the role PollerScheduleRole\w+ is not allowed to call the target/,
    ],
    [
      'the trust in the scheduler',
      [
        isNamed('NotifierSweepRole6'),
        (role) =>
          Object.assign(role.AssumeRolePolicyDocument.Statement[0].Principal, {
            Service: 'lambda.amazonaws.com',
          }),
      ],
      /^NotifierSweep\w+: the scheduler is not allowed to assume the role/,
    ],
    [
      'the canary of another source',
      [
        isNamed('EventsCanaryC'),
        ({ Target }) => Object.assign(Target, { Input: Target.Input.replace('.canary', '.other') }),
      ],
      /^EventsCanary\w+: the role \w+ is not allowed to call the target/,
    ],
    ['the queue of failures', [isNamed('PollerFailuresF2')], /failures go to no queue of this stack/],
    [
      // A role has a managed policy, too, when its statements are too long for one.
      'the policies of the functions',
      [isOf('AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy')],
      /the function is not allowed to send to PollerFailures[\s\S]*the function is not allowed to sqs:ReceiveMessage/,
    ],
    [
      'the dead-letter queue of alerts',
      [isNamed('NotifierDeadLetters0')],
      /^NotifierQueue\w+: its dead-letter queue is not of this stack/m,
    ],
    [
      'a message that is shown too soon',
      [isNamed('NotifierQueueC'), (queue) => Object.assign(queue, { VisibilityTimeout: 60 })],
      /shows a message again before/,
    ],
    [
      'the permissions of the front door',
      [isOf('AWS::Lambda::Permission')],
      /API Gateway is not allowed to call the function for ANY \/api\/v2/,
    ],
    ['a log group', [isNamed('ApiapiLog')], /^ApiapiFunction\w+: has no log group/m],
    [
      'the dead-letter queue of a schedule',
      [isOf('AWS::Scheduler::Schedule'), ({ Target }) => delete Target.DeadLetterConfig],
      /^PollerScheduleLane0\w+: has no dead-letter queue/m,
    ],
    [
      'the permission to send to it',
      [isNamed('NotifierSweepRoleDefaultPolicy')],
      /^NotifierSweep\w+: the role \w+ is not allowed to send to EventsUndelivered/m,
    ],
    [
      'the policy of the access log',
      [isOf('AWS::Logs::ResourcePolicy')],
      /^ApiStage\w*: the delivery of logs is not allowed to logs:CreateLogStream of ApiAccessLog/m,
    ],
  ])('finds the fault of a template without, or with, %s', (_name, change, sentence) => {
    const { broken } = checkEdges(changed(...change));

    expect(broken.join('\n')).toMatch(sentence);
  });
});
