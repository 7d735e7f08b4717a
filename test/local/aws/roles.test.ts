import { describe, expect, test } from 'vitest';
import { openAws } from './aws-under-test.ts';

/** Sends a form as clients of the query protocol do, and returns the status and the XML. */
async function ask(endpoint: string, service: string, fields: Readonly<Record<string, string>>) {
  const credential = `Credential=local/20260101/us-east-1/${service}/aws4_request`;
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host, Signature=x` },
    body: new URLSearchParams(fields),
  });
  return `${answer.status} ${await answer.text()}`;
}

async function openRoles() {
  const { aws } = await openAws({ accessKeyId: 'local' });
  const iam = (Action: string, fields: Readonly<Record<string, string>> = {}) =>
    ask(aws.endpoint, 'iam', { Action, RoleName: 'delivery', ...fields });
  return { aws, iam };
}

describe('roles over IAM', () => {
  test('are created once, shown, and deleted when they have no policy', async () => {
    const { iam } = await openRoles();

    expect(await iam('CreateRole')).toMatch(/^200 .*<Arn>arn:aws:iam::000000000000:role\/delivery<\/Arn>/);
    expect(await iam('CreateRole')).toMatch(/^409 .*<Code>EntityAlreadyExists<\/Code>/);
    expect(await iam('GetRole')).toMatch(/^200 .*<RoleName>delivery<\/RoleName>/);
    expect(await iam('PutRolePolicy', { PolicyName: 'deliver' })).toMatch(/^200 /);
    expect(await iam('DeleteRole')).toMatch(/^409 .*<Code>DeleteConflict<\/Code>/);
    expect(await iam('DeleteRolePolicy', { PolicyName: 'deliver' })).toMatch(/^200 /);
    expect(await iam('DeleteRole')).toMatch(/^200 /);
    expect(await iam('GetRole')).toMatch(/^404 .*<Code>NoSuchEntity<\/Code>/);
  });

  test('have a valid name and are a bounded number', async () => {
    const { iam } = await openRoles();
    expect(await iam('CreateRole', { RoleName: 'a <b>' })).toMatch(
      /^400 .*<Code>ValidationError<\/Code>.*a &lt;b&gt;/,
    );
    for (let count = 0; count < 100; count++) await iam('CreateRole', { RoleName: `role-${count}` });

    expect(await iam('CreateRole')).toMatch(/^409 .*<Code>LimitExceeded<\/Code>/);
  });

  test('know no other action, and STS says who calls', async () => {
    const { aws, iam } = await openRoles();

    expect(await iam('ListUsers')).toMatch(/^400 .*<Code>InvalidAction<\/Code>/);
    expect(await ask(aws.endpoint, 'sts', { Action: 'GetCallerIdentity' })).toMatch(
      /^200 .*<Account>000000000000<\/Account>/,
    );
    expect(await ask(aws.endpoint, 'sts', { Action: 'AssumeRole' })).toMatch(/^400 /);
  });
});
