/** Tests what CloudFormation makes of the released template with some parameters and without them. */

import { describe, expect, test } from 'vitest';
import {
  CONDITIONS,
  configOfRelease,
  parameterSection,
  RULES,
  withParameters,
} from '../../infra/aws/parameters.ts';
import { resolved } from '../release/resolve-template.ts';

const deployed = (part: unknown, given: Readonly<Record<string, string>>) =>
  resolved(withParameters(part), given, CONDITIONS);

describe('the address of the runbook', () => {
  const url = configOfRelease().runbook_url;
  const part = {
    description: `Events are late. Runbook: ${url}#events-late`,
    variables: { RUNBOOK_URL: url },
  };

  test('is linked when it is given', () => {
    expect(deployed(part, { RunbookUrl: 'https://wiki.bridge.test/runbook' })).toEqual({
      description: 'Events are late. Runbook: https://wiki.bridge.test/runbook#events-late',
      variables: { RUNBOOK_URL: 'https://wiki.bridge.test/runbook' },
    });
  });

  test('is a file in the description of an alarm, and no link anywhere, when it is not given', () => {
    expect(deployed(part, { RunbookUrl: '' })).toEqual({
      description: 'Events are late. Runbook: docs/operations.md#events-late',
      variables: {},
    });
  });
});

test('the pepper is refused where it is another secret, too, or one of the upstream keys', () => {
  const others = [
    'UpstreamKeySecretArn',
    'SecondAccountKeySecretArn',
    'SlackSecretArn',
    'SignInClientSecretArn',
  ];
  const { TokenPepperSecretArn: pepper } = parameterSection() as Record<string, { AllowedPattern: string }>;
  const isAccepted = (name: string) =>
    new RegExp(pepper?.AllowedPattern ?? '').test(
      `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${name}-AbCdEf`,
    );

  expect(RULES.Pepper.Assertions.map(({ Assert }) => Assert)).toEqual(
    others.map((name) => ({
      'Fn::Not': [{ 'Fn::Equals': [{ Ref: 'TokenPepperSecretArn' }, { Ref: name }] }],
    })),
  );
  expect(isAccepted('operations-bridge/token-pepper')).toBe(true);
  expect(isAccepted('operations-bridge/upstream-keys/tenant-7')).toBe(false);
});
