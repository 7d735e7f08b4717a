/**
 * Shows two subscribers to copy, as constructs: a queue with all failures of a project, and another account with
 * finished branches.
 */

import { Duration } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';
import { sendFromRule } from './resources/bridge-bus.ts';

export interface ConsumerProps {
  readonly busName: string;
  readonly projectId: string;
}

/** Sends the failures of one project to a queue of the team that owns it. */
export class FailuresToQueue extends Construct {
  readonly queue: sqs.Queue;

  constructor(scope: Construct, id: string, { busName, projectId }: ConsumerProps) {
    super(scope, id);
    const deadLetters = new sqs.Queue(this, 'DeadLetters', {
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    this.queue = new sqs.Queue(this, 'Queue', {
      enforceSSL: true,
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: 5 },
    });
    const rule = new events.CfnRule(this, 'Rule', {
      eventBusName: busName,
      eventPattern: {
        source: [EVENT_SOURCE],
        'detail-type': ['Operation State Changed'],
        detail: { project_id: [projectId], new_failures: [{ numeric: ['>', 0] }] },
      },
      targets: [{ id: 'queue', arn: this.queue.queueArn, deadLetterConfig: { arn: deadLetters.queueArn } }],
    });
    for (const queue of [this.queue, deadLetters])
      queue.addToResourcePolicy(sendFromRule(queue, rule.attrArn));
  }
}

export interface CrossAccountProps {
  readonly busName: string;
  /**
   * The bus belongs to the other account. Its policy lets this account put events, and a rule there calls the
   * account's Lambda.
   */
  readonly targetBusArn: string;
  /** EventBridge assumes this role, which may put events onto that bus. */
  readonly roleArn: string;
}

/** Sends finished branch creations to the bus of another account. */
export class BranchesToAnotherAccount extends Construct {
  constructor(scope: Construct, id: string, { busName, targetBusArn, roleArn }: CrossAccountProps) {
    super(scope, id);
    const deadLetters = new sqs.Queue(this, 'DeadLetters', {
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    const rule = new events.CfnRule(this, 'Rule', {
      eventBusName: busName,
      eventPattern: {
        source: [EVENT_SOURCE],
        'detail-type': ['Operation State Changed'],
        detail: { action: ['create_branch'], status: ['finished'] },
      },
      targets: [{ id: 'bus', arn: targetBusArn, roleArn, deadLetterConfig: { arn: deadLetters.queueArn } }],
    });
    deadLetters.addToResourcePolicy(sendFromRule(deadLetters, rule.attrArn));
  }
}
