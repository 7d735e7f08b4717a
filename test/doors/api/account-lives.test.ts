/**
 * An account is removed, and its id is given to an account again. Nothing that one life of an account has handed out
 * reaches the next one, and nothing that belonged to a removed account reaches anything.
 */

import { describe, expect, test } from 'vitest';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { accountKey, projectKey, projectsListOf } from '../../../shared/store/keys.ts';
import { listed } from '../../../shared/store/table.ts';
import { ACCOUNT_ID } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import type { Sent } from '../../api/upstream-double.ts';
import { type Ask, openApi } from './api-door.ts';

const ACCOUNTS = '/bridge/v1/accounts';
const TENANT = `${ACCOUNTS}/tenant`;
const LIST = '/api/v2/projects';
const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const TEST_EVENT = [
  '/bridge/v1/events/test',
  { detail_type: 'Operation State Changed', detail: {} },
] as const;

/** The owner of each key, as the upstream tells it. The key of the account `main` has an owner of its own. */
const OWNERS: Readonly<Record<string, string>> = {
  'key-of-a': 'org-a',
  'new-key-of-a': 'org-a',
  'key-of-b': 'org-b',
};

/** Opens the door with an administrator, and with secrets whose keys the test chooses. */
async function openLives() {
  const keys = { tenant: 'key-of-a' };
  const ownerOf = ({ headers }: Sent) => OWNERS[headers.get('authorization')?.slice('Bearer '.length) ?? ''];
  const door = await openApi(
    (sent) => {
      const owner = ownerOf(sent);
      if (!sent.url.endsWith('/auth')) return Response.json({ projects: [], operations: [] });
      return owner === undefined
        ? Response.json({ message: 'no' }, { status: 404 })
        : Response.json({ account_id: owner, auth_method: 'api_key_org' });
    },
    {
      rules: { upstreamHosts: ['upstream.test'], keySecretPrefix: 'operations-bridge/upstream-keys/' },
      keyOf({ account_id }) {
        const read = async () => createSecret(account_id === 'tenant' ? keys.tenant : 'key-of-main');
        return { current: read, refresh: read };
      },
    },
  );
  const admin = await door.as({ client_id: 'an-admin' });
  const add = (key = 'key-of-a') => {
    keys.tenant = key;
    return admin('POST', ACCOUNTS, {}, { account_id: 'tenant' });
  };
  const remove = () => admin('DELETE', TENANT);
  return {
    ...door,
    admin,
    keys,
    add,
    remove,
    ofTenant: () => door.as({ account_id: 'tenant', validForMs: 80 * 86_400_000 }),
  };
}

/** Everything that the token of a removed account could do once. */
async function deedsOf(ask: Ask): Promise<readonly number[]> {
  const [path, body] = TEST_EVENT;
  const answers = [
    await ask('GET', LIST),
    await ask('GET', '/bridge/v1/projects'),
    await ask('GET', '/bridge/v1/me'),
    await ask('POST', RESTART),
    await ask('POST', path, {}, body),
    await ask('POST', ACCOUNTS, {}, { account_id: 'another' }),
    await ask('PATCH', `${ACCOUNTS}/${ACCOUNT_ID}`, {}, { state: 'paused' }),
  ];
  return answers.map(({ status }) => status);
}

describe('the token of a removed account', () => {
  test('reaches nothing, and is told why', async () => {
    const { add, remove, ofTenant, upstream, api } = await openLives();
    await add();
    const tenant = await ofTenant();
    expect(await tenant('GET', LIST)).toMatchObject({ status: 200 });
    await remove();
    upstream.sent.length = 0;

    expect(await deedsOf(tenant)).toEqual([401, 401, 401, 401, 401, 401, 401]);
    const { body } = await tenant('GET', LIST);
    expect(body.detail).toContain('was removed from this bridge, which ends its tokens');
    expect([upstream.sent, api.published]).toEqual([[], []]);
  });

  test('reaches nothing of the account that has its id afterwards', async () => {
    const { add, remove, ofTenant, upstream } = await openLives();
    await add();
    const old = await ofTenant();
    await remove();
    await add();
    const young = await ofTenant();
    upstream.sent.length = 0;

    expect(await deedsOf(old)).toEqual([401, 401, 401, 401, 401, 401, 401]);
    expect(upstream.sent).toEqual([]);
    expect(await young('GET', LIST)).toMatchObject({ status: 200 });
  });

  test('of each life is good for that life alone, however often the id is given anew', async () => {
    const { add, remove, ofTenant } = await openLives();
    const tokens: Ask[] = [];
    for (let life = 0; life < 4; life++) {
      await add();
      tokens.push(await ofTenant());
      const statuses = await Promise.all(tokens.map(async (ask) => (await ask('GET', LIST)).status));
      expect(statuses).toEqual([...Array(life).fill(401), 200]);
      await remove();
    }
  });

  test('stays refused when the mark of the removal would have expired a month later', async () => {
    const { add, remove, ofTenant, api, pass } = await openLives();
    await add();
    const old = await ofTenant();
    await remove();
    pass(31 * 86_400_000);
    api.memory.sync.expire(Date.UTC(2026, 1, 20));
    await add();

    expect(await old('GET', '/bridge/v1/me')).toMatchObject({ status: 401 });
  });
});

describe('the id of a removed account', () => {
  test('comes back with another key of the same owner, and what was recorded goes on', async () => {
    const { add, remove, ofTenant, api } = await openLives();
    const record = projectKey('tenant', PROJECT_ID);
    await add();
    await api.memory.update({
      key: record,
      set: {
        kind: 'project',
        account_id: 'tenant',
        project_id: PROJECT_ID,
        is_visible: true,
        ...listed(projectsListOf('tenant'), PROJECT_ID),
      },
    });
    await remove();

    expect(await add('new-key-of-a')).toMatchObject({ status: 201 });
    const tenant = await ofTenant();
    const { body } = await tenant('GET', '/bridge/v1/projects');
    expect(body.projects).toMatchObject([{ project_id: PROJECT_ID }]);
  });

  test.each([
    ['a key of another owner', 'key-of-a', 'key-of-b', 'belongs to another owner'],
    ['a key whose owner the upstream does not tell', 'key-of-a', 'key-of-nobody', 'does not say'],
    ['any key when nobody knows the first owner', 'key-of-nobody', 'key-of-b', 'nobody knows whose'],
  ])('does not come back with %s', async (_what, first, second, why) => {
    const { add, remove, upstream } = await openLives();
    expect(await add(first)).toMatchObject({ status: 201 });
    await remove();
    const refused = await add(second);

    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining(why) } });
    expect(refused.body.detail).toContain('operations-bridge accounts remove tenant --purge');
    expect(upstream.sent.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  test('does not come back when the account was configured and has records, and is free when it never was', async () => {
    const { add, api, admin } = await openLives();
    await api.memory.update({ key: accountKey('tenant'), set: { kind: 'account', account_id: 'tenant' } });

    expect(await add()).toMatchObject({ status: 409 });
    expect(await admin('DELETE', TENANT)).toMatchObject({ status: 204 });
    expect(await admin('DELETE', `${ACCOUNTS}/nobody`)).toMatchObject({ status: 404 });
  });

  test('has the owner of the key that a change has tried last', async () => {
    const { add, remove, admin, keys } = await openLives();
    await add('key-of-nobody');
    keys.tenant = 'key-of-a';
    await admin('PATCH', TENANT, {}, { key_secret_id: 'operations-bridge/upstream-keys/tenant' });
    await remove();

    expect(await add('key-of-b')).toMatchObject({ status: 409 });
    expect(await add('new-key-of-a')).toMatchObject({ status: 201 });
  });
});

test('a token that was made before there were generations goes on in the first life of its account', async () => {
  const { add, ofTenant, ask } = await openLives();
  const early = await ofTenant();
  await add();

  expect(await early('GET', LIST)).toMatchObject({ status: 200 });
  expect(await ask('GET', LIST)).toMatchObject({ status: 200 });
});

describe('the token of a paused account', () => {
  test('reads what is recorded, and reaches nothing beyond its account', async () => {
    const { add, ofTenant, admin, upstream, api } = await openLives();
    await add();
    const tenant = await ofTenant();
    await admin('PATCH', TENANT, {}, { state: 'paused' });
    upstream.sent.length = 0;

    expect(await deedsOf(tenant)).toEqual([503, 200, 200, 503, 503, 503, 503]);
    expect([upstream.sent, api.published]).toEqual([[], []]);
    expect(await tenant('DELETE', `${ACCOUNTS}/another`)).toMatchObject({ status: 503 });
  });

  test('lets its own account go on', async () => {
    const { add, ofTenant, admin } = await openLives();
    await add();
    const tenant = await ofTenant();
    await admin('PATCH', TENANT, {}, { state: 'paused' });

    expect(await tenant('PATCH', TENANT, {}, { state: 'active' })).toMatchObject({ status: 200 });
    expect(await tenant('GET', LIST)).toMatchObject({ status: 200 });
  });
});

describe('what one life of an account has handed out or kept', () => {
  test('is a cursor that the next life cannot use', async () => {
    const { add, remove, ofTenant, api } = await openLives();
    for (const id of ['a-project-1', 'a-project-2'])
      await api.memory.update({
        key: projectKey('tenant', id),
        set: {
          kind: 'project',
          account_id: 'tenant',
          project_id: id,
          is_visible: true,
          ...listed(projectsListOf('tenant'), id),
        },
      });
    await add();
    const old = await ofTenant();
    const { cursor } = (await old('GET', '/bridge/v1/projects?limit=1')).body;
    const next = `/bridge/v1/projects?limit=1&cursor=${encodeURIComponent(cursor)}`;
    expect(await old('GET', next)).toMatchObject({ status: 200 });
    await remove();
    await add();

    expect(await (await ofTenant())('GET', next)).toMatchObject({ status: 400 });
  });

  test('is an answer under an Idempotency-Key that the next life does not get', async () => {
    const { add, remove, ofTenant } = await openLives();
    const key = { 'idempotency-key': 'a-key' };
    await add();
    await (await ofTenant())('POST', RESTART, key);
    await remove();
    await add();
    const again = await (await ofTenant())('POST', RESTART, key);

    expect(again.headers.get('idempotency-replayed')).toBeNull();
  });

  test('is the answer to a command from the line, which the next life does not get', async () => {
    const { add, remove, ofTenant, api } = await openLives();
    await add();
    const old = await ofTenant();
    const { headers } = await old('POST', RESTART, { prefer: 'respond-async' });
    const place = headers.get('location') ?? '';
    const body = JSON.stringify({ account_id: 'tenant', project_id: PROJECT_ID });
    await api.invokeWorker({
      Records: [{ messageId: 'm', receiptHandle: 'm', body, attributes: { ApproximateReceiveCount: '1' } }],
    });
    expect((await old('GET', place)).body.command.answer?.body).toBeDefined();
    await remove();
    await add();
    const found = await (await ofTenant())('GET', place);

    expect(found.body.command?.answer?.body).toBeUndefined();
  });
});

test('the feed of an account that was added can be read, although its own item has a time of change, too', async () => {
  const { add, ofTenant } = await openLives();
  await add();
  const tenant = await ofTenant();

  expect(await tenant('GET', '/bridge/v1/events/recent')).toMatchObject({ status: 200 });
  expect(await tenant('GET', '/bridge/v1/events')).toMatchObject({ status: 200 });
});

describe('the audit of an account', () => {
  test('is read by callers of its present life alone, and by administrators of accounts when it is removed', async () => {
    const { add, remove, ofTenant, as, admin } = await openLives();
    await add();
    await (await ofTenant())('POST', RESTART);
    await remove();
    await add();
    const own = (await (await ofTenant())('GET', '/bridge/v1/audit')).body.records;
    await remove();
    const all = (await admin('GET', '/bridge/v1/audit?account_id=tenant')).body.records;

    expect(own.map(({ call }: { call: string }) => call)).toEqual(['addAccount']);
    expect(all.map(({ call }: { call: string }) => call).toSorted()).toEqual([
      'addAccount',
      'addAccount',
      'removeAccount',
      'removeAccount',
      'restartEndpoint',
    ]);
    const viewer = await as({ scopes: ['audit:read'] });
    const limited = await as({ scopes: ['audit:read', 'accounts:read'], project_ids: [PROJECT_ID] });
    for (const ask of [viewer, limited])
      expect(await ask('GET', '/bridge/v1/audit?account_id=tenant')).toMatchObject({ status: 403 });
    const page = await admin('GET', '/bridge/v1/audit?account_id=tenant&limit=2');
    const next = `limit=2&cursor=${encodeURIComponent(page.body.cursor)}`;
    expect((await admin('GET', `/bridge/v1/audit?account_id=tenant&${next}`)).body.records).toHaveLength(2);
    expect(await admin('GET', `/bridge/v1/audit?${next}`)).toMatchObject({ status: 400 });
  });
});
