/**
 * Deploys the bus, its policy, its archive, its schema registry, and a canary event that proves every five minutes
 * that events arrive.
 */

import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as schemas from 'aws-cdk-lib/aws-eventschemas';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import * as z from 'zod';
import { busLogGroupOf } from '../../../functions/api/read-model/bus-log.ts';
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
  /** The log of the bus is kept for this long. When it is undefined, EventBridge writes no log. */
  readonly logRetention: logs.RetentionDays | undefined;
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
  readonly log: logs.LogGroup | undefined;

  constructor(scope: Construct, props: BridgeBusProps) {
    super(scope, 'Events');
    const { busName, archiveDays, publisherRoleArns, dataKey, logRetention } = props;
    this.bus = new events.EventBus(this, 'Bus', {
      eventBusName: busName,
      ...(logRetention && {
        logConfig: { level: events.Level.INFO, includeDetail: events.IncludeDetail.NONE },
      }),
    });
    this.log = logRetention && this.addLog(busName, { retention: logRetention, dataKey });
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

  /** Steps and errors are two types of logs, and each is delivered on its own (EventBridge User Guide, "Configuring logs"). */
  private addLog(
    busName: string,
    {
      retention,
      dataKey,
    }: { readonly retention: logs.RetentionDays; readonly dataKey: kms.IKey | undefined },
  ): logs.LogGroup {
    const log = new logs.LogGroup(this, 'Log', {
      logGroupName: busLogGroupOf(busName),
      retention,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      ...(dataKey && { encryptionKey: dataKey }),
    });
    const policy = log.addToResourcePolicy(deliveryTo(log)).policyDependable;
    const destination = new logs.CfnDeliveryDestination(this, 'LogDestination', {
      name: `${busName}-bus`,
      destinationResourceArn: log.logGroupArn,
      outputFormat: 'json',
    });
    for (const [id, logType] of [
      ['Steps', 'INFO_LOGS'],
      ['Errors', 'ERROR_LOGS'],
    ] as const) {
      const name = `${busName}-bus-${id.toLowerCase()}`;
      const source = new logs.CfnDeliverySource(this, `Log${id}`, {
        name,
        logType,
        resourceArn: this.bus.eventBusArn,
      });
      const delivery = new logs.CfnDelivery(this, `Log${id}Delivery`, {
        deliverySourceName: name,
        deliveryDestinationArn: destination.attrArn,
      });
      delivery.node.addDependency(source, ...(policy ? [policy] : []));
    }
    return log;
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

/**
 * Allows CloudWatch to deliver logs of other services to this group. Without it AWS writes a policy of its own for the whole AWS
 * account, which fails when that policy is full.
 */
export function deliveryTo(log: logs.LogGroup): iam.PolicyStatement {
  const { partition, region, account } = Stack.of(log);
  return new iam.PolicyStatement({
    principals: [new iam.ServicePrincipal('delivery.logs.amazonaws.com')],
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    resources: [log.logGroupArn],
    conditions: {
      StringEquals: { 'aws:SourceAccount': account },
      ArnLike: { 'aws:SourceArn': `arn:${partition}:logs:${region}:${account}:*` },
    },
  });
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
