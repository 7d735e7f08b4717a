import { randomBytes } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthenticator } from '../../functions/api/serving/admission.ts';
import { type LocalAws, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { createTokenStore } from '../../shared/callers/tokens.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { accountItemKey, accountStatusKey } from '../../shared/store/keys.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { createTable } from '../local/aws/aws-under-test.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

const TABLE = 'tokens-under-test';
const PEPPER = randomBytes(16).toString('hex');
let aws: LocalAws;
let client: DynamoDBClient;

beforeAll(async () => {
  aws = await startLocalAws();
  aws.secrets.create('a-pepper', PEPPER);
  const { credentials } = aws;
  client = new DynamoDBClient({ endpoint: aws.endpoint, region: 'us-east-1', credentials });
  await createTable(client, tableDefinition(TABLE));
});

afterAll(async () => {
  client.destroy();
  await aws.close();
});

async function tokens(...args: readonly string[]) {
  const place = ['--endpoint', aws.endpoint, '--table', TABLE, '--pepper-secret', 'a-pepper'];
  const environment = { AWS_ACCESS_KEY_ID: aws.credentials.accessKeyId };
  return runSubcommand(['tokens', ...args, ...place], { environment });
}

const authenticate = (token: string) =>
  createAuthenticator({
    tokens: createTokenStore(createDynamoDbTable(client, TABLE), systemClock),
    pepper: async () => createSecret(PEPPER),
    generationOf: () => 1,
    clock: systemClock,
  }).authenticate(token);

describe('operations-bridge tokens', () => {
  test('creates a token that works, lists it without its secret, and revokes it', {
    timeout: 60_000,
  }, async () => {
    const created = await tokens(
      'create',
      '--client',
      'my-app',
      '--scopes',
      'computes:read,computes:restart',
      '--projects',
      'a-1,b-2',
      '--settle',
    );
    const token = /^opb_\S+$/m.exec(created.output)?.[0] ?? '';
    expect(created.code).toBe(0);
    expect(await authenticate(token)).toEqual({
      client_id: 'my-app',
      account_id: 'main',
      generation: 1,
      scopes: new Set(['computes:read', 'computes:restart']),
      projectIds: new Set(['a-1', 'b-2']),
      settles: true,
    });

    const listed = await tokens('list');
    const [, id = '', secret = ''] = token.split('_');
    expect(listed.output).toContain(`${id}   valid`);
    expect(listed.output).toContain('answers   to commands come when they have settled');
    expect(listed.output).not.toContain(secret);

    // People have the whole token at hand rather than its id.
    expect((await tokens('revoke', token)).output).toMatch(/is revoked/);
    expect(await authenticate(token)).toBeUndefined();
    expect((await tokens('list')).output).toContain(`${id}   revoked`);
    expect(await tokens('revoke', id)).toMatchObject({
      code: 1,
      notes: expect.stringMatching(/There is no token/),
    });
  });

  test('names a bundle that is granted as a whole, and only the other scopes one by one', async () => {
    const { notes } = await tokens('create', '--client', 'a', '--scopes', 'operator,secrets:read');

    expect(notes).toMatch(/^scopes +operator secrets:read$/m);
  });

  test('says in one sentence what is wrong when nothing answers at the endpoint', {
    timeout: 60_000,
  }, async () => {
    const listing = runSubcommand(['tokens', 'list', '--endpoint', 'http://127.0.0.1:9']);

    await expect(listing).rejects.toThrow(
      /^That did not work .*check that the bridge of "operations-bridge start" runs.*127\.0\.0\.1:9\.$/,
    );
  });

  test.each([
    [['create', '--scopes', 'computes:read'], /--client is missing/],
    [['create', '--client', 'Ä', '--scopes', 'computes:read'], /--client is "Ä"/],
    [['create', '--client', 'a'], /--scopes is missing/],
    [
      ['create', '--client', 'a', '--scopes', 'everything'],
      /"everything"; there are the bundles viewer, operator, deployer, admin, RESOURCE:\*, and the scopes projects:read/,
    ],
    [['create', '--client', 'a', '--scopes', 'auth:read', '--days', '91'], /--days is "91"/],
    [['revoke'], /Missing required argument 'token-id'/],
    [['destroy'], /Unknown command 'destroy'/],
  ])('refuses %j with a sentence', async (args, sentence) => {
    await expect(runSubcommand(['tokens', ...args])).rejects.toThrow(sentence);
  });
});

describe('a token for an account', () => {
  const WARNING =
    /^The table does not know the account nosuch: .* An account of the configuration is polled within a minute of its deployment\. If it is another one, check --account/;
  const put = (key: { readonly pk: string; readonly sk: string }, state: string) =>
    createDynamoDbTable(client, TABLE).update({ key, set: { state } });
  const create = (account: string) =>
    tokens('create', '--client', 'a', '--scopes', 'viewer', '--account', account);

  test('of which the bridge knows nothing is issued with a warning, because the account may be still to come', async () => {
    const { code, output, notes } = await create('nosuch');

    expect([code, output]).toEqual([0, expect.stringMatching(/^opb_/)]);
    expect(notes).toMatch(WARNING);
  });

  test.each([
    ['that was added', accountItemKey, 'active'],
    ['that was polled', accountStatusKey, ''],
  ])('%s is issued without a warning', async (what, keyOf, state) => {
    const account = what.replaceAll(' ', '-');
    await put(keyOf(account), state);

    expect((await create(account)).notes).not.toMatch('The table does not know the account');
  });

  test('that was removed is not issued, because the next account of the id is another one', async () => {
    await put(accountStatusKey('gone'), '');
    await put(accountItemKey('gone'), 'removed');

    await expect(create('gone')).rejects.toThrow('The account gone was removed');
  });
});

describe('rules that say what a person approves', () => {
  const create = ['create', '--client', 'agent', '--scopes', 'deployer', '--json'];

  test('are kept with the token, in one form', async () => {
    const { output } = await tokens(...create, '--approve', 'delete /projects/*');

    expect(JSON.parse(output)).toMatchObject({ approve: ['DELETE /projects/*'] });
  });

  test.each([
    ['DELETE /project/*', 'names no call of the upstream; did you mean "DELETE /projects/*"'],
    ['POST /projects', 'names createProject, which is about no single project and cannot wait'],
    ['GET /projects/*', 'which changes nothing'],
  ])('that cannot hold are refused: %s', async (rule, reason) => {
    await expect(tokens(...create, '--approve', rule)).rejects.toThrow(reason);
  });
});
