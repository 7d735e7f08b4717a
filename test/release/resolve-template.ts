/** Resolves the functions of a template that the release uses, as CloudFormation documents them ("Intrinsic function reference"). */

type Values = Readonly<Record<string, string>>;
type Conditions = Readonly<Record<string, unknown>>;

/** What `AWS::NoValue` stands for is left out of its list or object. */
const NO_VALUE = Symbol('AWS::NoValue');

/** References to resources stay as they are. */
export function resolved(part: unknown, values: Values, conditions: Conditions): unknown {
  const inside = (each: unknown) => resolved(each, values, conditions);
  if (Array.isArray(part)) return part.map(inside).filter((each) => each !== NO_VALUE);
  if (typeof part !== 'object' || part === null) return part;
  const [[name, value] = ['', undefined]] = Object.entries(part);
  if (name === 'Ref') return value === 'AWS::NoValue' ? NO_VALUE : (values[String(value)] ?? part);
  if (name === 'Fn::Sub') return substituted(String(value), values);
  if (name === 'Fn::If') {
    const [condition, then, otherwise] = value as [string, unknown, unknown];
    return inside(holds(conditions[condition], values) ? then : otherwise);
  }
  const fields = Object.entries(part).map(([key, each]) => [key, inside(each)] as const);
  return Object.fromEntries(fields.filter(([, each]) => each !== NO_VALUE));
}

function substituted(text: string, values: Values): string {
  return text
    .replaceAll(/\$\{([^!}]+)\}/g, (whole, name: string) => values[name] ?? whole)
    .replaceAll('${!', '${');
}

function holds(condition: unknown, values: Values): boolean {
  const { 'Fn::Not': not, 'Fn::Equals': equals } = condition as {
    readonly 'Fn::Not'?: readonly [unknown];
    readonly 'Fn::Equals'?: readonly [unknown, unknown];
  };
  if (not !== undefined) return !holds(not[0], values);
  const [first, second] = (equals ?? []).map((each) => resolved(each, values, {}));
  return first === second;
}
