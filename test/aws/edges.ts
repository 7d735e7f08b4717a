/**
 * Finds every edge of a template over which something is delivered or called, and what it lacks: alarm to topic to
 * subscriber, rule to target and to dead-letter queue, schedule to role to function and to dead-letter queue, function to
 * failure queue, queue to function, route to function, and front door to access log.
 */

import { type AwsCall, isAllowed, listOf, type Statement } from './policies.ts';
import type { Resource } from './stack-under-test.ts';
import { ACCOUNT, arn, arnOf, type Resources, resolve } from './symbols.ts';

// biome-ignore lint/suspicious/noExplicitAny: properties of a resource
type Properties = any;

/** `broken` has one sentence per fault of an edge; `found` counts the edges of each kind. */
export function checkEdges(resources: Resources): {
  readonly broken: readonly string[];
  readonly found: Readonly<Record<string, number>>;
} {
  const graph = graphOf(resources);
  const kinds = {
    'AWS::CloudWatch::Alarm': alarmFaults,
    'AWS::Events::Rule': ruleFaults,
    'AWS::Scheduler::Schedule': scheduleFaults,
    'AWS::Lambda::EventInvokeConfig': failureFaults,
    'AWS::Lambda::EventSourceMapping': sourceFaults,
    'AWS::SQS::Queue': redriveFaults,
    'AWS::ApiGatewayV2::Integration': integrationFaults,
    'AWS::ApiGatewayV2::Stage': accessLogFaults,
    'AWS::Lambda::Function': logFaults,
  } as const;
  const counted = Object.entries(kinds).map(([type, faultsOf]) => {
    const own = resources.filter(([, { Type }]) => Type === type);
    return {
      type,
      count: own.length,
      broken: own.flatMap(([id, resource]) =>
        faultsOf(graph, id, resource).map((fault) => `${id}: ${fault}`),
      ),
    };
  });
  return {
    broken: counted.flatMap(({ broken }) => broken),
    found: Object.fromEntries(counted.map(({ type, count }) => [type, count])),
  };
}

type Graph = ReturnType<typeof graphOf>;

function graphOf(resources: Resources) {
  const text = (value: unknown) => resolve(resources, value);
  const ofType = (type: string) => resources.filter(([, { Type }]) => Type === type);
  const byArn = (target: string) => resources.find(([id]) => arnOf(resources, id) === target);
  /** Collects the statements of all policies that name a queue or a topic. */
  const resourcePolicy = (id: string, type: string, list: string): readonly Statement[] =>
    ofType(type)
      .filter(([, { Properties }]) => listOf(Properties[list]).some((each) => refIn(each) === id))
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[]);
  const rolePolicies = (roleId: string): readonly Statement[] =>
    [...ofType('AWS::IAM::Policy'), ...ofType('AWS::IAM::ManagedPolicy')]
      .filter(([, { Properties }]) => listOf(Properties.Roles).some((each) => refIn(each) === roleId))
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[]);
  return {
    resources,
    text,
    ofType,
    byArn,
    mayCall: (statements: readonly Statement[], call: AwsCall) => isAllowed(resources, statements, call),
    queuePolicy: (id: string) => resourcePolicy(id, 'AWS::SQS::QueuePolicy', 'Queues'),
    topicPolicy: (id: string) => resourcePolicy(id, 'AWS::SNS::TopicPolicy', 'Topics'),
    rolePolicies,
  };
}

/** Subscriptions of other stacks name the topic that the bridge's own stack has. */
const ALARMS_OF_THE_BRIDGE = /^arn:aws:sns:[\w-]+:\d{12}:operations-bridge-alarms$/;

function alarmFaults(graph: Graph, id: string, { Properties: alarm }: Resource): readonly string[] {
  const actions = [...listOf(alarm.AlarmActions), ...listOf(alarm.OKActions)].map(graph.text);
  if (listOf(alarm.AlarmActions).length === 0) return ['has no action'];
  return actions.flatMap((action) => {
    const topic = graph.byArn(action);
    if (topic === undefined && ALARMS_OF_THE_BRIDGE.test(action)) return [];
    if (topic?.[1].Type !== 'AWS::SNS::Topic') return [`its action ${action} is not a topic of this stack`];
    const call = {
      service: 'cloudwatch.amazonaws.com',
      action: 'sns:Publish',
      resource: action,
      context: {
        'aws:sourceaccount': ACCOUNT,
        'aws:sourcearn': arnOf(graph.resources, id),
        'aws:securetransport': 'true',
      },
    };
    const subscribers = graph
      .ofType('AWS::SNS::Subscription')
      .filter(([, { Properties }]) => graph.text(Properties.TopicArn) === action);
    return [
      ...(graph.mayCall(graph.topicPolicy(topic[0]), call)
        ? []
        : [`CloudWatch is not allowed to publish to ${topic[0]}`]),
      ...(subscribers.length > 0 ? [] : [`${topic[0]} has no subscriber`]),
    ];
  });
}

function ruleFaults(graph: Graph, id: string, { Properties: rule }: Resource): readonly string[] {
  const source = arnOf(graph.resources, id);
  return listOf(rule.Targets).flatMap((target: Properties) => [
    ...deliveryFaults(graph, source, { arnOfTarget: graph.text(target.Arn), role: target.RoleArn }),
    ...(target.DeadLetterConfig === undefined
      ? ['a target has no dead-letter queue']
      : deliveryFaults(graph, source, { arnOfTarget: graph.text(target.DeadLetterConfig.Arn) })),
  ]);
}

/** EventBridge delivers to queues by their policy, to functions by a permission, and to other buses by a role. */
function deliveryFaults(
  graph: Graph,
  source: string,
  { arnOfTarget, role }: { readonly arnOfTarget: string; readonly role?: unknown },
): readonly string[] {
  const target = graph.byArn(arnOfTarget);
  const context = { 'aws:sourcearn': source, 'aws:sourceaccount': ACCOUNT, 'aws:securetransport': 'true' };
  if (target?.[1].Type === 'AWS::SQS::Queue') {
    const call = {
      service: 'events.amazonaws.com',
      action: 'sqs:SendMessage',
      resource: arnOfTarget,
      context,
    };
    return graph.mayCall(graph.queuePolicy(target[0]), call)
      ? []
      : [`EventBridge is not allowed to send to ${target[0]}`];
  }
  if (target?.[1].Type === 'AWS::Lambda::Function')
    return mayInvoke(graph, arnOfTarget, source) ? [] : [`EventBridge is not allowed to call ${target[0]}`];
  // The target is a bus of another account: that account's stack holds the policy, and ours only names the role.
  if (role !== undefined) return [];
  return [`the target ${arnOfTarget} is not a queue of this stack and has no role`];
}

/** A function's own permission says which rule may call it (EventBridge User Guide, "Resource-based policies"). */
function mayInvoke(graph: Graph, functionArn: string, ruleArn: string): boolean {
  return graph
    .ofType('AWS::Lambda::Permission')
    .some(
      ([, { Properties }]) =>
        graph.text(Properties.FunctionName) === functionArn &&
        Properties.Principal === 'events.amazonaws.com' &&
        Properties.Action === 'lambda:InvokeFunction' &&
        graph.text(Properties.SourceArn) === ruleArn,
    );
}

function scheduleFaults(graph: Graph, _id: string, { Properties: schedule }: Resource): readonly string[] {
  const { Target: target } = schedule;
  const role =
    graph.byArn(graph.text(target.RoleArn)) ??
    graph.resources.find(([name]) => graph.text(target.RoleArn) === `arn-of:${name}`);
  if (role === undefined) return ['has no role of this stack'];
  const trust = role[1].Properties.AssumeRolePolicyDocument.Statement as Statement[];
  const assume = {
    service: 'scheduler.amazonaws.com',
    action: 'sts:AssumeRole',
    resource: '',
    context: { 'aws:sourceaccount': ACCOUNT },
  };
  return [
    ...(graph.mayCall(trust, assume) ? [] : [`the scheduler is not allowed to assume the role ${role[0]}`]),
    ...(graph.mayCall(graph.rolePolicies(role[0]), scheduledCall(graph, target))
      ? []
      : [`the role ${role[0]} is not allowed to call the target`]),
    ...undeliveredFaults(graph, target, role[0]),
    ...failedInvocationFaults(graph, graph.text(target.Arn)),
  ];
}

/** A schedule does not wait for the function that it invokes, so only the function's own settings say where a failure goes. */
function failedInvocationFaults(graph: Graph, target: string): readonly string[] {
  const fn = graph.byArn(target);
  if (fn?.[1].Type !== 'AWS::Lambda::Function') return [];
  const isSet = graph
    .ofType('AWS::Lambda::EventInvokeConfig')
    .some(([, { Properties }]) => refIn(Properties.FunctionName) === fn[0]);
  return isSet ? [] : [`a failed invocation of ${fn[0]} goes to no queue, and is repeated for hours`];
}

/**
 * Names the faults of a schedule's dead-letter queue, to which the role of the schedule sends (EventBridge Scheduler
 * User Guide, "Configuring a dead-letter queue").
 */
function undeliveredFaults(graph: Graph, target: Properties, roleId: string): readonly string[] {
  const queue = graph.byArn(graph.text(target.DeadLetterConfig?.Arn));
  if (queue?.[1].Type !== 'AWS::SQS::Queue') return ['has no dead-letter queue of this stack'];
  const call = { action: 'sqs:SendMessage', resource: arnOf(graph.resources, queue[0]) };
  return graph.mayCall(graph.rolePolicies(roleId), call)
    ? []
    : [`the role ${roleId} is not allowed to send to ${queue[0]}`];
}

function scheduledCall(graph: Graph, target: Properties): AwsCall {
  const called = graph.text(target.Arn);
  if (!called.endsWith(':aws-sdk:eventbridge:putEvents'))
    return { action: 'lambda:InvokeFunction', resource: called };
  const [entry] = JSON.parse(target.Input).Entries as { EventBusName: string; Source: string }[];
  const bus = arn('events', `event-bus/${entry?.EventBusName}`);
  return { action: 'events:PutEvents', resource: bus, context: { 'events:source': entry?.Source ?? '' } };
}

function failureFaults(graph: Graph, _id: string, { Properties: settings }: Resource): readonly string[] {
  const { FunctionName: fn, DestinationConfig } = settings;
  const queue = graph.byArn(graph.text(DestinationConfig?.OnFailure?.Destination));
  if (queue?.[1].Type !== 'AWS::SQS::Queue') return ['failures go to no queue of this stack'];
  const call = { action: 'sqs:SendMessage', resource: arnOf(graph.resources, queue[0]) };
  return graph.mayCall(policiesOfFunction(graph, fn), call)
    ? []
    : [`the function is not allowed to send to ${queue[0]}`];
}

function sourceFaults(graph: Graph, _id: string, { Properties: mapping }: Resource): readonly string[] {
  const queue = graph.byArn(graph.text(mapping.EventSourceArn));
  if (queue === undefined) return ['its queue is not of this stack'];
  const fn = graph.resources.find(([id]) => id === refIn(mapping.FunctionName))?.[1];
  const actions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
  const denied = actions.filter(
    (action) =>
      !graph.mayCall(policiesOfFunction(graph, mapping.FunctionName), {
        action,
        resource: arnOf(graph.resources, queue[0]),
      }),
  );
  // The queue must hide a message for six times the function's time-out (Lambda Developer Guide, "Using Lambda with
  // Amazon SQS"). A hidden message of a FIFO queue holds its whole group, so there the time-out itself is enough.
  const times = queue[1].Properties.FifoQueue === true ? 1 : 6;
  const isTooShort = (queue[1].Properties.VisibilityTimeout ?? 30) < times * (fn?.Properties.Timeout ?? 3);
  return [
    ...denied.map((action) => `the function is not allowed to ${action} of ${queue[0]}`),
    ...(isTooShort ? [`${queue[0]} shows a message again before the function's time is over`] : []),
  ];
}

function redriveFaults(graph: Graph, _id: string, resource: Resource): readonly string[] {
  const redrive = resource.Properties?.RedrivePolicy;
  if (redrive === undefined) return [];
  const target = graph.byArn(graph.text(redrive.deadLetterTargetArn));
  return target?.[1].Type === 'AWS::SQS::Queue' ? [] : ['its dead-letter queue is not of this stack'];
}

function integrationFaults(
  graph: Graph,
  id: string,
  { Properties: integration }: Resource,
): readonly string[] {
  const target = graph.byArn(graph.text(integration.IntegrationUri));
  if (target === undefined) return ['calls no function of this stack'];
  const routes = graph
    .ofType('AWS::ApiGatewayV2::Route')
    .filter(([, { Properties }]) => graph.text(Properties.Target) === `integrations/${id}`);
  const permissions = graph
    .ofType('AWS::Lambda::Permission')
    .filter(([, { Properties }]) => graph.text(Properties.FunctionName) === arnOf(graph.resources, target[0]))
    .filter(
      ([, { Properties }]) =>
        Properties.Principal === 'apigateway.amazonaws.com' && Properties.Action === 'lambda:InvokeFunction',
    )
    .map(([, { Properties }]) => graph.text(Properties.SourceArn));
  const pathOf = (key: string) => `/*/*${key.slice(key.indexOf(' ') + 1)}`;
  return routes
    .map(([, { Properties }]) => Properties.RouteKey as string)
    .filter(
      (key) =>
        !permissions.some(
          (source) => source.endsWith(pathOf(key)) || source.endsWith(pathOf(key).replace('/*/*', '/*/GET')),
        ),
    )
    .map((key) => `API Gateway is not allowed to call the function for ${key}`);
}

/**
 * Names the faults of access logs. The service that delivers them is named in a policy of Logs (CloudWatch Logs User
 * Guide, "Logs sent to CloudWatch Logs").
 */
function accessLogFaults(graph: Graph, _id: string, { Properties: stage }: Resource): readonly string[] {
  const destination = graph.text(stage.AccessLogSettings?.DestinationArn);
  const group = graph.byArn(destination);
  if (group?.[1].Type !== 'AWS::Logs::LogGroup') return ['has no access log of this stack'];
  const statements = graph
    .ofType('AWS::Logs::ResourcePolicy')
    .flatMap(
      ([, { Properties }]) =>
        JSON.parse(graph.text(Properties.PolicyDocument)).Statement as readonly Statement[],
    );
  const context = { 'aws:sourceaccount': ACCOUNT, 'aws:sourcearn': arn('logs', '*') };
  return ['logs:CreateLogStream', 'logs:PutLogEvents']
    .filter((action) => {
      const resource = `${arnOf(graph.resources, group[0]).replace(/:\*$/, '')}:log-stream:a-stream`;
      return !graph.mayCall(statements, {
        service: 'delivery.logs.amazonaws.com',
        action,
        resource,
        context,
      });
    })
    .map((action) => `the delivery of logs is not allowed to ${action} of ${group[0]}`);
}

function logFaults(graph: Graph, _id: string, { Properties: fn }: Resource): readonly string[] {
  const group = graph.resources.find(([id]) => id === refIn(fn.LoggingConfig?.LogGroup));
  if (group === undefined) return ['has no log group of this stack'];
  const statements = graph.rolePolicies(String(refIn(fn.Role)));
  return ['logs:CreateLogStream', 'logs:PutLogEvents']
    .filter((action) => !graph.mayCall(statements, { action, resource: arnOf(graph.resources, group[0]) }))
    .map((action) => `is not allowed to ${action}`);
}

function policiesOfFunction(graph: Graph, fn: unknown): readonly Statement[] {
  const found = graph.resources.find(([id]) => id === refIn(fn))?.[1];
  return graph.rolePolicies(String(refIn(found?.Properties.Role)));
}

function refIn(value: unknown): string | undefined {
  const { Ref, 'Fn::GetAtt': attribute } = (value ?? {}) as {
    readonly Ref?: string;
    readonly 'Fn::GetAtt'?: readonly string[];
  };
  return Ref ?? attribute?.[0];
}
