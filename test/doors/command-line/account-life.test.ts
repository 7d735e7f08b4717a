/**
 * The command line removes an account with all that was recorded of it, and issues and revokes tokens, against the API
 * over a local AWS. Whatever needs a privilege leaves a record that says who did it.
 */

import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect, onTestFinished, test } from 'vitest';
import { apiAccess } from '../../../functions/api/access.ts';
import { type LocalAwsFaults, startLocalAws } from '../../../infra/local/aws/local-aws.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../../shared/store/dynamodb-table.ts';
import { operationKey, projectKey, wishKey } from '../../../shared/store/keys.ts';
import { tableDefinition } from '../../../shared/store/table.ts';
import { type ApiOptions, createApiUnderTest, listen, PEPPER } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { runSubcommand } from '../../cli/bridge-on-this-machine.ts';
import { createTable } from '../../local/aws/aws-under-test.ts';

const TABLE = 'lives-under-test';
const SCOPES = 'admin,accounts:read,accounts:write';

/** Opens the API and the command line over the table of one local AWS, with an administrator's token. */
async function openLine(losesReply: LocalAwsFaults['losesReply'] = () => false) {
  const aws = await startLocalAws({ faults: { losesReply } });
  aws.secrets.create('a-pepper', PEPPER);
  const { credentials, endpoint } = aws;
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  onTestFinished(async () => {
    client.destroy();
    await aws.close();
  });
  await createTable(client, tableDefinition(TABLE));
  let aheadMs = 0;
  const clock = {
    now: () => Date.now() + aheadMs,
    // Only the wait for the functions is as long; what a program waits for an answer passes as it does.
    async sleep(durationMs: number, signal?: AbortSignal) {
      if (durationMs < 60_000) return systemClock.sleep(durationMs, signal);
      signal?.throwIfAborted();
      aheadMs += durationMs;
    },
  };
  const owner = { id: 'org-a' };
  const options: ApiOptions = {
    upstreamBaseUrl: 'https://upstream.test/api/v2',
    upstreamKey: 'a-key',
    clock,
    rules: { upstreamHosts: ['upstream.test'], keySecretPrefix: 'operations-bridge/upstream-keys/' },
    fetch: async (request) => {
      const url = request instanceof Request ? request.url : String(request);
      return Response.json(url.endsWith('/auth') ? { account_id: owner.id } : { projects: [] });
    },
    wrapTable: () => createDynamoDbTable(client, TABLE, apiAccess),
    wrapIndexes: () => createDynamoDbIndexes(client, TABLE),
    wrapPartitions: () => createDynamoDbPartitions(client, TABLE, apiAccess),
  };
  const url = await listen(createApiUnderTest(options));
  const environment = { AWS_ACCESS_KEY_ID: credentials.accessKeyId };
  const tokens = (...args: readonly string[]) => {
    const place = ['--endpoint', endpoint, '--table', TABLE, '--pepper-secret', 'a-pepper'];
    return runSubcommand(['tokens', ...args, ...place], { environment, clock });
  };
  const tokenOf = async (account: string) => {
    const made = await tokens('create', '--client', 'an-app', '--scopes', SCOPES, '--account', account);
    return made.output.trim();
  };
  const admin = await tokenOf('main');
  const accountsUntil = (signal: AbortSignal, onNote: () => void, ...args: readonly string[]) => {
    const settings = { environment, clock, input: admin, signal, onNote };
    return runSubcommand(['accounts', ...args, '--url', url, '--token-stdin'], settings);
  };
  const accounts = (...args: readonly string[]) =>
    accountsUntil(new AbortController().signal, () => {}, ...args);
  const get = async (token: string, path: string) => {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    return { status: response.status, body: (await response.json()) as any };
  };
  const auditOf = async (account: string) => {
    const { body } = await get(admin, `/bridge/v1/audit?limit=100&account_id=${account}`);
    return body.records as readonly Record<string, unknown>[];
  };
  const keys = async () => {
    const { Items = [] } = await client.send(new ScanCommand({ TableName: TABLE }));
    return Items.map(({ pk }) => pk?.S ?? '');
  };
  const write = createDynamoDbTable(client, TABLE);
  return { aws, owner, tokens, tokenOf, admin, accounts, accountsUntil, get, auditOf, keys, write };
}

test('an account whose records are deleted leaves its id, its audit, and nothing else', {
  timeout: 120_000,
}, async () => {
  const { aws, owner, tokenOf, accounts, accountsUntil, get, auditOf, keys, write } = await openLine();
  await accounts('add', 'tenant');
  const old = await tokenOf('tenant');
  const ids = Array.from({ length: 60 }, (_, place) => `op-${place}`);
  await Promise.all(
    ['tenant', 'tenant-2'].flatMap((account) => [
      ...ids.map((id) =>
        write.update({ key: operationKey(account, PROJECT_ID, id), set: { kind: 'operation' } }),
      ),
      write.update({ key: projectKey(account, PROJECT_ID), set: { kind: 'project' } }),
      write.update({ key: wishKey(account, PROJECT_ID), set: { kind: 'wish' } }),
    ]),
  );
  const purge = ['remove', 'tenant', '--purge', '--table', TABLE, '--endpoint', aws.endpoint];

  const stop = new AbortController();
  const stopped = await accountsUntil(stop.signal, () => stop.abort(), ...purge);
  expect(stopped.code).toBe(130);
  await expect(accounts('add', 'tenant')).rejects.toThrow('they are being deleted');
  // The same command again goes on.
  const { output, notes } = await accounts(...purge);
  expect(output).toContain('items of it are deleted. Its id is free.');
  expect(notes).toMatch(/\d+ items of the table read, \d+ of the account deleted/);

  const left = await keys();
  expect(left.filter((pk) => /^(A|READ|QUEUE|USAGE|CALLER)#tenant(#|$)/.test(pk))).toEqual([]);
  expect(left.filter((pk) => pk.startsWith('A#tenant-2')).length).toBe(61);
  expect(await get(old, '/bridge/v1/me')).toMatchObject({ status: 401 });

  owner.id = 'org-b';
  await accounts('add', 'tenant');
  const young = await tokenOf('tenant');
  expect(await get(young, '/bridge/v1/me')).toMatchObject({ status: 200 });
  expect(await get(old, '/bridge/v1/me')).toMatchObject({ status: 401 });
  const seen = (await get(young, '/bridge/v1/audit?limit=100')).body.records;
  expect(new Set(seen.map(({ call }: { call: string }) => call))).toEqual(
    new Set(['addAccount', 'createToken']),
  );
  expect(seen).toHaveLength(2);
  const all = (await auditOf('tenant')).map(({ call }) => call as string).toSorted();
  expect(all).toEqual([
    'addAccount',
    'addAccount',
    'createToken',
    'createToken',
    'purgeAccount',
    'purgeAccount',
    'removeAccount',
  ]);
});

test('tokens that are created and revoked leave a record with the identity of AWS and the id of the token', {
  timeout: 120_000,
}, async () => {
  const { tokens, tokenOf, auditOf } = await openLine();
  const token = await tokenOf('main');
  const id = token.split('_')[1];
  await tokens('revoke', token);
  await tokens('revoke', token);

  const records = (await auditOf('main')).filter(({ resource }) =>
    Object.values(resource as object).includes(id),
  );
  expect(records.map(({ call, outcome }) => [call, outcome]).toReversed()).toEqual([
    ['createToken', 'done'],
    ['revokeToken', 'done'],
    ['revokeToken', 'refused'],
  ]);
  for (const { client_id } of records) expect(client_id).toBe('aws:arn:aws:iam::000000000000:root');
  expect(records.at(-1)).toMatchObject({
    resource: { client_id: 'an-app', scopes: expect.stringContaining('accounts:write') },
  });
});

test('what an account does to another one is in the audit of both, with whoever did it', {
  timeout: 120_000,
}, async () => {
  const { accounts, auditOf } = await openLine();
  await accounts('add', 'tenant');
  await accounts('pause', 'tenant');
  await accounts('remove', 'tenant');

  const deeds = ['removeAccount', 'changeAccount', 'addAccount'];
  const theirs = await auditOf('tenant');
  expect(theirs.map(({ call }) => call)).toEqual(deeds);
  for (const record of theirs)
    expect(record).toMatchObject({ by_account_id: 'main', client_id: 'an-app', outcome: 'done' });
  const own = await auditOf('main');
  expect(own.map(({ call }) => call)).toEqual(expect.arrayContaining(deeds));
  for (const { request_id } of theirs)
    expect(own.map((record) => record['request_id'])).toContain(request_id);
});

test.each([1, 2, 3])(
  'a token whose write number %i loses its reply is issued and revoked as if nothing had happened',
  {
    timeout: 120_000,
  },
  async (place) => {
    let [isOpen, count] = [false, 0];
    const losesReply = ({ operation }: { readonly operation: string }) =>
      isOpen && operation === 'UpdateItem' && ++count === place;
    const { tokens, get } = await openLine(losesReply);
    isOpen = true;
    const made = await tokens('create', '--client', 'a-client', '--scopes', 'viewer');
    expect(await get(made.output.trim(), '/bridge/v1/me')).toMatchObject({ status: 200 });
    expect(count).toBeGreaterThanOrEqual(place);

    count = 0;
    expect(await tokens('revoke', made.output.trim())).toMatchObject({ code: 0 });
  },
);
