/**
 * Finds what keeps a CloudFormation template from delivering: names that nothing defines, and targets of rules without
 * a permission, a dead-letter queue or a retry policy.
 */

export interface Template {
  readonly Parameters?: Readonly<Record<string, object>>;
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs?: Readonly<Record<string, object>>;
}

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

interface Target {
  readonly Arn: unknown;
  readonly RoleArn?: unknown;
  readonly DeadLetterConfig?: { readonly Arn: unknown };
  readonly RetryPolicy?: object;
}

export function deliveryFaults(template: Template): readonly string[] {
  const rules = Object.entries(template.Resources).filter(([, { Type }]) => Type === 'AWS::Events::Rule');
  return [
    ...(rules.length === 0 ? ['there is no rule'] : []),
    ...unresolved(template),
    ...rules.flatMap(([id, { Properties }]) =>
      ((Properties?.['Targets'] ?? []) as readonly Target[]).flatMap((target) =>
        targetFaults(template, `${id}.Arn`, target),
      ),
    ),
  ];
}

/** These return values are in the CloudFormation reference of their resource types. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  'AWS::SQS::Queue': ['Arn', 'QueueUrl', 'QueueName'],
  'AWS::Events::Rule': ['Arn'],
  'AWS::Events::Connection': ['Arn', 'SecretArn'],
  'AWS::Events::ApiDestination': ['Arn', 'ArnForPolicy'],
  'AWS::Lambda::Function': ['Arn'],
  'AWS::IAM::Role': ['Arn', 'RoleId'],
  'AWS::SNS::Topic': ['TopicArn', 'TopicName'],
};

function unresolved({ Parameters = {}, Resources, ...rest }: Template): readonly string[] {
  return namesIn([Resources, rest]).flatMap((name) => {
    const [id = '', attribute] = name.split('.');
    const isKnown =
      attribute === undefined
        ? id.startsWith('AWS::') || id in Parameters || id in Resources
        : (ATTRIBUTES[Resources[id]?.Type ?? '']?.includes(attribute) ?? false);
    return isKnown ? [] : [`${name} is defined nowhere`];
  });
}

/** Returns `Name` for a Ref or a variable of Fn::Sub, and `Name.Attribute` for Fn::GetAtt. */
function namesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const name = nameOf(value);
  if (name !== undefined) return [name];
  const sub: unknown = 'Fn::Sub' in value ? value['Fn::Sub'] : undefined;
  if (typeof sub === 'string') return [...sub.matchAll(/\$\{([^}]+)\}/g)].map((match) => match[1] ?? '');
  return Object.values(value).flatMap(namesIn);
}

function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ('Ref' in value) return String(value.Ref);
  if ('Fn::GetAtt' in value) return [value['Fn::GetAtt']].flat().join('.');
  return undefined;
}

function targetFaults(template: Template, ruleArn: string, target: Target): readonly string[] {
  const deadLetters = nameOf(target.DeadLetterConfig?.Arn);
  return [
    ...(target.RetryPolicy === undefined ? ['the target has no retry policy'] : []),
    ...(deadLetters === undefined ? ['the target has no dead-letter queue'] : []),
    ...(isPermitted(template, ruleArn, target) ? [] : ['the rule may not deliver to its target']),
    ...(deadLetters !== undefined && !allowsRule(template, 'sqs:SendMessage', { ruleArn, to: deadLetters })
      ? ['the rule may not send to the dead-letter queue']
      : []),
    ...(deadLetters !== undefined && !hasAlarm(template, deadLetters)
      ? ['nobody is told of the dead letters']
      : []),
  ];
}

function hasAlarm(template: Template, deadLetters: string): boolean {
  const queueName = deadLetters.replace(/\.Arn$/, '.QueueName');
  return resourcesOf(template, 'AWS::CloudWatch::Alarm').some(
    ({ Dimensions, AlarmName, AlarmActions }) =>
      nameOf((Dimensions as readonly { Value: unknown }[])[0]?.Value) === queueName &&
      /the-bus-|BusName\}-|operations-bridge-/.test(JSON.stringify(AlarmName)) &&
      /:sns:.*-alarms/.test(JSON.stringify(AlarmActions)),
  );
}

function isPermitted(template: Template, ruleArn: string, { Arn, RoleArn }: Target): boolean {
  const to = nameOf(Arn) ?? '';
  if (RoleArn !== undefined) return roleAllows(template, nameOf(RoleArn) ?? '', to);
  return (
    allowsRule(template, 'sqs:SendMessage', { ruleArn, to }) ||
    allowsRule(template, 'sns:Publish', { ruleArn, to }) ||
    resourcesOf(template, 'AWS::Lambda::Permission').some(
      (permission) =>
        nameOf(permission['FunctionName']) === to &&
        nameOf(permission['SourceArn']) === ruleArn &&
        permission['Principal'] === 'events.amazonaws.com',
    )
  );
}

function allowsRule(
  template: Template,
  action: string,
  { ruleArn, to }: { readonly ruleArn: string; readonly to: string },
): boolean {
  return statementsOf(template).some(
    ({ Effect, Principal, Action, Resource, Condition }) =>
      Effect === 'Allow' &&
      JSON.stringify(Principal) === '{"Service":"events.amazonaws.com"}' &&
      [Action].flat().includes(action) &&
      nameOf(Resource) === to &&
      nameOf((Condition as { ArnEquals?: Record<string, unknown> })?.ArnEquals?.['aws:SourceArn']) ===
        ruleArn,
  );
}

function roleAllows(template: Template, role: string, to: string): boolean {
  const [id = ''] = role.split('.');
  const trust = JSON.stringify(template.Resources[id]?.Properties?.['AssumeRolePolicyDocument'] ?? {});
  return (
    trust.includes('"Service":"events.amazonaws.com"') &&
    trust.includes('aws:SourceAccount') &&
    statementsOf(template).some(
      ({ Effect, Action, Resource }) =>
        Effect === 'Allow' &&
        ['events:PutEvents', 'events:InvokeApiDestination'].includes(String(Action)) &&
        nameOf(Resource) === to,
    )
  );
}

type Statement = Readonly<Record<string, unknown>>;

function statementsOf(template: Template): readonly Statement[] {
  const documents = (value: unknown): readonly Statement[] => {
    if (typeof value !== 'object' || value === null) return [];
    if ('Statement' in value) return value.Statement as readonly Statement[];
    return Object.values(value).flatMap(documents);
  };
  return Object.values(template.Resources).flatMap(({ Properties }) => documents(Properties));
}

function resourcesOf(template: Template, type: string): readonly Readonly<Record<string, unknown>>[] {
  return Object.values(template.Resources).flatMap(({ Type, Properties = {} }) =>
    Type === type ? [Properties] : [],
  );
}
