/** Compares what SECURITY.md says of who can read what with the permissions that the template grants. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import example from '../../../bridge.config.example.ts';
import { ROOT } from '../../../infra/release/project.ts';
import { PARTITIONS } from '../../../shared/store/keys.ts';
import { isAllowed, type Statement } from '../../aws/policies.ts';
import { synthesize } from '../../aws/stack-under-test.ts';
import { arn } from '../../aws/symbols.ts';

const secretArn = (name: string) => arn('secretsmanager', `secret:${name}-AbCdEf`);

/** Everything that can be configured with a secret is. */
const stack = synthesize({
  alerts: {
    ...example.alerts,
    slack_webhook_secret_arn: secretArn('slack'),
    pagerduty_secret_arn: secretArn('pagerduty'),
    webhook_secret_arn: secretArn('webhook'),
  },
  api: {
    ...example.api,
    token_pepper_secret_arn: secretArn('pepper'),
    sign_in: {
      issuer: 'https://login.example.com',
      client_id: 'operations-bridge',
      client_secret_arn: secretArn('sign-in'),
      account_id: 'main',
      roles: [{ value: 'on-call', scopes: ['admin'] }],
    },
  },
});
const [queueKey = ''] = stack.resources.find(([, { Type }]) => Type === 'AWS::SecretsManager::Secret') ?? [];

const reading = (...secretIds: readonly string[]) =>
  secretIds.map((resource) => ({ action: 'secretsmanager:GetSecretValue', resource }));

/** A role reads an attribute in any of these ways. */
const readingOf = (partition: string, attribute: string) =>
  ['GetItem', 'BatchGetItem', 'Query', 'Scan'].map((call) => ({
    action: `dynamodb:${call}`,
    resource: arn('dynamodb', `table/${stack.config.name}`),
    context: {
      'dynamodb:leadingkeys': `${partition}#an-id`,
      'dynamodb:attributes': attribute,
      'dynamodb:select': 'SPECIFIC_ATTRIBUTES',
    },
  }));

/** The calls that read what a row is about. */
const CALLS: Readonly<Record<string, ReturnType<typeof readingOf> | ReturnType<typeof reading>>> = {
  'keys of upstream accounts': reading(
    ...stack.config.accounts.map(({ key_secret_arn }) => key_secret_arn),
    secretArn(`${stack.config.name}/upstream-keys/tenant`),
  ),
  'the token pepper': reading(secretArn('pepper')),
  'the queue key': reading(queueKey),
  'the client secret of the sign-in': reading(secretArn('sign-in')),
  'the secret of Slack': reading(secretArn('slack')),
  "the keys of PagerDuty's integration and webhook": reading(secretArn('pagerduty')),
  'the signing key of the alert webhook': reading(secretArn('webhook')),
  'what projects, operations, branches, computes and commands did': readingOf('A', 'status'),
  'what a queued command sends': readingOf('QUEUE', 'request'),
  'what the upstream answered to it': readingOf('QUEUE', 'answer'),
  'first answers under an Idempotency-Key': readingOf('IDEMPOTENCY', 'body'),
  'digests of tokens': readingOf('TOKEN', 'hash'),
  'the audit': readingOf('AUDIT', 'call'),
  incidents: readingOf('INCIDENTS', 'failures'),
  'alerts that wait or were sent': readingOf('ALERT', 'body'),
  mutes: readingOf('MUTES', 'pk'),
  'added accounts, with the names of their secrets': readingOf('ACCOUNTS', 'pk'),
  'ended sessions, and the places in which callers wait': readingOf('CALLER', 'pk'),
  'how long operations take': readingOf('INSIGHTS', 'pk'),
  'wishes for readings, repairs and replays': readingOf('READ', 'pk'),
  'how many requests each caller was permitted in the last minute': readingOf('USAGE', 'pk'),
  'the accounts that have new work for the poller': readingOf('LANES', 'pk'),
};

/** The statements of each role, by the function that it is for; any other role stands under its logical id. */
const statementsByRole = new Map(
  stack.resources
    .filter(([, { Type }]) => Type === 'AWS::IAM::Role')
    .map(([id]) => [
      /(poller|api|commands|notifier)Role/.exec(id)?.[1] ?? id,
      [...stack.ofType('AWS::IAM::Policy'), ...stack.ofType('AWS::IAM::ManagedPolicy')]
        .filter(({ Properties }) => JSON.stringify(Properties.Roles).includes(`"${id}"`))
        .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]),
    ]),
);

function readersOf(what: string): readonly string[] {
  const calls = CALLS[what] ?? [];
  return [...statementsByRole]
    .filter(([, statements]) => calls.some((call) => isAllowed(stack.resources, statements, call)))
    .map(([name]) => name)
    .toSorted();
}

/** The rows of the table: what it is about, and the functions that may read it. */
function rowsOfDocument(): Readonly<Record<string, readonly string[]>> {
  const text = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');
  const section = text.split('## Who can read what\n')[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => /^\| (?!what \| where)/.test(line));
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  return Object.fromEntries(
    cells
      .filter(({ length }) => length === 6)
      .map(([, what = '', , functions = '']) => [what, functions.split(', ').toSorted()]),
  );
}

test('the table of SECURITY.md names the functions that the template lets read each secret and each kind of data', () => {
  expect(rowsOfDocument()).toEqual(
    Object.fromEntries(Object.keys(CALLS).map((what) => [what, readersOf(what)])),
  );
});

test('every secret of the template is in the table, so that a new one needs a row', () => {
  const inTable = Object.values(CALLS).flat();
  const granted = [...statementsByRole.values()]
    .flat()
    .filter(({ Action }) => JSON.stringify(Action).includes('GetSecretValue'))
    .flatMap(({ Resource }) => [Resource].flat());
  const unnamed = granted.filter(
    (Resource) =>
      !inTable.some((call) =>
        isAllowed(stack.resources, [{ Effect: 'Allow', Action: 'secretsmanager:GetSecretValue', Resource }], {
          action: call.action,
          resource: call.resource,
        }),
      ),
  );

  expect(granted.length).toBeGreaterThan(7);
  expect(unnamed).toEqual([]);
});

test('every partition of the table has a row, so that a new kind of stored data needs one', () => {
  const text = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');
  const missing = Object.values(PARTITIONS).filter(
    (pattern) => !text.includes(`| table, \`${pattern.replace('*', '')}\``),
  );

  expect(missing).toEqual([]);
});

test('the function that sends queued commands can read nothing with which a token or a session is made', () => {
  expect([
    readersOf('the token pepper'),
    readersOf('digests of tokens'),
    readersOf('first answers under an Idempotency-Key'),
  ]).toEqual([['api'], ['api'], ['api']]);
  const commands = stack
    .ofType('AWS::Lambda::Function')
    .filter(({ Properties }) => Properties.FunctionName.endsWith('-commands'));

  expect(commands).toHaveLength(1);
  expect(JSON.stringify([commands, stack.filedOf('commands')])).not.toMatch(/PEPPER|pepper/);
});
