/** Writes Terraform's configuration language in the form that `terraform fmt` gives it. */

/** Stands for something that Terraform evaluates, such as `aws_sqs_queue.failures.arn`. */
export interface Expression {
  readonly expression: string;
}

export type HclValue =
  | string
  | number
  | boolean
  | Expression
  | readonly HclValue[]
  | { readonly [key: string]: HclValue };

export interface Block {
  /** The type and the labels, as `resource "aws_sqs_queue" "failures"`. */
  readonly head: string;
  readonly attributes: Readonly<Record<string, HclValue>>;
  readonly blocks?: readonly Block[];
  readonly comment?: string;
}

export function expression(text: string): Expression {
  return { expression: text };
}

export function jsonencode(value: HclValue): Expression {
  return { expression: `jsonencode(${valueText(value)})` };
}

/** Returns the block without a line break at its end. */
export function toHcl({ head, attributes, blocks = [], comment }: Block): string {
  const inner = [attributesText(attributes), ...blocks.map(toHcl)].filter((text) => text !== '');
  const body = inner.length === 0 ? '{}' : `{\n${indented(inner.join('\n\n'))}\n}`;
  return `${comment === undefined ? '' : `# ${comment}\n`}${head} ${body}`;
}

/** The equals signs of neighbouring lines stand below each other; a value of several lines separates neighbours. */
function attributesText(attributes: Readonly<Record<string, HclValue>>): string {
  const entries = Object.entries(attributes).map(([key, value]) => ({
    key: keyText(key),
    text: valueText(value),
  }));
  const isLong = (index: number) => entries[index]?.text.includes('\n') ?? true;
  const widthAt = (index: number) => {
    let [from, to] = [index, index];
    while (!isLong(from - 1)) from -= 1;
    while (!isLong(to + 1)) to += 1;
    return Math.max(...entries.slice(from, to + 1).map(({ key }) => key.length));
  };
  return entries
    .map(({ key, text }, index) => `${isLong(index) ? key : key.padEnd(widthAt(index))} = ${text}`)
    .join('\n');
}

function valueText(value: HclValue): string {
  if (typeof value === 'string') return stringText(value);
  if (typeof value !== 'object') return String(value);
  if (isList(value)) return listText(value);
  if (isExpression(value)) return value.expression;
  const entries = Object.entries(value);
  if (entries.length === 0) return '{}';
  const text = attributesText(value);
  return entries.length === 1 && !text.includes('\n') ? `{ ${text} }` : `{\n${indented(text)}\n}`;
}

/** A longer list has one value on each line. */
const LINE_CHARACTERS_MAX = 90;

function listText(values: readonly HclValue[]): string {
  const texts = values.map(valueText);
  const line = `[${texts.join(', ')}]`;
  if (texts.length === 1 || (!line.includes('\n') && line.length <= LINE_CHARACTERS_MAX)) return line;
  return `[\n${indented(texts.map((text) => `${text},`).join('\n'))}\n]`;
}

/**
 * JSON's escapes are those of this language, except for two. `${` and `%{` begin templates, and are doubled to stand for
 * themselves (Terraform documentation, "Strings and Templates").
 */
function stringText(text: string): string {
  return JSON.stringify(text).replaceAll(/\\.|[$%](?=\{)/g, (token) => {
    if (token === '\\b') return '\\u0008';
    if (token === '\\f') return '\\u000c';
    return token.startsWith('\\') ? token : `${token}${token}`;
  });
}

function keyText(key: string): string {
  return /^[a-z_][\w-]*$/i.test(key) ? key : stringText(key);
}

function isExpression(value: object): value is Expression {
  return 'expression' in value && Object.keys(value).length === 1;
}

function isList(value: HclValue): value is readonly HclValue[] {
  return Array.isArray(value);
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
