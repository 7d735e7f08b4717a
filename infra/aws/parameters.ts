/**
 * Defines the parameters of the released template. The stack is built from values that stand for them, and each such
 * value is replaced by a reference to its parameter. What belongs to Slack, to a second account, to the sign-in or to the runbook is
 * left out while the first parameter of it is empty.
 */

import { SECRET_ARN_CHARACTERS_MAX } from '../../shared/config/account-rules.ts';
import { parseJson } from '../../shared/runtime/foreign-text.ts';
import { type BridgeConfig, parseBridgeConfig } from '../bridge-config.ts';
import { RUNBOOK_FILE } from './resources/alarms.ts';

interface Parameter {
  readonly description: string;
  readonly pattern: string;
  readonly constraint: string;
  readonly default?: string;
  /** Values are counted against the room in the environment of a function. */
  readonly maxLength?: number;
  /** What contains the parameter is left out of the template when this condition of it does not hold. */
  readonly condition?: keyof typeof CONDITIONS;
  /** A sentence that contains the parameter stays, with this text in its place, when the condition does not hold. */
  readonly without?: string;
  /** The configuration takes this value in the place of the parameter. It must be found nowhere else. */
  readonly standIn: string;
}

const SECRET_ARN = '^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\\d{12}:secret:[\\w/+=.@-]+-[A-Za-z0-9]{6}$';
const COMPLETE_ARN = 'The ARN must be complete, with its suffix of six characters.';
function secretStandIn(name: string): string {
  return `arn:aws:secretsmanager:eu-central-1:000000000000:secret:stand-in-of-${name}-AbCdEf`;
}

/** The value stands in a JSON text, so it has no quotation mark and no backslash. */
const GROUP_NAME = '^[^"\\\\\\r\\n\\t]{1,100}$';

function groupOf(role: string, meaning: string): Parameter {
  return {
    description: `With SignInIssuer: people with this value in the claim ${meaning}.`,
    pattern: GROUP_NAME,
    constraint: 'It must have 1 to 100 characters, and no quotation mark and no backslash.',
    default: `operations-bridge-${role}s`,
    maxLength: 100,
    condition: 'HasSignIn',
    standIn: `stand-in-of-the-${role}s`,
  };
}

const SIGN_IN_PARAMETERS = {
  SignInIssuer: {
    description:
      "People sign in to the console at this OpenID issuer. Leave it empty if they use the bridge's tokens.",
    pattern: '^$|^https://[^@?#"\\\\\\s]{1,190}$',
    constraint: 'It must be empty, or the https URL of the issuer.',
    default: '',
    maxLength: 200,
    condition: 'HasSignIn',
    standIn: 'https://stand-in-of-issuer.example.com',
  },
  SignInClientId: {
    description: 'With SignInIssuer: the name of the bridge at the provider.',
    pattern: '^$|^[^"\\\\\\s]{1,100}$',
    constraint: 'It must have at most 100 characters, and no quotation mark, backslash or space.',
    default: '',
    maxLength: 100,
    condition: 'HasSignIn',
    standIn: 'stand-in-of-client-id',
  },
  SignInClientSecretArn: {
    description: "With SignInIssuer: the ARN of the secret that holds the bridge's secret at the provider.",
    pattern: `^$|${SECRET_ARN}`,
    constraint: COMPLETE_ARN,
    default: '',
    maxLength: SECRET_ARN_CHARACTERS_MAX,
    condition: 'HasSignIn',
    standIn: secretStandIn('sign-in'),
  },
  SignInRolesClaim: {
    description: "With SignInIssuer: the claim of the ID token that has a person's groups or roles.",
    pattern: GROUP_NAME,
    constraint: 'It must have 1 to 100 characters, and no quotation mark and no backslash.',
    default: 'groups',
    maxLength: 100,
    condition: 'HasSignIn',
    standIn: 'stand-in-of-roles-claim',
  },
  SignInAdmins: groupOf('admin', 'may do everything, and read the audit'),
  SignInOperators: groupOf('operator', 'may look at everything and operate computes'),
  SignInViewers: groupOf('viewer', 'may look at everything'),
} as const satisfies Readonly<Record<string, Parameter>>;

/** The three roles have bundles of scopes. Other roles need a deployment with the CDK. */
function signInOfRelease(): NonNullable<BridgeConfig['api']['sign_in']> {
  const { SignInIssuer, SignInClientId, SignInClientSecretArn, SignInRolesClaim } = SIGN_IN_PARAMETERS;
  const { SignInAdmins, SignInOperators, SignInViewers } = SIGN_IN_PARAMETERS;
  return {
    issuer: SignInIssuer.standIn,
    client_id: SignInClientId.standIn,
    client_secret_arn: SignInClientSecretArn.standIn,
    account_id: 'main',
    roles_claim: SignInRolesClaim.standIn,
    roles: [
      { value: SignInAdmins.standIn, scopes: ['admin', 'audit:read'] },
      { value: SignInOperators.standIn, scopes: ['operator'] },
      { value: SignInViewers.standIn, scopes: ['viewer'] },
    ],
    request_scope: 'openid email',
    client_authentication: 'client_secret_basic',
  };
}

/** These conditions decide what the template leaves out. */
export const CONDITIONS = {
  HasSignIn: isGiven('SignInIssuer'),
  HasRunbook: isGiven('RunbookUrl'),
  HasSlack: isGiven('SlackSecretArn'),
  HasSecondAccount: isGiven('SecondAccountId'),
};

function isGiven(name: string) {
  return { 'Fn::Not': [{ 'Fn::Equals': [{ Ref: name }, ''] }] };
}

/** CloudFormation refuses values that do not go together before it changes anything. */
export const RULES = {
  SignIn: needs('SignInIssuer', ['SignInClientId', 'SignInClientSecretArn']),
  SecondAccount: needs('SecondAccountId', ['SecondAccountKeySecretArn']),
  Pepper: isAlone('TokenPepperSecretArn', [
    'UpstreamKeySecretArn',
    'SecondAccountKeySecretArn',
    'SlackSecretArn',
    'SignInClientSecretArn',
  ]),
};

function isAlone(name: string, others: readonly string[]) {
  return {
    Assertions: others.map((other) => ({
      Assert: { 'Fn::Not': [{ 'Fn::Equals': [{ Ref: name }, { Ref: other }] }] },
      AssertDescription: `${name} must be a secret of its own, and not that of ${other}, because who reads it can make tokens.`,
    })),
  };
}

function needs(first: string, others: readonly string[]) {
  return {
    RuleCondition: isGiven(first),
    Assertions: others.map((name) => ({
      Assert: isGiven(name),
      AssertDescription: `With ${first}, ${name} must be set.`,
    })),
  };
}

const PARAMETERS: Readonly<Record<string, Parameter>> = {
  UpstreamBaseUrl: {
    description: 'The base URL of the upstream API; it ends with /api/v2.',
    // It stands in a JSON text of the environment, so it has no quotation mark and no backslash.
    pattern: '^https://[^@?#"\\\\\\s]{1,142}$',
    constraint: 'It must be an https URL without credentials, of 150 characters at most.',
    // It stands three times in the environment: in both accounts, and as the host that keys of added accounts may be sent to.
    maxLength: 150,
    standIn: 'https://stand-in-of-upstream.example.com/api/v2',
  },
  UpstreamKeySecretArn: {
    description: 'The ARN of the secret that holds the upstream key.',
    pattern: SECRET_ARN,
    constraint: COMPLETE_ARN,
    maxLength: SECRET_ARN_CHARACTERS_MAX,
    standIn: secretStandIn('upstream-key'),
  },
  TokenPepperSecretArn: {
    description:
      'The ARN of the secret that keys the hashes of tokens: a random text of 32 characters or more.',
    pattern: SECRET_ARN.replace('^', '^(?!.*:secret:operations-bridge/upstream-keys/)'),
    constraint: `${COMPLETE_ARN} Its name must not be that of an upstream key.`,
    maxLength: SECRET_ARN_CHARACTERS_MAX,
    standIn: secretStandIn('token-pepper'),
  },
  AlertEmail: {
    description: 'Alerts and alarms go to this address. Its owner confirms two mails.',
    pattern: '^[^@\\s]+@[^@\\s]+$',
    constraint: 'It must be an e-mail address.',
    standIn: 'stand-in-of-alerts@example.com',
  },
  SlackSecretArn: {
    description:
      'Alerts also go to Slack, with this secret of a webhook or a bot. Leave it empty for mails alone.',
    pattern: `^$|${SECRET_ARN}`,
    constraint: COMPLETE_ARN,
    default: '',
    maxLength: SECRET_ARN_CHARACTERS_MAX,
    condition: 'HasSlack',
    standIn: secretStandIn('slack'),
  },
  SecondAccountId: {
    description:
      'A second account of the same API has this short name in events; the first is called main. Leave it empty for one account.',
    pattern: '^$|^(?!(main|constructor)$)[a-z0-9][a-z0-9-]{0,62}$',
    constraint:
      'It must have 1 to 63 lower-case letters, digits and hyphens, and must not be main or constructor.',
    default: '',
    maxLength: 63,
    condition: 'HasSecondAccount',
    standIn: 'stand-in-of-second-account',
  },
  SecondAccountKeySecretArn: {
    description: 'With SecondAccountId: the ARN of the secret that holds the upstream key of that account.',
    pattern: `^$|${SECRET_ARN}`,
    constraint: COMPLETE_ARN,
    default: '',
    maxLength: SECRET_ARN_CHARACTERS_MAX,
    condition: 'HasSecondAccount',
    standIn: secretStandIn('second-key'),
  },
  RunbookUrl: {
    description:
      'Alarms and alerts link to this page, your copy of docs/operations.md. Leave it empty for no links.',
    pattern: '^$|^https?://\\S{1,490}$',
    constraint: 'It must be empty, or a URL.',
    default: '',
    condition: 'HasRunbook',
    without: RUNBOOK_FILE,
    standIn: 'https://stand-in-of-runbook.example.com/',
  },
  ...SIGN_IN_PARAMETERS,
};

function standInFor(name: string): string {
  const parameter = PARAMETERS[name];
  if (parameter === undefined) throw new Error(`There is no parameter ${name}`);
  return parameter.standIn;
}

/** Everything else has its default. Further accounts are added while the bridge runs; other settings need the CDK. */
export function configOfRelease(): BridgeConfig {
  const [first, second] = ['UpstreamKeySecretArn', 'SecondAccountKeySecretArn'].map((key) => ({
    upstream_base_url: standInFor('UpstreamBaseUrl'),
    key_secret_arn: standInFor(key),
  }));
  const config = {
    accounts: [
      { account_id: 'main', ...first },
      { account_id: standInFor('SecondAccountId'), ...second },
    ],
    alerts: {
      emails: [standInFor('AlertEmail')],
      slack_webhook_secret_arn: standInFor('SlackSecretArn'),
    },
    api: {
      token_pepper_secret_arn: standInFor('TokenPepperSecretArn'),
      sign_in: signInOfRelease(),
    },
    runbook_url: standInFor('RunbookUrl'),
  };
  return parseBridgeConfig(config, 'the configuration of the release');
}

/** Returns the section `Parameters` of the template. */
export function parameterSection(): object {
  const code = {
    CodeBucket: {
      Type: 'String',
      Description: 'The bucket, in the region of the stack, that has the zip files.',
    },
    CodePrefix: {
      Type: 'String',
      Description:
        'What stands before the names of the zip files in the bucket, for example operations-bridge/0.2.0/.',
      Default: '',
    },
  };
  const own = Object.entries(PARAMETERS).map(
    ([name, { description, pattern, constraint, default: value, maxLength }]) => [
      name,
      {
        Type: 'String',
        Description: description,
        AllowedPattern: pattern,
        ConstraintDescription: constraint,
        ...(maxLength !== undefined && { MaxLength: maxLength }),
        ...(value !== undefined && { Default: value }),
      },
    ],
  );
  return { ...Object.fromEntries(own), ...code };
}

/**
 * Returns the part of a template with a reference in the place of each stand-in. A text that contains one becomes an
 * `Fn::Sub`. A text whose parameters have a condition is left out when it does not hold; if it is JSON, only those elements of its lists
 * are left out that have such a parameter, where that is enough. A statement of a policy goes with its only resource. Throws when a name of a property contains one, because CloudFormation cannot compute these.
 */
export function withParameters(part: unknown): unknown {
  if (typeof part === 'string') return textWithParameters(part);
  if (Array.isArray(part)) return part.map(withParameters);
  if (typeof part !== 'object' || part === null) return part;
  const { Effect, Resource } = part as { readonly Effect?: unknown; readonly Resource?: unknown };
  const condition = Effect !== undefined && typeof Resource === 'string' ? conditionOf(Resource) : undefined;
  const whole = Object.fromEntries(
    Object.entries(part).map(([name, value]) => {
      if (hasStandIn(name)) throw new Error(`The name of a property contains a stand-in: ${name}`);
      return [
        name,
        condition === undefined || name !== 'Resource' ? withParameters(value) : computedText(value),
      ];
    }),
  );
  return onlyWhen(condition, whole);
}

function conditionOf(text: string): Parameter['condition'] {
  return Object.values(PARAMETERS).find(({ standIn, condition }) => condition && text.includes(standIn))
    ?.condition;
}

function onlyWhen(
  condition: Parameter['condition'],
  part: unknown,
  otherwise: unknown = { Ref: 'AWS::NoValue' },
): unknown {
  return condition === undefined ? part : { 'Fn::If': [condition, part, otherwise] };
}

export function hasStandIn(text: string): boolean {
  return Object.values(PARAMETERS).some(({ standIn }) => text.includes(standIn));
}

function textWithParameters(text: string): unknown {
  if (!hasStandIn(text)) return text;
  const condition = conditionOf(text);
  const sentence = sentenceWithout(text);
  if (sentence !== undefined) return onlyWhen(condition, computedText(text), sentence);
  const without = condition && JSON.stringify(withoutElements(parseJson(text), condition));
  const isEnough = without !== undefined && conditionOf(without) === undefined;
  return onlyWhen(condition, computedText(text), isEnough ? computedText(without) : undefined);
}

function sentenceWithout(text: string): string | undefined {
  const found = Object.values(PARAMETERS).find(({ standIn }) => text !== standIn && text.includes(standIn));
  return found?.without && text.replaceAll(found.standIn, found.without);
}

function withoutElements(part: unknown, condition: Parameter['condition']): unknown {
  if (Array.isArray(part))
    return part
      .filter((element) => conditionOf(JSON.stringify(element)) !== condition)
      .map((element) => withoutElements(element, condition));
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, withoutElements(value, condition)]),
  );
}

function computedText(text: string): unknown {
  const whole = Object.entries(PARAMETERS).find(([, { standIn }]) => standIn === text);
  if (whole !== undefined) return { Ref: whole[0] };
  // `${` is a reference in `Fn::Sub` and nowhere else, so that of the text itself is escaped first.
  let template = text.replaceAll('${', '${!');
  for (const [name, { standIn }] of Object.entries(PARAMETERS))
    template = template.replaceAll(standIn, `\${${name}}`);
  return { 'Fn::Sub': template };
}
