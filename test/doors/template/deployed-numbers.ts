/** Reads from a template what decides how the deployed bridge behaves: one line for each alarm, queue, schedule, function and grant. */

import type { Resource } from '../../aws/stack-under-test.ts';
import { type Resources, resolve } from '../../aws/symbols.ts';

// biome-ignore lint/suspicious/noExplicitAny: templates are looked into freely
type Properties = any;

/** The resources of these types have lines. Every other type is held by other tests, or has nothing to decide. */
const LINES: Readonly<Record<string, (properties: Properties, names: Names) => readonly string[]>> = {
  'AWS::CloudWatch::Alarm': (each, { nameOf }) => [
    `alarm ${nameOf(each.AlarmName)}: ${metricOf(each, nameOf)} ${SIGNS[each.ComparisonOperator]} ${each.Threshold}, ` +
      `${each.DatapointsToAlarm ?? each.EvaluationPeriods} of ${each.EvaluationPeriods} periods, without data ${each.TreatMissingData}, ` +
      `tells ${nameOf(each.AlarmActions)}, and its end ${nameOf(each.OKActions)}`,
  ],
  'AWS::SQS::Queue': (each, { nameOf }) => [
    `queue ${nameOf(each.QueueName)}: hides for ${each.VisibilityTimeout ?? 30} s, keeps for ${each.MessageRetentionPeriod ?? 345_600} s` +
      (each.RedrivePolicy
        ? `, after ${each.RedrivePolicy.maxReceiveCount} receptions to ${nameOf(each.RedrivePolicy.deadLetterTargetArn)}`
        : '') +
      (each.FifoQueue ? `, FIFO by ${each.DeduplicationScope ?? 'queue'}` : ''),
  ],
  'AWS::Lambda::EventSourceMapping': (each, { nameOf }) => [
    `mapping ${nameOf(each.EventSourceArn)} -> ${nameOf(each.FunctionName)}: batches of ${each.BatchSize}, ` +
      `gathered for ${each.MaximumBatchingWindowInSeconds ?? 0} s, ${each.ScalingConfig?.MaximumConcurrency ?? 'any number'} at once, ` +
      `reports ${each.FunctionResponseTypes?.join() ?? 'nothing'}`,
  ],
  'AWS::Lambda::Function': (each, { nameOf }) => [
    `function ${nameOf(each.FunctionName)}: ${each.MemorySize} MB, ${each.Timeout} s, ` +
      `${each.ReservedConcurrentExecutions ?? 'none'} reserved, ${each.Environment.Variables.NODE_OPTIONS ?? 'no options of Node'}`,
  ],
  'AWS::Lambda::EventInvokeConfig': (each, { nameOf }) => [
    `invocations of ${nameOf(each.FunctionName)}: ${each.MaximumRetryAttempts} retries within ${each.MaximumEventAgeInSeconds} s, ` +
      `then to ${nameOf(each.DestinationConfig?.OnFailure.Destination)}`,
  ],
  'AWS::Scheduler::Schedule': ({ Name, ScheduleExpression, FlexibleTimeWindow, Target }, { nameOf }) => [
    `schedule ${nameOf(Name)}: ${ScheduleExpression} ${FlexibleTimeWindow.Mode} -> ${nameOf(Target.Arn)}, ${retriesOf(Target, nameOf)}`,
  ],
  'AWS::Events::Rule': ({ Name, Targets }, { nameOf }) =>
    Targets.map(
      (target: Properties) => `rule ${nameOf(Name)} -> ${nameOf(target.Arn)}: ${retriesOf(target, nameOf)}`,
    ),
  'AWS::Events::Archive': ({ ArchiveName, RetentionDays }, { nameOf }) => [
    `archive ${nameOf(ArchiveName)}: ${RetentionDays} days`,
  ],
  'AWS::Logs::LogGroup': ({ LogGroupName, RetentionInDays }) => [
    `log ${LogGroupName}: ${RetentionInDays} days`,
  ],
  'AWS::SecretsManager::Secret': ({ Name, GenerateSecretString: { PasswordLength } }) => [
    `secret ${Name}: ${PasswordLength} random characters`,
  ],
  'AWS::ApiGatewayV2::Stage': ({ DefaultRouteSettings: { ThrottlingRateLimit, ThrottlingBurstLimit } }) => [
    `front door: ${ThrottlingRateLimit} requests a second, ${ThrottlingBurstLimit} at once`,
  ],
  'AWS::IAM::Policy': grantLines,
  'AWS::IAM::ManagedPolicy': grantLines,
};

interface Names {
  /** Returns the physical names of what a value refers to, without the name of the bridge. */
  readonly nameOf: (value: unknown) => string;
}

/** Returns the lines in the order of their texts. */
export function deployedNumbers(resources: Resources): readonly string[] {
  const names = { nameOf: (value: unknown) => nameIn(resources, value) };
  return resources.flatMap(([, { Type, Properties }]) => LINES[Type]?.(Properties, names) ?? []).toSorted();
}

const SIGNS: Readonly<Record<string, string>> = {
  GreaterThanThreshold: '>',
  GreaterThanOrEqualToThreshold: '>=',
  LessThanThreshold: '<',
  LessThanOrEqualToThreshold: '<=',
};

function metricOf(alarm: Properties, nameOf: Names['nameOf']): string {
  if (alarm.Metrics === undefined) return `${oneMetric(alarm, nameOf)} of ${alarm.Period} s`;
  return alarm.Metrics.map(({ Expression, Id, MetricStat }: Properties) =>
    Expression === undefined
      ? `${Id} is ${oneMetric({ ...MetricStat.Metric, Statistic: MetricStat.Stat }, nameOf)} of ${MetricStat.Period} s`
      : `(${Expression})`,
  ).join(', ');
}

function oneMetric(metric: Properties, nameOf: Names['nameOf']): string {
  const { Namespace, MetricName, Statistic, ExtendedStatistic, Dimensions = [] } = metric;
  const dimensions = Dimensions.map(({ Name, Value }: Properties) => `${Name}=${nameOf(Value)}`).join(' ');
  return `${Statistic ?? ExtendedStatistic} ${Namespace} ${MetricName} [${dimensions}]`;
}

function retriesOf({ RetryPolicy = {}, DeadLetterConfig }: Properties, nameOf: Names['nameOf']): string {
  const { MaximumRetryAttempts = 185, MaximumEventAgeInSeconds = 86_400 } = RetryPolicy;
  return `${MaximumRetryAttempts} retries within ${MaximumEventAgeInSeconds} s, then to ${nameOf(DeadLetterConfig?.Arn)}`;
}

/** The attributes of a grant are left out: `test/aws/stack.test.ts` compares them with the access lists of the functions. */
function grantLines({ Roles, PolicyDocument }: Properties, { nameOf }: Names): readonly string[] {
  return PolicyDocument.Statement.map(({ Sid, Effect, Action, Resource, Condition = {} }: Properties) => {
    const conditions = Object.entries<Record<string, unknown>>(Condition).flatMap(([operator, keys]) =>
      Object.entries(keys).map(([key, value]) =>
        key === 'dynamodb:Attributes' ? `${operator} ${key}` : `${operator} ${key}: ${nameOf(value)}`,
      ),
    );
    const what = `${[Action].flat().join(' ')} on ${nameOf(Resource)}`;
    const where = conditions.length === 0 ? '' : `, if ${conditions.join(', ')}`;
    return `grant ${nameOf(Roles)} ${Sid ?? '-'}: ${Effect} ${what}${where}`;
  });
}

function nameIn(resources: Resources, value: unknown): string {
  if (value === undefined) return 'nowhere';
  if (Array.isArray(value)) return value.map((each) => nameIn(resources, each)).join(' ');
  const { Ref, 'Fn::GetAtt': attribute } = Object(value) as {
    readonly Ref?: string;
    readonly 'Fn::GetAtt'?: readonly [string, string];
  };
  const id = Ref ?? attribute?.[0];
  const found = resources.find(([name]) => name === id)?.[1];
  return withoutPrefix(
    found === undefined ? resolve(resources, value) : physicalName(id ?? '', found, resources),
  );
}

/** A resource without a name of its own gets one from its logical id, less the part that the CDK adds. */
function physicalName(id: string, { Properties = {} }: Resource, resources: Resources): string {
  const property = Object.keys(Properties).find((key) =>
    /^(?!Log|Attribute|Key|Space|Index)\w*Name$|^Name$/.test(key),
  );
  const name: unknown = Properties[property ?? ''];
  if (name === undefined) return id.replace(/[0-9A-F]{8}$/, '');
  return withoutPrefix(resolve(resources, name)).replace(/-eu-central-1$/, '');
}

function withoutPrefix(name: string): string {
  return name
    .replace(/arn:aws:(\w+):(eu-central-1)?:(123456789012)?:/g, '$1:')
    .replace(/\boperations-bridge-(?=\w)/g, '');
}
