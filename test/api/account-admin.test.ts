/** Accounts that administrators add, change and remove while the bridge runs. */

import { describe, expect, test } from 'vitest';
import { ADDED_ACCOUNTS_MAX, createAccountStore, LOOK_MS } from '../../shared/accounts/account-store.ts';
import type { Scope } from '../../shared/callers/scopes.ts';
import { nextStatus } from '../../shared/records/account-status.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { projectKey } from '../../shared/store/keys.ts';
import { anAccount } from '../accounts/an-account.ts';
import { NOON_MS } from '../builders.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble, type Sent } from './upstream-double.ts';

const HOST = 'upstream.test';
const ACCOUNTS = '/bridge/v1/accounts';
const TENANT = `${ACCOUNTS}/tenant`;
const SECRET = 'operations-bridge/upstream-keys/tenant';
const KEY = 'napi_the_key_of_the_tenant';
const OTHER_PROJECT_ID = 'bold-sound-12345678';

const twoProjects = () =>
  Response.json({
    projects: [
      { id: 'quiet-pond-12345678', name: 'a' },
      { id: 'bold-sound-12345678', name: 'b' },
    ],
  });

const usualAnswer = ({ url }: Sent) => {
  if (url.endsWith('/auth')) return Response.json({ account_id: 'org-1', auth_method: 'api_key_org' });
  return url.includes('/operations') ? Response.json({ operations: [] }) : twoProjects();
};

async function setUp(answer: (sent: Sent) => Response = usualAnswer, keyFault?: Error) {
  let nowMs = NOON_MS;
  const upstream = createUpstreamDouble(answer);
  const asked: string[] = [];
  // The table answers within its second, and every other wait is over at once.
  const sleep = (ms: number) => (ms === 1_000 ? new Promise<void>(() => {}) : Promise.resolve());
  const clock = { now: () => nowMs, sleep };
  const api = createApiUnderTest({
    upstreamBaseUrl: `https://${HOST}/api/v2`,
    upstreamKey: 'a-key',
    fetch: upstream.fetch,
    clock,
    rules: { upstreamHosts: [HOST], keySecretPrefix: 'operations-bridge/upstream-keys/' },
    keyOf: ({ key_secret_id }) => {
      const read = async () => {
        asked.push(key_secret_id);
        if (keyFault !== undefined) throw keyFault;
        return createSecret(KEY);
      };
      return { current: read, refresh: read };
    },
  });
  const as = async (token: TokenOptions = {}) => {
    const authorization = `Bearer ${await api.issueToken({ validForMs: 86_400_000, ...token })}`;
    return async (method: string, path: string, body?: object) => {
      const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await api.app.request(path, init);
      const text = await response.text();
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
      const parsed: any = text === '' ? undefined : JSON.parse(text);
      return { status: response.status, body: parsed, text };
    };
  };
  const wait = (durationMs: number) => {
    nowMs += durationMs;
  };
  const store = createAccountStore(api.memory, createMemoryPartitions(api.memory, 500), {
    clock,
    newId: () => `stamp-${nowMs}`,
  });
  return { api, upstream, asked, as, admin: await as({ client_id: 'an-admin' }), store, wait };
}

describe('adding an account', () => {
  test('checks its key at the upstream, answers what the key sees, and serves the account at once', async () => {
    const { admin, as, upstream, asked } = await setUp();

    const added = await admin('POST', ACCOUNTS, { account_id: 'tenant' });

    expect(added).toMatchObject({
      status: 201,
      body: {
        account: {
          account_id: 'tenant',
          state: 'active',
          origin: 'added',
          added_by: 'an-admin',
          upstream_base_url: `https://${HOST}/api/v2`,
          settings: { key_secret_id: SECRET },
        },
        check: { project_count: 2, has_more_projects: false },
      },
    });
    expect(asked).toContain(SECRET);
    expect(upstream.sent).toMatchObject([
      { method: 'GET', url: `https://${HOST}/api/v2/projects?limit=100` },
      { method: 'GET', url: `https://${HOST}/api/v2/auth` },
    ]);
    const tenant = await as({ account_id: 'tenant' });
    expect(await tenant('GET', '/api/v2/projects')).toMatchObject({ status: 200 });
  });

  test('again with the same settings gives the same account back, and asks the upstream nothing', async () => {
    const { admin, upstream } = await setUp();
    const body = { account_id: 'tenant', poll_interval_seconds: 1, lane: 3 };
    const first = await admin('POST', ACCOUNTS, body);
    upstream.sent.length = 0;

    const second = await admin('POST', ACCOUNTS, body);

    expect(second).toMatchObject({ status: 200, body: { account: first.body.account } });
    expect(second.body).not.toHaveProperty('check');
    expect(upstream.sent).toEqual([]);
  });

  test('with other settings is a conflict, and changes nothing', async () => {
    const { admin, store } = await setUp();
    await admin('POST', ACCOUNTS, { account_id: 'tenant' });

    const again = await admin('POST', ACCOUNTS, { account_id: 'tenant', poll_interval_seconds: 1, lane: 2 });

    expect(again).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('differs in lane, poll_interval_seconds') },
    });
    expect((await store.get('tenant'))?.settings?.poll_interval_seconds).toBeUndefined();
  });

  test('of the deployment is a conflict', async () => {
    const { admin } = await setUp();

    expect(await admin('POST', ACCOUNTS, { account_id: ACCOUNT_ID })).toMatchObject({ status: 409 });
  });

  test('is refused for its address, and not for its key, when the path of the API is missing', async () => {
    const { admin } = await setUp(() => Response.json({ message: 'no' }, { status: 401 }));
    const refused = await admin('POST', ACCOUNTS, {
      account_id: 'tenant',
      upstream_base_url: `https://${HOST}/`,
    });

    expect(refused.body.detail).toContain(
      `answered 401; check the address first: its path is /, and the API of the service is at https://${HOST}/api/v2.`,
    );
  });

  test.each([
    [401, 'refuses the key'],
    [403, 'project_ids'],
    [500, 'no usable answer'],
    [429, 'for its rate'],
  ])('is refused when the upstream answers %i, in words that say so', async (status, words) => {
    const { admin, store } = await setUp(() => Response.json({ message: 'no' }, { status }));

    const refused = await admin('POST', ACCOUNTS, { account_id: 'tenant' });

    expect(refused).toMatchObject({
      status: 422,
      body: {
        type: 'urn:operations-bridge:problem:account-unusable',
        detail: expect.stringContaining(words),
      },
    });
    expect(refused.text).not.toContain(KEY);
    expect(await store.get('tenant')).toBeUndefined();
  });

  test.each([
    [Object.assign(new Error('arn'), { name: 'ResourceNotFoundException' }), 'There is no secret named'],
    [Object.assign(new Error('arn'), { name: 'AccessDeniedException' }), 'may not read the secret'],
    [new AppError('secret_without_key', `Secret ${SECRET} holds no key for it`), 'holds no key'],
  ])('is refused when its secret cannot be read: %s', async (fault, words) => {
    const { admin, upstream, store } = await setUp(twoProjects, fault);

    expect(await admin('POST', ACCOUNTS, { account_id: 'tenant' })).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining(words) },
    });
    expect(upstream.sent).toEqual([]);
    expect(await store.get('tenant')).toBeUndefined();
  });

  test('whose key belongs to some projects tries each of these projects', async () => {
    const { admin, upstream } = await setUp();
    const project_ids = [PROJECT_ID, OTHER_PROJECT_ID];

    const added = await admin('POST', ACCOUNTS, { account_id: 'tenant', project_ids });

    expect(added).toMatchObject({ status: 201, body: { check: { project_count: 2 } } });
    expect(upstream.sent.map(({ url }) => new URL(url).pathname)).toEqual([
      ...project_ids.map((id) => `/api/v2/projects/${id}/operations`),
      '/api/v2/auth',
    ]);
  });

  test.each([403, 404])('names the project that its key must not see (%i)', async (status) => {
    const { admin } = await setUp(({ url }) =>
      url.includes(OTHER_PROJECT_ID)
        ? Response.json({ message: 'no' }, { status })
        : Response.json({ operations: [] }),
    );
    const project_ids = [PROJECT_ID, OTHER_PROJECT_ID];

    const refused = await admin('POST', ACCOUNTS, { account_id: 'tenant', project_ids });

    expect(refused).toMatchObject({
      status: 422,
      body: {
        detail: expect.stringContaining(`the project ${OTHER_PROJECT_ID} (${status}); check project_ids`),
      },
    });
  });

  test('with a key that another account has, too, succeeds with a warning', async () => {
    const { admin } = await setUp();

    const { body } = await admin('POST', ACCOUNTS, { account_id: 'tenant' });

    expect(body.check.same_key_as).toEqual([ACCOUNT_ID]);
    expect(body.warnings).toEqual([expect.stringContaining(`The same key is used for ${ACCOUNT_ID}:`)]);
    expect(JSON.stringify(body)).not.toContain(KEY);
  });

  test('is only validated on request, before there is a secret: all but the key is judged', async () => {
    const { admin, asked, upstream, store } = await setUp();
    const validate = (body: object) => admin('POST', `${ACCOUNTS}?validate_only=true`, body);

    expect(await validate({ account_id: 'tenant' })).toMatchObject({
      status: 200,
      body: { validated: true, key_secret_id: SECRET },
    });
    expect(await validate({ account_id: ACCOUNT_ID })).toMatchObject({ status: 409 });
    expect(
      await validate({ account_id: 'tenant', upstream_base_url: 'https://evil.test/api/v2' }),
    ).toMatchObject({ status: 400 });
    expect(await store.get('tenant')).toBeUndefined();
    expect([...asked, ...upstream.sent]).toEqual([]);
  });

  test('is described in whole words when a value is out of its range', async () => {
    const { admin } = await setUp();

    const refused = await admin('POST', ACCOUNTS, { account_id: 'tenant', poll_interval_seconds: 0.1 });

    expect(refused.body.detail).toMatch(/^body\.poll_interval_seconds: must be at least \d/);
  });

  test.each([
    [{ upstream_base_url: 'https://evil.test/api/v2' }, 'body.upstream_base_url'],
    [{ upstream_base_url: `https://${HOST}@evil.test/api/v2` }, 'body.upstream_base_url'],
    [{ upstream_base_url: `https://${HOST}:444/api/v2` }, 'body.upstream_base_url'],
    [{ key_secret_id: 'operations-bridge/token-pepper' }, 'body.key_secret_id'],
    [{ command_key_secret_id: 'operations-bridge/slack' }, 'body.command_key_secret_id'],
    [{ account_id: 'Not An Id' }, 'body.account_id'],
    [{ poller_requests_per_minute: 600 }, 'body.command_requests_per_minute'],
    [{ unknown: 1 }, 'body'],
  ])('is refused with the field that is wrong, before a secret is read: %j', async (fields, field) => {
    const { admin, asked, upstream } = await setUp();

    const refused = await admin('POST', ACCOUNTS, { account_id: 'tenant', ...fields });

    expect(refused.status).toBe(400);
    expect(refused.body.errors[0].field).toContain(field);
    expect([...asked, ...upstream.sent]).toEqual([]);
  });

  test('is refused when the bridge has as many as it takes', async () => {
    const { admin, store, wait } = await setUp();
    for (let place = 0; place < ADDED_ACCOUNTS_MAX; place++) {
      const account_id = `tenant-${place}`;
      const settings = anAccount({ account_id, upstream_base_url: `https://${HOST}/api/v2` });
      await store.add({ account_id, state: 'active', settings, changed_by: 'a-script' });
    }
    wait(LOOK_MS);

    expect(await admin('POST', ACCOUNTS, { account_id: 'one-more' })).toMatchObject({ status: 409 });
  });

  test('leaves an audit record with the name of the caller', async () => {
    const { admin } = await setUp();
    await admin('POST', ACCOUNTS, { account_id: 'tenant' });

    const { body } = await admin('GET', '/bridge/v1/audit');

    expect(body.records).toMatchObject([
      { call: 'addAccount', client_id: 'an-admin', outcome: 'done', resource: { account_id: 'tenant' } },
    ]);
  });

  test('leaves an audit record that names the account also when it is refused', async () => {
    const { admin } = await setUp(() => Response.json({ message: 'no' }, { status: 401 }));
    await admin('POST', ACCOUNTS, { account_id: 'tenant' });

    const { body } = await admin('GET', '/bridge/v1/audit');

    expect(body.records).toMatchObject([{ outcome: 'refused', resource: { account_id: 'tenant' } }]);
  });
});

describe('changing an account', () => {
  const withTenant = async (answer?: (sent: Sent) => Response) => {
    const all = await setUp(answer);
    await all.admin('POST', ACCOUNTS, { account_id: 'tenant' });
    all.upstream.sent.length = 0;
    return all;
  };

  test('pauses it and lets it go on', async () => {
    const { admin, as, upstream } = await withTenant();
    const tenant = await as({ account_id: 'tenant' });

    expect(await admin('PATCH', TENANT, { state: 'paused' })).toMatchObject({
      status: 200,
      body: { account: { state: 'paused', changed_by: 'an-admin' } },
    });
    expect(await tenant('GET', '/api/v2/projects')).toMatchObject({ status: 503 });
    expect(upstream.sent).toEqual([]);

    await admin('PATCH', TENANT, { state: 'active' });
    expect(await tenant('GET', '/api/v2/projects')).toMatchObject({ status: 200 });
  });

  test('pins it to a lane, and takes the pin away', async () => {
    const { admin } = await withTenant();

    expect((await admin('PATCH', TENANT, { lane: 4 })).body.account.lane).toBe(4);
    expect((await admin('PATCH', TENANT, { state: 'paused' })).body.account.lane).toBe(4);
    expect((await admin('PATCH', TENANT, { lane: null })).body.account).not.toHaveProperty('lane');
  });

  test('changes what is given, and nothing else', async () => {
    const { admin } = await withTenant();

    const { body } = await admin('PATCH', TENANT, { poll_interval_seconds: 2, project_ids: [PROJECT_ID] });

    expect(body.account.settings).toMatchObject({
      poll_interval_seconds: 2,
      project_ids: [PROJECT_ID],
      key_secret_id: SECRET,
      linger_seconds: 60,
    });
  });

  test('to another secret checks the key in it, and leaves the account as it is when the upstream refuses', async () => {
    let status = 200;
    const answer = () => (status === 200 ? twoProjects() : Response.json({ message: 'no' }, { status }));
    const { admin, store } = await withTenant(answer);
    status = 401;

    const other = { key_secret_id: 'operations-bridge/upstream-keys/other' };

    expect(await admin('PATCH', TENANT, other)).toMatchObject({ status: 422 });
    expect((await store.get('tenant'))?.settings?.key_secret_id).toBe(SECRET);
  });

  test('that names the same secret again tries its key, because it may be another one now', async () => {
    const { admin, upstream } = await withTenant();

    const { status, body } = await admin('PATCH', TENANT, { key_secret_id: SECRET });

    expect({ status, count: body.check.project_count }).toEqual({ status: 200, count: 2 });
    expect(upstream.sent.map(({ url }) => new URL(url).pathname)).toEqual([
      '/api/v2/projects',
      '/api/v2/auth',
    ]);
  });

  test('to other projects tries them', async () => {
    const answer = ({ url }: Sent) =>
      url.includes('/operations') ? Response.json({ message: 'no' }, { status: 404 }) : twoProjects();
    const { admin, store } = await withTenant(answer);

    expect(await admin('PATCH', TENANT, { project_ids: [PROJECT_ID] })).toMatchObject({ status: 422 });
    expect((await store.get('tenant'))?.settings?.project_ids).toBeUndefined();
  });

  test('takes a setting back to its default with null', async () => {
    const { admin, store } = await withTenant();
    const { settings: before } = (await store.get('tenant')) ?? {};
    const other = {
      poll_interval_seconds: 2,
      linger_seconds: 0,
      project_ids: [PROJECT_ID],
      key_secret_id: `${SECRET}-2`,
    };
    await admin('PATCH', TENANT, other);

    const nothing = Object.fromEntries(Object.keys(other).map((name) => [name, null]));
    expect(await admin('PATCH', TENANT, nothing)).toMatchObject({ status: 200 });

    expect((await store.get('tenant'))?.settings).toEqual(before);
  });

  test('is only validated on request, and nothing is tried or changed', async () => {
    const { admin, upstream, store } = await withTenant();
    const validate = (id: string, body: object) =>
      admin('PATCH', `${ACCOUNTS}/${id}?validate_only=true`, body);
    const other = `${SECRET}-2`;

    expect(await validate('tenant', { key_secret_id: other })).toMatchObject({
      status: 200,
      body: { validated: true, key_secret_id: other },
    });
    expect(await validate('tenant', { key_secret_id: 'prod/other-service' })).toMatchObject({ status: 400 });
    expect(await validate('unknown', { linger_seconds: 0 })).toMatchObject({ status: 404 });
    expect(await validate(ACCOUNT_ID, { linger_seconds: 0 })).toMatchObject({ status: 409 });
    expect(upstream.sent).toEqual([]);
    expect((await store.get('tenant'))?.settings?.key_secret_id).toBe(SECRET);
  });

  test('to a secret that holds something else is refused', async () => {
    const { admin } = await withTenant();

    expect(await admin('PATCH', TENANT, { key_secret_id: 'operations-bridge/token-pepper' })).toMatchObject({
      status: 400,
    });
  });

  test('of the deployment can pause it and let it go on, and nothing else', async () => {
    const { admin } = await setUp();
    const main = `${ACCOUNTS}/${ACCOUNT_ID}`;

    expect(await admin('PATCH', main, { state: 'paused' })).toMatchObject({
      status: 200,
      body: { account: { state: 'paused', origin: 'configured' } },
    });
    expect(await admin('GET', '/api/v2/projects')).toMatchObject({ status: 503 });
    expect(await admin('PATCH', main, { lane: 1 })).toMatchObject({ status: 409 });
    expect(await admin('PATCH', main, { state: 'active' })).toMatchObject({ status: 200 });
    expect(await admin('GET', '/api/v2/projects')).toMatchObject({ status: 200 });
  });

  test('that does not exist, or to nothing, is refused', async () => {
    const { admin } = await withTenant();

    expect(await admin('PATCH', `${ACCOUNTS}/unknown`, { state: 'paused' })).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('There is no account unknown') },
    });
    expect(await admin('PATCH', TENANT, {})).toMatchObject({ status: 400 });
    expect(await admin('PATCH', TENANT, { upstream_base_url: 'https://x.test' })).toMatchObject({
      status: 400,
    });
  });
});

describe('removing an account', () => {
  test('ends what its tokens reach, and the same request again is no error', async () => {
    const { admin, as } = await setUp();
    await admin('POST', ACCOUNTS, { account_id: 'tenant' });
    const tenant = await as({ account_id: 'tenant' });

    expect(await admin('DELETE', TENANT)).toMatchObject({ status: 204 });
    expect(await admin('DELETE', TENANT)).toMatchObject({ status: 204 });
    expect(await tenant('GET', '/api/v2/projects')).toMatchObject({ status: 401 });
    expect(await admin('POST', ACCOUNTS, { account_id: 'tenant' })).toMatchObject({ status: 201 });
  });

  test('is refused for one of the deployment, and for one that never was', async () => {
    const { admin } = await setUp();

    expect(await admin('DELETE', `${ACCOUNTS}/${ACCOUNT_ID}`)).toMatchObject({ status: 409 });
    expect(await admin('DELETE', `${ACCOUNTS}/unknown`)).toMatchObject({ status: 404 });
  });

  test('is refused while its commands wait in line', async () => {
    const { api, admin, as } = await setUp();
    await admin('POST', ACCOUNTS, { account_id: 'tenant' });
    await api.memory.update({ key: projectKey('tenant', PROJECT_ID), set: { kind: 'project' } });
    const authorization = `Bearer ${await api.issueToken({ account_id: 'tenant', validForMs: 86_400_000 })}`;
    const headers = { authorization, prefer: 'respond-async' };
    const path = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
    expect((await api.app.request(path, { method: 'POST', headers })).status).toBe(202);

    expect(await admin('DELETE', TENANT)).toMatchObject({ status: 409 });
    expect(await (await as({ account_id: 'tenant' }))('GET', '/bridge/v1/commands')).toMatchObject({
      status: 200,
    });
  });
});

describe('the list of accounts', () => {
  test('shows administrators every account, page by page, with its state', async () => {
    const { admin } = await setUp();
    for (const account_id of ['one', 'two']) await admin('POST', ACCOUNTS, { account_id });
    await admin('PATCH', `${ACCOUNTS}/two`, { state: 'paused' });

    const first = await admin('GET', `${ACCOUNTS}?limit=2`);
    const second = await admin('GET', `${ACCOUNTS}?limit=2&cursor=${first.body.cursor}`);

    const shown = [...first.body.accounts, ...second.body.accounts];
    expect(shown.map(({ account_id, state, origin }) => [account_id, state, origin])).toEqual([
      ['main', 'active', 'configured'],
      ['one', 'active', 'added'],
      ['two', 'paused', 'added'],
    ]);
    expect(second.body).not.toHaveProperty('cursor');
    expect(shown[0]).toMatchObject({ healthy: false, reasons: [expect.any(String)] });
  });

  test('does not call an account healthy whose key cannot be read', async () => {
    const { admin, api } = await setUp();
    const status = nextStatus(undefined, {
      account_id: ACCOUNT_ID,
      nowMs: NOON_MS,
      sinceMs: NOON_MS,
      lastCompleteWalkAtMs: undefined,
      trouble: 'key_unreadable',
      project_count: 0,
      open_operation_count: 0,
      requests_per_minute: 350,
      tally: { requestCount: 0, throttledCount: 0, delaysMs: [] },
    });
    await writeAccountStatus(api.memory, status);

    expect((await admin('GET', ACCOUNTS)).body.accounts).toMatchObject([
      { healthy: false, reasons: [expect.stringMatching(/key cannot be read from its secret/)] },
    ]);
  });

  test('shows administrators one account with all that the poller reports of it', async () => {
    const { admin, api } = await setUp();
    await admin('POST', ACCOUNTS, { account_id: 'tenant' });
    const status = nextStatus(undefined, {
      account_id: ACCOUNT_ID,
      nowMs: NOON_MS,
      sinceMs: NOON_MS - 60_000,
      lastCompleteWalkAtMs: NOON_MS,
      project_count: 1,
      open_operation_count: 0,
      requests_per_minute: 350,
      tally: { requestCount: 80, throttledCount: 2, delaysMs: [] },
    });
    await writeAccountStatus(api.memory, status);

    const { accounts } = (await admin('GET', `${ACCOUNTS}?account_id=${ACCOUNT_ID}`)).body;

    expect(accounts).toHaveLength(1);
    expect(accounts[0]).toMatchObject({
      account_id: ACCOUNT_ID,
      state: 'active',
      requests_per_minute: 350,
      points: [{ request_count: 80, throttled_count: 2 }],
    });
    expect((await admin('GET', `${ACCOUNTS}?account_id=unknown`)).body.accounts).toEqual([]);
    expect((await admin('GET', ACCOUNTS)).body.accounts[0]).not.toHaveProperty('points');
  });

  test('shows every other caller the account of the token alone', async () => {
    const { admin, as } = await setUp();
    await admin('POST', ACCOUNTS, { account_id: 'tenant' });
    const scopes: readonly Scope[] = ['projects:read'];
    const other = await as({ account_id: 'tenant', scopes });
    const limited = await as({ project_ids: [PROJECT_ID] });

    expect((await other('GET', ACCOUNTS)).body.accounts).toMatchObject([{ account_id: 'tenant' }]);
    expect((await limited('GET', ACCOUNTS)).body.accounts).toMatchObject([{ account_id: ACCOUNT_ID }]);
  });
});

test('a token that may do all that a bundle allows cannot add, change or remove an account', async () => {
  const { as, upstream } = await setUp();
  const { SCOPE_BUNDLES } = await import('../../shared/callers/scopes.ts');
  const call = await as({ scopes: SCOPE_BUNDLES.admin.scopes });

  expect(await call('POST', ACCOUNTS, { account_id: 'tenant' })).toMatchObject({ status: 403 });
  expect(await call('PATCH', TENANT, { state: 'paused' })).toMatchObject({ status: 403 });
  expect(await call('DELETE', TENANT)).toMatchObject({ status: 403 });
  expect(upstream.sent).toEqual([]);
});
