/**
 * Deploys the bus, its policy, its archive, its schema registry, and a canary event that proves every five minutes
 * that events arrive.
 */

import { Duration, Stack } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as schemas from 'aws-cdk-lib/aws-eventschemas';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import * as z from 'zod';
import { APPROVAL_SOURCE } from '../../../shared/events/approval-event.ts';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import { DETAIL_TYPES, EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import { queueEncryption, sendWith } from './state.ts';

export const CANARY_SOURCE = `${EVENT_SOURCE}.canary`;

/** An alarm is raised when three canaries in a row are missing. */
export const CANARY_EVERY_MINUTES = 5;

export interface BridgeBusProps {
  readonly busName: string;
  readonly archiveDays: number;
  readonly dataKey: kms.IKey | undefined;
  /** These roles publish. They are given by name, because the roles themselves need the bus. */
  readonly publisherRoleArns: readonly string[];
}

interface QueueRule {
  readonly name: string;
  readonly eventPattern: object;
  readonly queue: sqs.Queue;
}

export class BridgeBus extends Construct {
  readonly bus: events.EventBus;
  readonly canaryQueue: sqs.Queue;
  /** Holds what EventBridge could not hand to the target of a rule or of a schedule. */
  readonly undelivered: sqs.Queue;

  constructor(scope: Construct, { busName, archiveDays, publisherRoleArns, dataKey }: BridgeBusProps) {
    super(scope, 'Events');
    this.bus = new events.EventBus(this, 'Bus', { eventBusName: busName });
    this.bus.archive('Archive', {
      archiveName: busName,
      description: 'Every event of the bridge, to be replayed to a new consumer',
      // A replay from the table is not archived a second time.
      eventPattern: { source: [EVENT_SOURCE], resources: events.Match.doesNotExist() },
      retention: Duration.days(archiveDays),
    });
    this.guardSource(publisherRoleArns);
    this.registerSchemas(busName);
    this.undelivered = new sqs.Queue(this, 'Undelivered', {
      queueName: `${busName}-undelivered`,
      retentionPeriod: Duration.days(14),
      enforceSSL: true,
      ...queueEncryption(dataKey),
    });
    this.canaryQueue = this.addCanary(busName, dataKey);
  }

  /**
   * Sends matching events of this bus to the queue, and those that the queue does not take to the queue of
   * undelivered ones.
   */
  ruleToQueue(scope: Construct, id: string, { name, eventPattern, queue }: QueueRule): void {
    const rule = new events.CfnRule(scope, id, {
      name,
      eventBusName: this.bus.eventBusName,
      eventPattern,
      targets: [{ id: 'queue', arn: queue.queueArn, deadLetterConfig: { arn: this.undelivered.queueArn } }],
    });
    for (const each of [queue, this.undelivered]) each.addToResourcePolicy(sendFromRule(each, rule.attrArn));
  }

  /**
   * Lets only the bridge's own roles publish with the bridge's source, because a forged failure would wake people.
   */
  private guardSource(publisherRoleArns: readonly string[]): void {
    this.bus.addToResourcePolicy(
      new iam.PolicyStatement({
        sid: 'OnlyTheBridgeSpeaksAsTheBridge',
        effect: iam.Effect.DENY,
        principals: [new iam.StarPrincipal()],
        actions: ['events:PutEvents'],
        resources: [this.bus.eventBusArn],
        conditions: {
          StringEquals: { 'events:source': [EVENT_SOURCE, APPROVAL_SOURCE] },
          ArnNotEquals: { 'aws:PrincipalArn': [...publisherRoleArns] },
        },
      }),
    );
  }

  /**
   * Registers the schemas that the events themselves are defined by, so that code bindings of consumers cannot drift.
   */
  private registerSchemas(registryName: string): void {
    const registry = new schemas.CfnRegistry(this, 'Registry', { registryName });
    for (const { detailType, detail } of eventCatalog) {
      const schemaName = `${EVENT_SOURCE}@${detailType.replaceAll(' ', '')}`;
      const schema = new schemas.CfnSchema(this, detailType.replaceAll(' ', ''), {
        registryName,
        schemaName,
        type: 'JSONSchemaDraft4',
        content: JSON.stringify(draft4Of(detailType, detail)),
      });
      schema.addResourceDependency(registry);
    }
  }

  /** Sends an event of its own source through the same bus and a rule to a queue that needs no reader. */
  private addCanary(busName: string, dataKey: kms.IKey | undefined): sqs.Queue {
    const queue = new sqs.Queue(this, 'CanaryQueue', {
      queueName: `${busName}-canary`,
      retentionPeriod: Duration.minutes(15),
      enforceSSL: true,
      ...queueEncryption(dataKey),
    });
    const eventPattern = { source: [CANARY_SOURCE] };
    this.ruleToQueue(this, 'CanaryRule', { name: `${busName}-canary`, eventPattern, queue });
    const role = new iam.Role(this, 'CanaryRole', {
      assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    });
    role.addToPolicy(
      new iam.PolicyStatement({
        actions: ['events:PutEvents'],
        resources: [this.bus.eventBusArn],
        conditions: { StringEquals: { 'events:source': CANARY_SOURCE } },
      }),
    );
    for (const statement of sendTo(this.undelivered)) role.addToPolicy(statement);
    new scheduler.CfnSchedule(this, 'Canary', {
      name: `${busName}-canary`,
      scheduleExpression: `rate(${CANARY_EVERY_MINUTES} minutes)`,
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: `arn:${Stack.of(this).partition}:scheduler:::aws-sdk:eventbridge:putEvents`,
        roleArn: role.roleArn,
        input: JSON.stringify({
          Entries: [{ EventBusName: busName, Source: CANARY_SOURCE, DetailType: 'Canary', Detail: '{}' }],
        }),
        retryPolicy: { maximumRetryAttempts: 0 },
        deadLetterConfig: { arn: this.undelivered.queueArn },
      },
    });
    return queue;
  }
}

/** Allows the role of a schedule to send what its target did not take to this queue. */
export function sendTo(queue: sqs.Queue): readonly iam.PolicyStatement[] {
  return [
    new iam.PolicyStatement({ actions: ['sqs:SendMessage'], resources: [queue.queueArn] }),
    ...(queue.encryptionMasterKey === undefined ? [] : [sendWith(queue.encryptionMasterKey)]),
  ];
}

/** Allows a queue to take messages from this rule only. */
export function sendFromRule(queue: sqs.IQueue, ruleArn: string): iam.PolicyStatement {
  return new iam.PolicyStatement({
    principals: [new iam.ServicePrincipal('events.amazonaws.com')],
    actions: ['sqs:SendMessage'],
    resources: [queue.queueArn],
    conditions: { ArnEquals: { 'aws:SourceArn': ruleArn } },
  });
}

/** Describes the whole event around the detail, as the registry and its code bindings expect it. */
function draft4Of(detailType: string, detail: z.ZodType): object {
  return {
    $schema: 'http://json-schema.org/draft-04/schema#',
    title: detailType,
    type: 'object',
    required: ['source', 'detail-type', 'time', 'detail'],
    properties: {
      source: { type: 'string', enum: [EVENT_SOURCE] },
      'detail-type': { type: 'string', enum: [detailType] },
      time: { type: 'string', format: 'date-time' },
      detail: z.toJSONSchema(detail, { io: 'input', target: 'draft-4' }),
    },
  };
}

/** The API and the worker may publish these; the poller publishes all others. */
export const COMMAND_EVENTS: readonly string[] = [
  DETAIL_TYPES.state_changed,
  DETAIL_TYPES.command_settled,
  DETAIL_TYPES.branch_ready,
  DETAIL_TYPES.branch_failed,
  DETAIL_TYPES.compute_state_changed,
];
