/**
 * Forwards the events of a bridge to a Custom Event Bus of AWS, which keeps them, and subscribes a queue to it from a point
 * in the past. docs/deploy/custom-event-bus.md explains it. Deploy it in the account and region of the bridge:
 * `npx cdk deploy --app "node docs/examples/custom-event-bus.ts"`.
 */

import { App, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { CfnRule } from 'aws-cdk-lib/aws-events';
import { CfnEventBus, CfnSubscriber } from 'aws-cdk-lib/aws-eventsv2';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';

const app = new App();
const stack = new Stack(app, 'operations-bridge-custom-event-bus');

// The name of the bus in bridge.config.ts, and how long the new bus keeps each event, in days (1 to 365).
const [BRIDGE_BUS, KEPT_DAYS] = ['operations-bridge', 30];

const bus = new CfnEventBus(stack, 'Bus', {
  name: 'operations-bridge-kept',
  storageConfiguration: { retentionPeriodInDays: KEPT_DAYS },
});

// A rule of the bridge's bus forwards every event of the bridge, and no test event.
const forwarding = new Role(stack, 'Forwarding', { assumedBy: new ServicePrincipal('events.amazonaws.com') });
forwarding.addToPolicy(new PolicyStatement({ actions: ['events:PutEvents'], resources: [bus.ref] }));
const notForwarded = new Queue(stack, 'NotForwarded', {
  encryption: QueueEncryption.SQS_MANAGED,
  enforceSSL: true,
  retentionPeriod: Duration.days(14),
});
const rule = new CfnRule(stack, 'Forward', {
  eventBusName: BRIDGE_BUS,
  eventPattern: { source: ['operations-bridge'] },
  targets: [
    {
      id: 'custom-event-bus',
      arn: bus.ref,
      roleArn: forwarding.roleArn,
      deadLetterConfig: { arn: notForwarded.queueArn },
    },
  ],
});
notForwarded.addToResourcePolicy(
  new PolicyStatement({
    actions: ['sqs:SendMessage'],
    principals: [new ServicePrincipal('events.amazonaws.com')],
    resources: [notForwarded.queueArn],
    conditions: { ArnEquals: { 'aws:SourceArn': rule.attrArn } },
  }),
);

// A subscriber belongs to the team that needs the events: its queue, its role, and the moment at which it begins.
const events = new Queue(stack, 'Events', { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true });
const undelivered = new Queue(stack, 'Undelivered', {
  encryption: QueueEncryption.SQS_MANAGED,
  enforceSSL: true,
  retentionPeriod: Duration.days(14),
});
const delivering = new Role(stack, 'Delivering', { assumedBy: new ServicePrincipal('events.amazonaws.com') });
events.grantSendMessages(delivering);
undelivered.grantSendMessages(delivering);
new CfnSubscriber(stack, 'Subscriber', {
  name: 'failed-operations',
  eventBusArn: bus.ref,
  filterConfiguration: {
    filters: [
      {
        scope: 'DATA',
        pattern: JSON.stringify({
          'detail-type': ['Operation State Changed'],
          detail: { new_failures: [{ numeric: ['>', 0] }] },
        }),
      },
    ],
  },
  // HORIZON is the oldest event that the bus has; `pointType: 'TIMESTAMP'` takes `startingPoint` in seconds.
  startingPosition: 'POINT_IN_TIME',
  pointInTimeConfiguration: { pointType: 'HORIZON' },
  invokeConfiguration: { targetArn: events.queueArn, roleArn: delivering.roleArn },
  retryPolicy: { maxEventAgeInSeconds: 86_400, maxRetryAttempts: 185 },
  onFailureConfiguration: { arn: undelivered.queueArn },
});

new CfnOutput(stack, 'EventsQueueUrl', { value: events.queueUrl });
app.synth();
