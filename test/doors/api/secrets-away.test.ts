import { expect, test } from 'vitest';
import { startApi } from './api-on-aws.ts';

const MINUTE_MS = 60_000;
const isOfSecret = ({ action }: { readonly action: string }) => action === 'secretsmanager:GetSecretValue';

test('400 requests at the end of the cache make one call of Secrets Manager, and all are served', async () => {
  const api = await startApi(70);
  await api.request('GET', '/bridge/v1/me');
  await api.time.pass(5 * MINUTE_MS);
  const before = api.calls.filter(isOfSecret).length;

  const answers = await Promise.all(Array.from({ length: 400 }, () => api.request('GET', '/bridge/v1/me')));

  expect(api.calls.filter(isOfSecret)).toHaveLength(before + 1);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

test('requests are served for a day while Secrets Manager is away, and refused as a fault of the bridge after it', async () => {
  const api = await startApi(71);
  expect((await api.request('GET', '/bridge/v1/me')).status).toBe(200);
  api.script = (call) =>
    isOfSecret(call) ? { kind: 'refuse', code: 'InternalServiceError', status: 500 } : undefined;

  await api.time.pass(23 * 60 * MINUTE_MS);
  expect((await api.request('GET', '/bridge/v1/me')).status).toBe(200);
  await api.time.pass(60 * MINUTE_MS);
  expect((await api.request('GET', '/bridge/v1/me')).status).toBe(500);
});
