/** The local Step Functions refuses what the real one refuses, as its own client reads the refusals. */

import {
  SendTaskFailureCommand,
  SendTaskHeartbeatCommand,
  SendTaskSuccessCommand,
  SFNClient,
} from '@aws-sdk/client-sfn';
import { expect, onTestFinished, test } from 'vitest';
import { startLocalAws } from '../../../infra/local/aws/local-aws.ts';
import { TASK_TOKEN_PREFIX } from '../../../infra/local/aws/step-functions.ts';

test('a task takes signs of life and one end, within the bounds of the service', async () => {
  const aws = await startLocalAws();
  onTestFinished(() => aws.close());
  const { endpoint, credentials } = aws;
  const client = new SFNClient({ endpoint, credentials, region: 'us-east-1', maxAttempts: 1 });
  onTestFinished(() => client.destroy());
  const taskToken = `${TASK_TOKEN_PREFIX}1`;
  const said = (sent: Promise<unknown>) =>
    sent.then(
      () => 'taken',
      (error: Error) => error.name,
    );
  const succeed = (output: string, token = taskToken) =>
    said(client.send(new SendTaskSuccessCommand({ taskToken: token, output })));
  const fail = (cause: string, error = 'E') =>
    said(client.send(new SendTaskFailureCommand({ taskToken, error, cause })));
  const beat = (token: string) => said(client.send(new SendTaskHeartbeatCommand({ taskToken: token })));

  expect(await beat(taskToken)).toBe('taken');
  expect(await beat('a-token-of-nobody')).toBe('InvalidToken');
  expect(await beat('x'.repeat(2_049))).toBe('ValidationException');
  expect(await succeed('{"half":')).toBe('InvalidOutput');
  expect(await succeed(JSON.stringify('ä'.repeat(131_072)))).toBe('ValidationException');
  expect(await fail('c'.repeat(32_769))).toBe('ValidationException');
  expect(await fail('', 'e'.repeat(257))).toBe('ValidationException');
  expect(aws.tasks.find(taskToken)).toEqual({ heartbeatCount: 1, end: undefined });

  expect(await succeed('{"done":true}')).toBe('taken');
  expect([await succeed('{}'), await fail('late'), await beat(taskToken)]).toEqual([
    'TaskTimedOut',
    'TaskTimedOut',
    'TaskTimedOut',
  ]);
  expect(aws.tasks.find(taskToken)?.end).toEqual({ output: { done: true } });
});
