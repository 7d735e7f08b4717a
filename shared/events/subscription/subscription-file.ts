/** Writes a subscription as one complete file that can be deployed as it is, and the one for the CDK. */

import { cliScript } from './cli-file.ts';
import { cloudFormationTemplate, templateOf } from './cloudformation-file.ts';
import { FILE_FORMS, type FileForm, type SubscriptionOrder, type TargetKind } from './subscription.ts';
import { localNameOf, terraformConfiguration } from './terraform-file.ts';

/** `head` stands at the top of the file, as a comment. */
function cdkProgram(order: SubscriptionOrder, head: readonly string[]): string {
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

export interface SubscriptionFile {
  readonly fileName: string;
  readonly text: string;
  /** The commands of a shell that deploy the file. Words in angle brackets are to be replaced. */
  readonly deploy: readonly string[];
}

export function subscriptionFile(order: SubscriptionOrder, form: FileForm): SubscriptionFile {
  const fileName = `${order.name}.${FILE_FORMS[form]}`;
  const deploy = DEPLOY[form](order, fileName);
  const head = [order.summary, '', 'Deploy it with:', ...deploy.map((line) => `  ${line}`)];
  return { fileName, text: WRITERS[form](order, head), deploy };
}

const WRITERS: Readonly<Record<FileForm, (order: SubscriptionOrder, head: readonly string[]) => string>> = {
  cdk: cdkProgram,
  cloudformation: cloudFormationTemplate,
  terraform: terraformConfiguration,
  cli: cliScript,
};

/** What the person has to give, by the name of the parameter. A key is a secret, so it comes from Secrets Manager or from the environment. */
const PARAMETERS: Readonly<Record<TargetKind, Readonly<Record<string, string>>>> = {
  sqs: {},
  lambda: { FunctionArn: '<ARN of the function>' },
  eventbus: { TargetBusArn: '<ARN of the bus>' },
  https: { Url: '<https://...>' },
  email: { Email: '<address>' },
};

const DEPLOY: Readonly<Record<FileForm, (order: SubscriptionOrder, fileName: string) => readonly string[]>> =
  {
    cdk: ({ target }, fileName) => [
      `npx cdk deploy --app 'node ${fileName}'${withKeySecret(target, ([name, value]) => ` --parameters ${name}='${value}'`)}`,
    ],
    cloudformation({ name, target }, fileName) {
      const values = withKeySecret(target, ([parameter, value]) => ` ${parameter}='${value}'`);
      return [
        `aws cloudformation deploy --template-file ${fileName} --stack-name ${name} --capabilities CAPABILITY_IAM${values === '' ? '' : ` --parameter-overrides${values}`}`,
      ];
    },
    terraform({ name, target }) {
      const variables = Object.entries(PARAMETERS[target]).map(
        ([parameter, value]) => ` -var ${localNameOf(name)}_${snakeCase(parameter)}='${value}'`,
      );
      const key = target === 'https' ? `TF_VAR_${localNameOf(name)}_key="$KEY" ` : '';
      return ['terraform init', `${key}terraform apply${variables.join('')}`];
    },
    cli({ target }, fileName) {
      const values = { ...PARAMETERS[target], ...(target === 'https' && { KeyHeader: 'x-api-key' }) };
      const variables = Object.entries(values).map(
        ([parameter, value]) => `${snakeCase(parameter).toUpperCase()}='${value}' `,
      );
      const key = target === 'https' ? 'KEY="$KEY" ' : '';
      return [`${variables.join('')}${key}sh ${fileName}`];
    },
  };

/** CloudFormation and the CDK take the name of a secret, which is no secret. */
function withKeySecret(target: TargetKind, write: (parameter: [string, string]) => string): string {
  const values = {
    ...PARAMETERS[target],
    ...(target === 'https' && { KeySecret: '<name of the secret with the key>' }),
  };
  return Object.entries(values).map(write).join('');
}

function snakeCase(name: string): string {
  return name.replaceAll(/(?<=.)(?=[A-Z])/g, '_').toLowerCase();
}
