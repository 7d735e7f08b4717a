/** Defines the parameters by which people sign in at their company's provider. They are left out when the issuer is empty. */

import type { BridgeConfig } from '../../config/bridge-config.ts';
import { ARN_CHARACTERS_MAX, COMPLETE_ARN, type Parameter, SECRET_ARN, secretStandIn } from './parameter.ts';

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

export const SIGN_IN_PARAMETERS = {
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
    maxLength: ARN_CHARACTERS_MAX,
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
export function signInOfRelease(): NonNullable<BridgeConfig['api']['sign_in']> {
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
  HasSignIn: { 'Fn::Not': [{ 'Fn::Equals': [{ Ref: 'SignInIssuer' }, ''] }] },
};

/** CloudFormation refuses values that do not go together before it changes anything. */
export const RULES = {
  SignIn: {
    RuleCondition: CONDITIONS.HasSignIn,
    Assertions: ['SignInClientId', 'SignInClientSecretArn'].map((name) => ({
      Assert: { 'Fn::Not': [{ 'Fn::Equals': [{ Ref: name }, ''] }] },
      AssertDescription: `With SignInIssuer, ${name} must be set.`,
    })),
  },
};
