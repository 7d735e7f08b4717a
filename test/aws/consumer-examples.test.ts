/** The examples for subscribers synthesize, and their patterns match what they say they do. */

import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { BranchesToAnotherAccount, FailuresToQueue } from '../../infra/aws/consumer-examples.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { matchesEventPattern, parseEventPattern } from '../../shared/events/pattern/event-pattern.ts';

const PROJECT_ID = operationStateChanged.example.project_id;
const stack = new Stack(new App(), 'consumers');
new FailuresToQueue(stack, 'Failures', { busName: 'operations-bridge', projectId: PROJECT_ID });
new BranchesToAnotherAccount(stack, 'Branches', {
  busName: 'operations-bridge',
  targetBusArn: 'arn:aws:events:eu-central-1:210987654321:event-bus/theirs',
  roleArn: 'arn:aws:iam::123456789012:role/to-their-bus',
});
const rules = Object.entries(Template.fromStack(stack).findResources('AWS::Events::Rule'));

const matches = (name: string, detail: object) => {
  const [, rule] = rules.find(([id]) => id.startsWith(name)) ?? [];
  const pattern = parseEventPattern(
    JSON.stringify((rule as { Properties: { EventPattern: object } }).Properties.EventPattern),
  );
  const event = {
    source: 'operations-bridge',
    'detail-type': 'Operation State Changed',
    detail: { ...operationStateChanged.example, ...detail },
  };
  return matchesEventPattern(pattern, event);
};

describe('subscribers', () => {
  test('all failures of one project, to a queue', () => {
    expect(matches('Failures', { status: 'failed', new_failures: 1 })).toBe(true);
    expect(matches('Failures', { status: 'running', new_failures: 0 })).toBe(false);
    expect(matches('Failures', { status: 'failed', new_failures: 1, project_id: 'another-1' })).toBe(false);
  });

  test('all finished branch creations, to another account', () => {
    expect(matches('Branches', { action: 'create_branch', status: 'finished' })).toBe(true);
    expect(matches('Branches', { action: 'create_branch', status: 'failed' })).toBe(false);
    expect(matches('Branches', { action: 'start_compute', status: 'finished' })).toBe(false);
  });
});
