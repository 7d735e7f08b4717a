/**
 * Defines the parameters of the released template. The stack is built from values that stand for them, and each of
 * these values is then replaced by a reference to its parameter.
 */

import { type BridgeConfig, parseBridgeConfig } from '../../config/bridge-config.ts';
import { ARN_CHARACTERS_MAX, COMPLETE_ARN, type Parameter, SECRET_ARN, secretStandIn } from './parameter.ts';
import { SIGN_IN_PARAMETERS, signInOfRelease } from './sign-in-parameters.ts';

export const PARAMETERS: Readonly<Record<string, Parameter>> = {
  UpstreamBaseUrl: {
    description: 'The base URL of the upstream API; it ends with /api/v2.',
    // It stands in a JSON text of the environment, so it has no quotation mark and no backslash.
    pattern: '^https://[^@?#"\\\\\\s]{1,290}$',
    constraint: 'It must be an https URL without credentials, of 298 characters at most.',
    // It stands twice in the environment: in the account, and as the host that keys of added accounts may be sent to.
    maxLength: 298,
    standIn: 'https://stand-in-of-upstream.example.com/api/v2',
  },
  UpstreamKeySecretArn: {
    description: 'The ARN of the secret that holds the upstream key.',
    pattern: SECRET_ARN,
    constraint: COMPLETE_ARN,
    maxLength: ARN_CHARACTERS_MAX,
    standIn: secretStandIn('upstream-key'),
  },
  TokenPepperSecretArn: {
    description:
      'The ARN of the secret that keys the hashes of tokens: a random text of 32 characters or more.',
    pattern: SECRET_ARN,
    constraint: COMPLETE_ARN,
    maxLength: ARN_CHARACTERS_MAX,
    standIn: secretStandIn('token-pepper'),
  },
  AlertEmail: {
    description: 'Alerts and alarms go to this address. Its owner confirms two mails.',
    pattern: '^[^@\\s]+@[^@\\s]+$',
    constraint: 'It must be an e-mail address.',
    standIn: 'stand-in-of-alerts@example.com',
  },
  RunbookUrl: {
    description: 'Alarms and alerts link to this page.',
    pattern: '^https?://\\S{1,490}$',
    constraint: 'It must be a URL.',
    default: 'https://example.com/operations-bridge/docs/operations.md',
    standIn: 'https://stand-in-of-runbook.example.com/',
  },
  ...SIGN_IN_PARAMETERS,
};

function standIn(name: string): string {
  const parameter = PARAMETERS[name];
  if (parameter === undefined) throw new Error(`There is no parameter ${name}`);
  return parameter.standIn;
}

/** Everything else has its default. Who needs more than one account, or another setting, deploys with the CDK. */
export function configOfRelease(): BridgeConfig {
  const config = {
    accounts: [
      {
        account_id: 'main',
        upstream_base_url: standIn('UpstreamBaseUrl'),
        key_secret_arn: standIn('UpstreamKeySecretArn'),
      },
    ],
    alerts: { emails: [standIn('AlertEmail')] },
    api: {
      token_pepper_secret_arn: standIn('TokenPepperSecretArn'),
      sign_in: signInOfRelease(),
    },
    runbook_url: standIn('RunbookUrl'),
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
