/** Tests what the stack gives the API so that it can check what Slack sends when a person presses a button. */

import { expect, test } from 'vitest';
import { synthesize } from './stack-under-test.ts';

const SECRET = 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/slack-AbCdEf';

test('the API may read the secret of Slack when Slack is set up, and knows its name', () => {
  const stack = synthesize({ alerts: { emails: [], slack_webhook_secret_arn: SECRET } });

  const environment = stack
    .ofType('AWS::Lambda::Function')
    .map(({ Properties }) => Properties.Environment?.Variables ?? {})
    .filter((variables) => variables.POWERTOOLS_SERVICE_NAME === 'api');
  const reading = stack
    .ofType('AWS::IAM::ManagedPolicy')
    .concat(stack.ofType('AWS::IAM::Policy'))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as readonly { Sid: string }[])
    .filter((statement) => JSON.stringify(statement).includes(SECRET));

  expect(environment).toMatchObject([{ SLACK_SECRET_ID: SECRET }]);
  expect(reading.map(({ Sid }) => Sid).toSorted()).toEqual(['Secrets', 'Slack']);
});
