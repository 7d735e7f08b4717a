/** Opens a local AWS with what a subscriber uses: clients, queues with a policy, and rules. */

import {
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
  type Target,
} from '@aws-sdk/client-eventbridge';
import { CreateQueueCommand, type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { onTestFinished } from 'vitest';
import type { LocalAwsOptions } from '../../../infra/local/aws/local-aws.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { anEntry, openAws } from './aws-under-test.ts';

export const QUEUE_ARN = 'arn:aws:sqs:us-east-1:000000000000:';

const RULE_ARN = 'arn:aws:events:us-east-1:000000000000:rule/bus/rule';

/** Lets the rule `rule` of the bus `bus` send, and no other. */
export const policyFor = (queueArn: string, ruleArn = RULE_ARN) =>
  JSON.stringify({
    Statement: {
      Effect: 'Allow',
      Principal: { Service: 'events.amazonaws.com' },
      Action: 'sqs:SendMessage',
      Resource: queueArn,
      Condition: { ArnEquals: { 'aws:SourceArn': ruleArn } },
    },
  });

/** The clock shows the real time, and its waits end at once: repetitions come without their pauses. */
const impatientClock = { now: () => Date.now(), sleep: () => systemClock.sleep(0) };

export async function openSubscriptions(options: LocalAwsOptions = {}) {
  const opened = await openAws({ clock: impatientClock, ...options });
  const { aws, events } = opened;
  const sqs = new SQSClient({
    endpoint: aws.endpoint,
    region: 'us-east-1',
    credentials: aws.credentials,
    maxAttempts: 1,
  });
  onTestFinished(() => sqs.destroy());
  aws.bus.createBus('bus');

  return {
    ...opened,
    sqs,
    /** Returns the address of a queue to which the rule may send. */
    createQueue: async (name: string, attributes: Record<string, string> = {}): Promise<string> => {
      const Attributes = { Policy: policyFor(`${QUEUE_ARN}${name}`), ...attributes };
      const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes }));
      return QueueUrl;
    },
    createRule: async (...Targets: readonly Target[]): Promise<void> => {
      const EventPattern = '{"detail":{"status":["failed"]}}';
      await events.send(new PutRuleCommand({ Name: 'rule', EventBusName: 'bus', EventPattern }));
      await events.send(new PutTargetsCommand({ Rule: 'rule', EventBusName: 'bus', Targets: [...Targets] }));
    },
    publish: async (fields: object = {}): Promise<void> => {
      await events.send(new PutEventsCommand({ Entries: [anEntry(fields)] }));
      await aws.bus.idle();
    },
    receive: async (QueueUrl: string): Promise<readonly Message[]> => {
      const all = { MessageAttributeNames: ['All'], MaxNumberOfMessages: 10 };
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, ...all }));
      return Messages;
    },
  };
}
