/** Values of a template as the text that AWS would have for them: references become ARNs and names of one account and region. */

import type { Resource } from './stack-under-test.ts';

export const REGION = 'eu-central-1';
export const ACCOUNT = '123456789012';

export type Resources = readonly (readonly [id: string, resource: Resource])[];

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::Region': REGION,
  'AWS::AccountId': ACCOUNT,
  'AWS::Partition': 'aws',
  'AWS::URLSuffix': 'amazonaws.com',
};

/** Where a service puts the name into its ARNs. */
const ARN_FORMS: Readonly<Record<string, (id: string, resource: Resource) => string>> = {
  'AWS::SNS::Topic': (id, { Properties }) => arn('sns', Properties?.TopicName ?? id),
  'AWS::SQS::Queue': (id, { Properties }) => arn('sqs', Properties?.QueueName ?? id),
  'AWS::Lambda::Function': (id, { Properties }) =>
    arn('lambda', `function:${Properties?.FunctionName ?? id}`),
  'AWS::DynamoDB::Table': (id, { Properties }) => arn('dynamodb', `table/${Properties?.TableName ?? id}`),
  'AWS::Events::EventBus': (_id, { Properties }) => arn('events', `event-bus/${Properties?.Name}`),
  'AWS::Events::Rule': (id, { Properties }) =>
    arn('events', `rule/${resolvedName(Properties?.EventBusName)}/${Properties?.Name ?? id}`),
  'AWS::CloudWatch::Alarm': (_id, { Properties }) => arn('cloudwatch', `alarm:${Properties?.AlarmName}`),
  'AWS::Logs::LogGroup': (_id, { Properties }) => `${arn('logs', `log-group:${Properties?.LogGroupName}`)}:*`,
};

/** Those of which `Ref` gives the ARN; of all others it gives a name. */
const REF_IS_ARN: ReadonlySet<string> = new Set(['AWS::SNS::Topic']);

export function arn(service: string, rest: string): string {
  return `arn:aws:${service}:${REGION}:${ACCOUNT}:${rest}`;
}

export function arnOf(resources: Resources, id: string): string {
  const found = resources.find(([name]) => name === id)?.[1];
  const form = found && ARN_FORMS[found.Type];
  return found === undefined || form === undefined ? `arn-of:${id}` : form(id, found);
}

/** Texts, references, attributes and joins; everything else stays as JSON. */
export function resolve(resources: Resources, value: unknown): string {
  if (typeof value === 'string') return value;
  const {
    Ref,
    'Fn::GetAtt': attribute,
    'Fn::Join': join,
  } = (value ?? {}) as {
    readonly Ref?: string;
    readonly 'Fn::GetAtt'?: readonly [string, string];
    readonly 'Fn::Join'?: readonly [string, readonly unknown[]];
  };
  if (Ref !== undefined) return PSEUDO[Ref] ?? refOf(resources, Ref);
  if (attribute !== undefined)
    return attribute[1] === 'Arn' || attribute[1] === 'TopicArn'
      ? arnOf(resources, attribute[0])
      : `${attribute[0]}.${attribute[1]}`;
  if (join !== undefined) return join[1].map((part) => resolve(resources, part)).join(join[0]);
  return JSON.stringify(value);
}

function refOf(resources: Resources, id: string): string {
  const found = resources.find(([name]) => name === id)?.[1];
  return found !== undefined && REF_IS_ARN.has(found.Type) ? arnOf(resources, id) : id;
}

function resolvedName(value: unknown): string {
  return typeof value === 'string' ? value : ((value as { Ref?: string } | undefined)?.Ref ?? 'default');
}
