/** Writes a CloudFormation template as YAML, with the short forms of its functions. */

export type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value };

export type Members = Readonly<Record<string, Value>>;

/** Returns lines without an indent and without a line break at the end. */
export function toYaml(members: Members): string {
  return linesOf(members).join('\n');
}

function linesOf(members: Members): readonly string[] {
  return Object.entries(members).flatMap(([key, value]) => {
    const flow = flowOf(value);
    if (flow !== undefined) return [`${scalar(key)}: ${flow}`];
    const lines = isList(value) ? value.flatMap(itemOf) : linesOf(value as Members);
    return [`${scalar(key)}:`, ...lines.map((line) => `  ${line}`)];
  });
}

/** The first line of an item stands behind the dash, the others below it. */
function itemOf(item: Value): readonly string[] {
  const flow = flowOf(item);
  if (flow !== undefined) return [`- ${flow}`];
  const lines = isList(item) ? item.flatMap(itemOf) : linesOf(item as Members);
  return lines.map((line, index) => `${index === 0 ? '- ' : '  '}${line}`);
}

/** Returns undefined for a value that needs lines of its own. */
function flowOf(value: Value): string | undefined {
  if (typeof value === 'string') return scalar(value);
  if (typeof value !== 'object') return String(value);
  if (!isList(value)) return functionOf(value) ?? (Object.keys(value).length === 0 ? '{}' : undefined);
  const isShort = value.every((item) => typeof item !== 'object');
  return isShort ? `[${value.map(flowOf).join(', ')}]` : undefined;
}

function functionOf(value: Members): string | undefined {
  const [[name, argument] = [], ...others] = Object.entries(value);
  if (others.length > 0 || argument === undefined) return undefined;
  if (name === 'Ref' && typeof argument === 'string') return `!Ref ${argument}`;
  if (name === 'Fn::GetAtt' && isList(argument)) return `!GetAtt ${argument.map(String).join('.')}`;
  if (name === 'Fn::Sub' && typeof argument === 'string') return `!Sub ${scalar(argument)}`;
  return undefined;
}

/** Quotes every text that YAML 1.1 or 1.2 could read as something else than this text. */
function scalar(text: string): string {
  if (/[^ -~]/.test(text)) return JSON.stringify(text);
  const isWord = /^[a-z$][\w.$/:-]*(?: [\w.$/:-]+)*$/i.test(text) && !/:(?: |$)/.test(text);
  // Some readers of YAML 1.1 take `e0` and `e-0` for numbers.
  const isKeyword = /^(?:true|false|yes|no|on|off|null|y|n|e[-+]?\d+)$/i.test(text);
  return isWord && !isKeyword ? text : `'${text.replaceAll("'", "''")}'`;
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}
