/** Writes a subscription as a program for the AWS CDK, in TypeScript that Node runs as it is. */

import { RETRY_POLICY } from '../delivery.ts';
import type { SubscriptionOrder } from '../subscription-order.ts';
import { PROGRAM_TARGETS } from './cdk-targets.ts';

/** `head` stands at the top of the file, as a comment. */
export function cdkProgram(order: SubscriptionOrder, head: readonly string[]): string {
  const part = PROGRAM_TARGETS[order.target];
  const libraries = ['events', 'iam', 'sqs', ...part.libraries].toSorted();
  const all = [...part.before, ...part.after].join('\n');
  const names = ['App', 'CfnOutput', 'CfnParameter', 'Duration', 'SecretValue', 'Stack'].filter(
    (name) => ALWAYS.includes(name) || new RegExp(`\\b${name}\\b`).test(all),
  );
  const parts = [
    head.map((line) => `// ${line}`.trimEnd()).join('\n'),
    [
      `import { ${names.join(', ')} } from 'aws-cdk-lib';`,
      ...libraries.map((name) => `import * as ${name} from 'aws-cdk-lib/aws-${name}';`),
    ].join('\n'),
    `// The bus of the bridge: \`name\` in bridge.config.ts.\nconst busName = ${text(order.busName)};`,
    `const stack = new Stack(new App(), ${text(order.name)});`,
    DEAD_LETTERS,
    ...part.before,
    ruleOf(order, part.target),
    ...part.after,
    "new CfnOutput(stack, 'DeadLettersUrl', { value: deadLetters.queueUrl });",
  ];
  return `${parts.join('\n\n')}\n`;
}

const ALWAYS = ['App', 'CfnOutput', 'Duration', 'Stack'];

const DEAD_LETTERS = `// Events that could not be delivered wait here for 14 days. Watch its length.
const deadLetters = new sqs.Queue(stack, 'DeadLetters', { retentionPeriod: Duration.days(14), enforceSSL: true });`;

function ruleOf({ pattern, target }: SubscriptionOrder, members: readonly string[]): string {
  return `const rule = new events.CfnRule(stack, 'Rule', {
  eventBusName: busName,
  eventPattern: ${literal(pattern, '  ')},
  targets: [
    {
      id: ${text(target)},
${members.map((member) => `      ${member},`).join('\n')}
      deadLetterConfig: { arn: deadLetters.queueArn },
      retryPolicy: {
        maximumEventAgeInSeconds: ${RETRY_POLICY.maximumAgeSeconds},
        maximumRetryAttempts: ${RETRY_POLICY.maximumAttempts},
      },
    },
  ],
});`;
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
