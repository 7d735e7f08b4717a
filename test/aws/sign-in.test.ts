/** Tests what the stack gives the API so that people can sign in at the company's provider. */

import { expect, test } from 'vitest';
import example from '../../bridge.config.example.ts';
import { apiEnvironment, readApiSettings } from '../../shared/config/api-config.ts';
import { synthesize } from './stack-under-test.ts';

const SECRET = 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/sign-in-AbCdEf';
const signIn = {
  issuer: 'https://login.example.com',
  client_id: 'operations-bridge',
  account_id: 'main',
  roles: [{ value: 'on-call', scopes: ['admin', 'audit:read'] }],
};

test('the API gets the settings of the sign-in, and may read the secret of the client', () => {
  const stack = synthesize({ api: { ...example.api, sign_in: { ...signIn, client_secret_arn: SECRET } } });

  const environment = apiEnvironment.parse({
    ...stack.filedOf('api'),
    TABLE_NAME: 'table',
    EVENT_BUS_NAME: 'bus',
    SENDING_INSTANCES_MAX: '2',
    TOKEN_PEPPER_SECRET_ID: 'pepper',
    QUEUE_KEY_SECRET_ID: 'queue-key',
    COMMANDS_QUEUE_URL: 'https://queue.example',
  });
  const reading = stack
    .ofType('AWS::IAM::ManagedPolicy')
    .concat(stack.ofType('AWS::IAM::Policy'))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as readonly { Sid: string }[])
    .filter((statement) => JSON.stringify(statement).includes(SECRET));

  expect(readApiSettings(environment).signIn).toMatchObject({ ...signIn, client_secret_id: SECRET });
  expect(reading).toMatchObject([
    { Sid: 'Secrets', Action: 'secretsmanager:GetSecretValue', Effect: 'Allow' },
  ]);
});

test('links of alerts lead to the address at which people sign in', () => {
  const consoleOf = (changes: object) =>
    synthesize({ api: { ...example.api, sign_in: { ...signIn, ...changes } } })
      .ofType('AWS::Lambda::Function')
      .map(({ Properties }) => Properties.Environment?.Variables?.CONSOLE_BASE_URL as unknown)
      .filter((url) => url !== undefined);

  expect(consoleOf({ base_url: 'https://bridge.example/' })).toEqual(['https://bridge.example']);
  expect(consoleOf({})).toEqual([expect.objectContaining({ 'Fn::GetAtt': expect.anything() })]);
});
