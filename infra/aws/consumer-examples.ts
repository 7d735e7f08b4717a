/** Subscribers as constructs, to copy: a queue with all failures of a project, and another account with finished branches. */

import { Duration } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';
import { sendFromRule } from './events.ts';

export interface ConsumerProps {
  readonly busName: string;
  readonly projectId: string;
}

/** Failures of one project, in a queue of the team that owns it. */
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
  /** A bus of the other account, whose policy lets this account put events; a rule there calls its Lambda. */
  readonly targetBusArn: string;
  /** May put events onto that bus, and EventBridge may assume it. */
  readonly roleArn: string;
}

/** Finished branch creations, to the bus of another account. */
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
