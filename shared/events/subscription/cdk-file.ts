/**
 * Writes a subscription as a program for the AWS CDK, in TypeScript that Node runs as it is. It has the parameters, resources and
 * outputs of the CloudFormation template.
 */

import { templateOf } from './cloudformation-file.ts';
import type { SubscriptionOrder } from './subscription.ts';

/** `head` stands at the top of the file, as a comment. */
export function cdkProgram(order: SubscriptionOrder, head: readonly string[]): string {
  const { parameters, resources, outputs, comments } = templateOf(order);
  const statements = (kind: string, members: object) =>
    Object.entries(members).map(([id, each]) => {
      const comment = comments[id] === undefined ? '' : `// ${comments[id]}\n`;
      return `${comment}new ${kind}(stack, ${text(id)}, ${literal(withCdkNames(each), '')});`;
    });
  const parts = [
    head.map((line) => `// ${line}`.trimEnd()).join('\n'),
    "import { App, CfnOutput, CfnParameter, CfnResource, Stack, Token } from 'aws-cdk-lib';",
    `const stack = new Stack(new App(), ${text(order.name)});`,
    statements('CfnParameter', parameters).join('\n'),
    ...statements('CfnResource', resources),
    Object.entries(outputs)
      .map(([id, value]) => `new CfnOutput(stack, ${text(id)}, ${outputOf(value as { Value: object })});`)
      .join('\n'),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** An output of the CDK takes a text only. */
function outputOf({ Value }: { readonly Value: object }): string {
  return `{ value: Token.asString(${literal(Value, '')}) }`;
}

/** The members of the template themselves begin with a small letter in the CDK, and those of a resource do not. */
function withCdkNames(members: object): object {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
      value,
    ]),
  );
}

/** Writes a value as TypeScript: short values on one line. */
function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') return text(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((each) => literal(each, `${indent}  `))
    : Object.entries(value).map(([key, each]) => `${keyText(key)}: ${literal(each, `${indent}  `)}`);
  const [open, close] = isList ? ['[', ']'] : ['{ ', ' }'];
  const line = `${open}${parts.join(', ')}${close}`;
  if (!line.includes('\n') && line.length + indent.length <= 90) return line;
  return `${open.trim()}\n${parts.map((part) => `${indent}  ${part},\n`).join('')}${indent}${close.trim()}`;
}

function keyText(key: string): string {
  return /^[a-z_$][\w$]*$/i.test(key) ? key : text(key);
}

function text(value: string): string {
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
