/** The bus: who may speak in the bridge's name, what is kept of it, what its events look like, and a canary that it sings. */

import { Duration, Stack } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as schemas from 'aws-cdk-lib/aws-eventschemas';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import * as z from 'zod';
import { eventCatalog } from '../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';

export const CANARY_SOURCE = `${EVENT_SOURCE}.canary`;

/** Three of them are missing before an alarm speaks. */
export const CANARY_EVERY_MINUTES = 5;

export interface EventsProps {
  readonly busName: string;
  readonly archiveDays: number;
  /** The roles that publish; by name, because the roles need the bus. */
  readonly publisherRoleArns: readonly string[];
}

interface QueueRule {
  readonly name: string;
  readonly eventPattern: object;
  readonly queue: sqs.Queue;
}

export class Events extends Construct {
  readonly bus: events.EventBus;
  readonly canaryQueue: sqs.Queue;
  /** What EventBridge could not hand to the target of a rule. */
  readonly undelivered: sqs.Queue;

  constructor(scope: Construct, { busName, archiveDays, publisherRoleArns }: EventsProps) {
    super(scope, 'Events');
    this.bus = new events.EventBus(this, 'Bus', { eventBusName: busName });
    this.bus.archive('Archive', {
      archiveName: busName,
      description: 'Every event of the bridge, to be replayed to a new consumer',
      eventPattern: { source: [EVENT_SOURCE] },
      retention: Duration.days(archiveDays),
    });
    this.guardSource(publisherRoleArns);
    this.registerSchemas(busName);
    this.undelivered = new sqs.Queue(this, 'Undelivered', {
      queueName: `${busName}-undelivered`,
      retentionPeriod: Duration.days(14),
      enforceSSL: true,
    });
    this.canaryQueue = this.addCanary(busName);
  }

  /** Events of this bus that fit, to the queue; those that it does not take, to the queue of undelivered ones. */
  ruleToQueue(scope: Construct, id: string, { name, eventPattern, queue }: QueueRule): void {
    const rule = new events.CfnRule(scope, id, {
      name,
      eventBusName: this.bus.eventBusName,
      eventPattern,
      targets: [{ id: 'queue', arn: queue.queueArn, deadLetterConfig: { arn: this.undelivered.queueArn } }],
    });
    for (const each of [queue, this.undelivered]) each.addToResourcePolicy(sendFromRule(each, rule.attrArn));
  }

  /** A forged failure would wake people: only the bridge's own roles speak as the bridge. */
  private guardSource(publisherRoleArns: readonly string[]): void {
    this.bus.addToResourcePolicy(
      new iam.PolicyStatement({
        sid: 'OnlyTheBridgeSpeaksAsTheBridge',
        effect: iam.Effect.DENY,
        principals: [new iam.StarPrincipal()],
        actions: ['events:PutEvents'],
        resources: [this.bus.eventBusArn],
        conditions: {
          StringEquals: { 'events:source': EVENT_SOURCE },
          ArnNotEquals: { 'aws:PrincipalArn': [...publisherRoleArns] },
        },
      }),
    );
  }

  /** From the same definitions as the events themselves: code bindings of consumers cannot drift. */
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

  /** An event of its own source through the same bus and a rule, to a queue that nobody has to read. */
  private addCanary(busName: string): sqs.Queue {
    const queue = new sqs.Queue(this, 'CanaryQueue', {
      queueName: `${busName}-canary`,
      retentionPeriod: Duration.minutes(15),
      enforceSSL: true,
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
      },
    });
    return queue;
  }
}

/** A queue takes from this rule and from nobody else. */
export function sendFromRule(queue: sqs.Queue, ruleArn: string): iam.PolicyStatement {
  return new iam.PolicyStatement({
    principals: [new iam.ServicePrincipal('events.amazonaws.com')],
    actions: ['sqs:SendMessage'],
    resources: [queue.queueArn],
    conditions: { ArnEquals: { 'aws:SourceArn': ruleArn } },
  });
}

/** The whole event around the detail, as the registry and its code bindings expect it. */
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
