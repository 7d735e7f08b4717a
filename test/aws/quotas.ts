/** Lists quotas of AWS, each with its source, and measures a template against them. */

import { listOf } from './policies.ts';
import { type Resources, resolve } from './symbols.ts';

// biome-ignore lint/suspicious/noExplicitAny: properties of a resource
type Properties = any;

export interface Quota {
  readonly what: string;
  /** This AWS document states the quota. */
  readonly source: string;
  readonly most: number;
  sizes(template: SizedTemplate): readonly (readonly [of: string, size: number])[];
}

interface SizedTemplate {
  readonly resources: Resources;
  readonly template: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
}

/** No name of a region is longer; `ap-southeast-1` has 14 characters. */
const LONGEST_REGION = 'us-gov-southeast-1';

const characters = (value: unknown) => JSON.stringify(value).length;
const bytes = (value: unknown) =>
  Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));

export const quotas: readonly Quota[] = [
  {
    what: 'all variables of the environment of a function, bytes',
    source: 'AWS Lambda Developer Guide, "Lambda quotas"',
    most: 4_096,
    sizes: ({ resources }) =>
      of(resources, 'AWS::Lambda::Function', ({ Environment }) =>
        bytes(
          Object.fromEntries(
            Object.entries(Environment.Variables).map(([key, value]) => [key, resolve(resources, value)]),
          ),
        ),
      ),
  },
  {
    what: 'inline policies of a role together, characters',
    source: 'IAM User Guide, "IAM and AWS STS quotas"',
    most: 10_240,
    sizes: ({ resources }) =>
      of(resources, 'AWS::IAM::Role', (_role, id) =>
        resources
          .filter(([, { Type, Properties }]) => Type === 'AWS::IAM::Policy' && isOfRole(Properties, id))
          .reduce(
            (sum, [, { Properties }]) => sum + resolvedCharacters(resources, Properties.PolicyDocument),
            0,
          ),
      ),
  },
  {
    what: 'a managed policy, characters',
    source: 'IAM User Guide, "IAM and AWS STS quotas"',
    most: 6_144,
    sizes: ({ resources }) =>
      of(resources, 'AWS::IAM::ManagedPolicy', ({ PolicyDocument }) =>
        resolvedCharacters(resources, PolicyDocument),
      ),
  },
  {
    what: 'managed policies of a role',
    source: 'IAM User Guide, "IAM and AWS STS quotas"',
    most: 10,
    sizes: ({ resources }) =>
      of(
        resources,
        'AWS::IAM::Role',
        ({ ManagedPolicyArns }, id) =>
          listOf(ManagedPolicyArns).length +
          resources.filter(
            ([, { Type, Properties }]) => Type === 'AWS::IAM::ManagedPolicy' && isOfRole(Properties, id),
          ).length,
      ),
  },
  {
    what: 'the trust policy of a role, characters',
    source: 'IAM User Guide, "IAM and AWS STS quotas"',
    most: 2_048,
    sizes: ({ resources }) =>
      of(resources, 'AWS::IAM::Role', ({ AssumeRolePolicyDocument }) => characters(AssumeRolePolicyDocument)),
  },
  name('AWS::IAM::Role', 'RoleName', 64, 'IAM User Guide, "IAM and AWS STS quotas"'),
  name('AWS::Lambda::Function', 'FunctionName', 64, 'AWS Lambda API Reference, "CreateFunction"'),
  name('AWS::Scheduler::Schedule', 'Name', 64, 'EventBridge Scheduler API Reference, "CreateSchedule"'),
  name('AWS::Events::Rule', 'Name', 64, 'Amazon EventBridge API Reference, "PutRule"'),
  name('AWS::Events::EventBus', 'Name', 256, 'Amazon EventBridge API Reference, "CreateEventBus"'),
  name('AWS::Events::Archive', 'ArchiveName', 48, 'Amazon EventBridge API Reference, "CreateArchive"'),
  name('AWS::Events::Archive', 'Description', 512, 'Amazon EventBridge API Reference, "CreateArchive"'),
  name(
    'AWS::EventSchemas::Registry',
    'RegistryName',
    64,
    'EventBridge Schemas API Reference, "CreateRegistry"',
  ),
  name('AWS::EventSchemas::Schema', 'SchemaName', 385, 'EventBridge Schemas API Reference, "CreateSchema"'),
  name('AWS::EventSchemas::Schema', 'Content', 100_000, 'EventBridge Schemas API Reference, "CreateSchema"'),
  name('AWS::SQS::Queue', 'QueueName', 80, 'Amazon SQS Developer Guide, "Amazon SQS message quotas"'),
  name('AWS::SNS::Topic', 'TopicName', 256, 'Amazon SNS API Reference, "CreateTopic"'),
  name('AWS::DynamoDB::Table', 'TableName', 255, 'Amazon DynamoDB Developer Guide, "Quotas"'),
  name('AWS::ApiGatewayV2::Api', 'Name', 128, 'API Gateway V2 API Reference, "Apis"'),
  name('AWS::Logs::LogGroup', 'LogGroupName', 512, 'Amazon CloudWatch Logs API Reference, "CreateLogGroup"'),
  name('AWS::CloudWatch::Dashboard', 'DashboardName', 255, 'CloudWatch API Reference, "PutDashboard"'),
  name('AWS::CloudWatch::Alarm', 'AlarmName', 255, 'CloudWatch API Reference, "PutMetricAlarm"'),
  name('AWS::CloudWatch::Alarm', 'AlarmDescription', 1_024, 'CloudWatch API Reference, "PutMetricAlarm"'),
  {
    what: 'metrics of one widget of a dashboard',
    source: 'Amazon CloudWatch User Guide, "CloudWatch service quotas"',
    most: 500,
    sizes: ({ resources }) =>
      widgets(resources).map((widget, place) => [
        String(widget.properties.title ?? place),
        listOf(widget.properties.metrics).length,
      ]),
  },
  {
    what: 'metrics of a dashboard',
    source: 'Amazon CloudWatch User Guide, "CloudWatch service quotas"',
    most: 2_500,
    sizes: ({ resources }) => [
      [
        'dashboard',
        widgets(resources).reduce((sum, { properties }) => sum + listOf(properties.metrics).length, 0),
      ],
    ],
  },
  {
    what: 'the policy of a topic, bytes',
    source: 'Amazon SNS endpoints and quotas (AWS General Reference)',
    most: 30_720,
    sizes: ({ resources }) =>
      of(resources, 'AWS::SNS::TopicPolicy', ({ PolicyDocument }) =>
        resolvedCharacters(resources, PolicyDocument),
      ),
  },
  {
    what: 'the policy of a queue, bytes',
    source: 'Amazon SQS Developer Guide, "Amazon SQS policy quotas"',
    most: 8_192,
    sizes: ({ resources }) =>
      of(resources, 'AWS::SQS::QueuePolicy', ({ PolicyDocument }) =>
        resolvedCharacters(resources, PolicyDocument),
      ),
  },
  {
    what: 'statements in the policy of a queue',
    source: 'Amazon SQS Developer Guide, "Amazon SQS policy quotas"',
    most: 20,
    sizes: ({ resources }) =>
      of(resources, 'AWS::SQS::QueuePolicy', ({ PolicyDocument }) => PolicyDocument.Statement.length),
  },
  {
    what: 'the policy of a bus, characters',
    source: 'Amazon EventBridge User Guide, "Amazon EventBridge quotas"',
    most: 10_240,
    sizes: ({ resources }) =>
      of(resources, 'AWS::Events::EventBusPolicy', ({ Statement }) =>
        resolvedCharacters(resources, Statement),
      ),
  },
  {
    what: 'the pattern of a rule, characters',
    source: 'Amazon EventBridge User Guide, "Amazon EventBridge quotas"',
    most: 2_048,
    sizes: ({ resources }) =>
      of(resources, 'AWS::Events::Rule', ({ EventPattern }) => characters(EventPattern)),
  },
  {
    what: 'the input of a schedule, bytes',
    source: 'EventBridge Scheduler User Guide, "Quotas": the payload of an invocation',
    most: 262_144,
    sizes: ({ resources }) => of(resources, 'AWS::Scheduler::Schedule', ({ Target }) => bytes(Target.Input)),
  },
  {
    what: 'the policies of one function for its callers, bytes',
    source: 'AWS Lambda Developer Guide, "Lambda quotas": resource-based policy',
    most: 20_480,
    sizes: ({ resources }) => [
      [
        'all',
        resources
          .filter(([, { Type }]) => Type === 'AWS::Lambda::Permission')
          .reduce((sum, [, { Properties }]) => sum + characters(Properties) + 200, 0),
      ],
    ],
  },
  {
    what: 'tags of a resource',
    source: 'AWS General Reference, "Tagging your AWS resources"',
    most: 50,
    sizes: ({ resources }) =>
      resources.map(([id, { Properties }]) => [
        id,
        Array.isArray(Properties?.Tags) ? Properties.Tags.length : Object.keys(Properties?.Tags ?? {}).length,
      ]),
  },
  {
    what: 'the template, bytes',
    source: 'AWS CloudFormation User Guide, "Understand CloudFormation quotas": template in an S3 object',
    most: 1_048_576,
    sizes: ({ template }) => [['template', bytes(template)]],
  },
  section('Resources', 500),
  section('Outputs', 200),
  section('Parameters', 200),
  section('Mappings', 200),
  {
    what: 'the description of the stack, bytes',
    source: 'AWS CloudFormation User Guide, "Understand CloudFormation quotas"',
    most: 1_024,
    sizes: ({ template }) => [['description', bytes(template['Description'] ?? '')]],
  },
];

function section(what: string, most: number): Quota {
  return {
    what: `${what.toLowerCase()} of the template`,
    source: 'AWS CloudFormation User Guide, "Understand CloudFormation quotas"',
    most,
    sizes: ({ template }) => [[what, Object.keys(template[what] ?? {}).length]],
  };
}

function name(type: string, property: string, most: number, source: string): Quota {
  return {
    what: `${property} of ${type}, characters`,
    source,
    most,
    sizes: ({ resources }) =>
      of(resources, type, (properties) => {
        const value = properties[property];
        if (value === undefined) return 0;
        return withLongRegion(resources, value).length;
      }),
  };
}

function withLongRegion(resources: Resources, value: unknown): string {
  const text = resolve(resources, value);
  return JSON.stringify(value).includes('AWS::Region') ? text.replace('eu-central-1', LONGEST_REGION) : text;
}

function of(
  resources: Resources,
  type: string,
  size: (properties: Properties, id: string) => number,
): readonly (readonly [string, number])[] {
  const own = resources.filter(([, { Type }]) => Type === type);
  return own.map(([id, { Properties }]) => [id, size(Properties, id)] as const);
}

function isOfRole({ Roles }: Properties, id: string): boolean {
  return listOf(Roles).some((each) => (each as { Ref?: string }).Ref === id);
}

/**
 * Counts the characters of a policy after references are replaced, as CloudFormation does. IAM does not count blanks
 * between the parts.
 */
function resolvedCharacters(resources: Resources, document: unknown): number {
  const replaced = JSON.stringify(document, (_key, value: unknown) => {
    const isReference =
      typeof value === 'object' && value !== null && /^(Ref|Fn::)/.test(Object.keys(value)[0] ?? '');
    return isReference ? resolve(resources, value) : value;
  });
  return replaced.length;
}

function widgets(
  resources: Resources,
): readonly { readonly properties: { readonly title?: string; readonly metrics?: unknown } }[] {
  const [dashboard] = resources.filter(([, { Type }]) => Type === 'AWS::CloudWatch::Dashboard');
  if (dashboard === undefined) return [];
  const body = resolve(resources, dashboard[1].Properties.DashboardBody);
  return (JSON.parse(body) as { widgets: [] }).widgets;
}
