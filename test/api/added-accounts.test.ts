/** Accounts that the table adds, as callers of the API and the worker meet them. */

import { describe, expect, test } from 'vitest';
import { createAccountStore, LOOK_MS } from '../../shared/accounts/account-store.ts';
import { projectKey } from '../../shared/store/keys.ts';
import { anAccount } from '../accounts/an-account.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const HOST = 'upstream.test';
const LIST = '/api/v2/projects';
const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;

function setUp() {
  let nowMs = Date.UTC(2026, 0, 15, 12);
  const upstream = createUpstreamDouble(() => Response.json({ projects: [] }));
  // The table answers within its second, and every other wait is over at once.
  const sleep = (ms: number) => (ms === 1_000 ? new Promise<void>(() => {}) : Promise.resolve());
  const clock = { now: () => nowMs, sleep };
  const api = createApiUnderTest({
    upstreamBaseUrl: `https://${HOST}/api/v2`,
    upstreamKey: 'a-key',
    fetch: upstream.fetch,
    clock,
    rules: { upstreamHosts: [HOST], keySecretPrefix: 'operations-bridge/upstream-keys/' },
  });
  let idCount = 0;
  const store = createAccountStore(api.memory, createMemoryPartitions(api.memory), {
    clock,
    newId: () => `stamp-${++idCount}`,
  });
  const add = async (host = HOST) => {
    const settings = anAccount({ upstream_base_url: `https://${host}/api/v2` });
    const item = await store.add({
      account_id: 'tenant',
      state: 'active',
      settings,
      changed_by: 'an-admin',
    });
    if (item === undefined) throw new Error('The account exists already');
    return item;
  };
  const as = async (token: TokenOptions = {}) => {
    const authorization = `Bearer ${await api.issueToken({ validForMs: 86_400_000, ...token })}`;
    return async (path: string, init: { readonly method?: string; readonly prefer?: string } = {}) => {
      const { method = 'GET', prefer } = init;
      const headers = { authorization, 'idempotency-key': 'a-key-of-a-test', ...(prefer && { prefer }) };
      const response = await api.app.request(path, { method, headers });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
  };
  const wait = (durationMs: number) => {
    nowMs += durationMs;
  };
  return { api, upstream, store, add, as, wait };
}

describe('a caller of an account that was added', () => {
  test('is served within seconds, and not before', async () => {
    const { as, add, wait, upstream } = setUp();
    const call = await as({ account_id: 'tenant' });
    expect(await call(LIST)).toMatchObject({ status: 401 });

    await add();
    wait(LOOK_MS);

    expect(await call(LIST)).toMatchObject({ status: 200 });
    expect(upstream.sent).toHaveLength(1);
  });

  test('gets the records of the account, and nothing from the upstream, while the account is paused', async () => {
    const { as, add, store, upstream } = setUp();
    await store.change(await add(), { state: 'paused', changed_by: 'an-admin' });
    const call = await as({ account_id: 'tenant' });

    for (const request of [call(LIST), call(RESTART, { method: 'POST' })])
      expect(await request).toMatchObject({
        status: 503,
        body: { type: 'urn:operations-bridge:problem:account-paused' },
      });
    expect(await call('/bridge/v1/projects')).toMatchObject({ status: 200 });
    expect(upstream.sent).toEqual([]);
  });

  test('is refused everything that needs the upstream when the deployment does not allow its host', async () => {
    const { as, add, upstream } = setUp();
    await add('elsewhere.test');
    const call = await as({ account_id: 'tenant' });

    expect(await call(LIST)).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining('upstream_hosts') },
    });
    expect(upstream.sent).toEqual([]);
  });
});

test('a configured account is paused by an item, and goes on when the item says so', async () => {
  const { as, store, wait } = setUp();
  const call = await as();
  const mark = { account_id: ACCOUNT_ID, state: 'paused', changed_by: 'an-admin' } as const;
  const paused = await store.add(mark);

  expect(await call(LIST)).toMatchObject({ status: 503 });
  if (paused !== undefined) await store.change(paused, { state: 'active', changed_by: 'an-admin' });
  wait(LOOK_MS);

  expect(await call(LIST)).toMatchObject({ status: 200 });
});

test('a command that waits in line is not sent while its account is paused, and is sent afterwards', async () => {
  const { api, as, add, store, wait, upstream } = setUp();
  const item = await add();
  await api.memory.update({ key: projectKey('tenant', PROJECT_ID), set: { kind: 'project' } });
  const call = await as({ account_id: 'tenant' });
  const accepted = await call(RESTART, { method: 'POST', prefer: 'respond-async' });
  expect(accepted).toMatchObject({ status: 202 });
  const paused = await store.change(item, { state: 'paused', changed_by: 'an-admin' });
  const wake = () =>
    api.invokeWorker({
      Records: [
        {
          messageId: 'one',
          receiptHandle: 'one',
          body: JSON.stringify({ account_id: 'tenant', project_id: PROJECT_ID }),
          attributes: { ApproximateReceiveCount: '1' },
        },
      ],
    });

  await wake();
  expect(upstream.sent).toEqual([]);

  if (paused !== undefined) await store.change(paused, { state: 'active', changed_by: 'an-admin' });
  wait(LOOK_MS);
  await wake();
  expect(upstream.sent).toMatchObject([{ method: 'POST' }]);
});
