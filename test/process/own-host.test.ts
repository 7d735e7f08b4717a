/** Checks that what a run opens on this machine answers only the programs of that run. */

import { mkdtempSync, readdirSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDataFolder } from '../../infra/local/data-folder.ts';
import { issueDevelopmentToken } from '../../infra/local/local-api.ts';
import { isOwnHost } from '../../infra/process/operating-system.ts';
import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import { createTokenStore, tokenIdOf } from '../../shared/callers/tokens.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { openAws } from '../local/aws/aws-under-test.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const REAL_KEY = 'napi_the_key_of_a_real_account';

/**
 * Sends a request with a `host` header of choice, which `fetch` does not allow. A page that reaches this machine by
 * DNS rebinding sends its own name.
 */
function ask(
  url: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const outgoing = request(url, { method: body === '' ? 'GET' : 'POST', headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
    );
  });
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}

const signedWith = (accessKeyId: string, service = 'secretsmanager') => ({
  authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260115/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=00`,
  'x-amz-target': 'secretsmanager.GetSecretValue',
});

const secret = JSON.stringify({ SecretId: 'a-key' });

describe('the local AWS', () => {
  const hosts = [
    'evil.example',
    'evil.example:8080',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '0.0.0.0',
    '10.0.0.1',
  ];
  test.each(hosts)('refuses a page that calls it %j, even with the key of the run', async (host) => {
    const { aws } = await openAws();
    aws.secrets.create('a-key', REAL_KEY);

    const answer = await ask(aws.endpoint, { host, ...signedWith(aws.credentials.accessKeyId) }, secret);

    expect(answer.status).not.toBe(200);
    expect(answer.text).not.toContain(REAL_KEY);
  });

  test.each(['local', '', 'x', 'AKIAIOSFODNN7EXAMPLE', '0'.repeat(32)])(
    'refuses a program that signs with %j',
    async (accessKeyId) => {
      const { aws } = await openAws();
      aws.secrets.create('a-key', REAL_KEY);

      for (const service of ['secretsmanager', 'dynamodb', 'events', 'sns']) {
        const answer = await ask(aws.endpoint, signedWith(accessKeyId, service), secret);
        expect([service, answer.status, answer.text.includes(REAL_KEY)]).toEqual([service, 403, false]);
      }
      expect([...aws.counts]).toEqual([]);
    },
  );

  test('answers a program that signs with the key of the run, and each run has another key', async () => {
    const [{ aws }, other] = [await openAws(), await openAws()];
    aws.secrets.create('a-key', REAL_KEY);

    const answer = await ask(aws.endpoint, signedWith(aws.credentials.accessKeyId), secret);

    expect(answer.text).toContain(REAL_KEY);
    expect(aws.credentials.accessKeyId).toMatch(/^[0-9a-f]{32}$/);
    expect(other.aws.credentials.accessKeyId).not.toBe(aws.credentials.accessKeyId);
  });
});

test.each(['127.0.0.1', '127.0.0.1:3000', 'localhost', 'LOCALHOST:80', '[::1]:3000'])(
  '%s is this machine',
  (host) => expect(isOwnHost(host)).toBe(true),
);

test('the simulated upstream refuses a request that names another host', async () => {
  const upstream = await startUpstream({ seed: 1, projectCount: 1, apiKeys: ['a-key'] });
  onTestFinished(() => upstream.close());
  const authorization = 'Bearer a-key';

  expect((await ask(`${upstream.baseUrl}/projects`, { authorization })).status).toBe(200);
  expect((await ask(`${upstream.baseUrl}/projects`, { authorization, host: 'evil.example' })).status).toBe(
    421,
  );
});

test('the simulated upstream answers under a further name that a person has given it', async () => {
  const upstream = await startUpstream({
    seed: 1,
    projectCount: 1,
    apiKeys: ['a-key'],
    hosts: ['neon.test'],
  });
  onTestFinished(() => upstream.close());
  const statusOf = async (host: string) =>
    (await ask(`${upstream.baseUrl}/projects`, { authorization: 'Bearer a-key', host })).status;

  expect(await Promise.all(['neon.test', 'NEON.test:4000', 'evil.example'].map(statusOf))).toEqual([
    200, 200, 421,
  ]);
});

test('files and folders on disk can be read only by their owner', async () => {
  const dataDir = join(mkdtempSync(join(tmpdir(), 'own-')), 'data');
  const upstream = { kind: 'simulated', seed: 1, projectCount: 1 };
  const surroundings = { clock: systemClock, print: () => {} };
  const folder = await openDataFolder({ dataDir, upstream, speed: 1 } as never, surroundings);
  onTestFinished(() => folder[Symbol.asyncDispose]());
  folder.keepEvent({ id: 'x' } as never);
  folder.keepLogLine('a line');

  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  const entries = readdirSync(dataDir).map((name) => [name, modeOf(join(dataDir, name))] as const);

  expect(modeOf(dataDir)).toBe('700');
  expect(new Map(entries).get('tables')).toBe('700');
  const files = entries.filter(([name]) => name !== 'tables');
  expect(files.length).toBeGreaterThan(4);
  expect(new Set(files.map(([, mode]) => mode))).toEqual(new Set(['600']));
});

test('a data folder has one development token in all its runs, and another one when that was revoked or has expired', async () => {
  const table = createMemoryTable();
  let nowMs = 1_000;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const issue = (pepper = 'a-pepper') => issueDevelopmentToken(table, { accountId: 'main', pepper, clock });
  const first = await issue();
  const again = await issue();
  await createTokenStore(table, clock).revoke(tokenIdOf(first) ?? '');
  const second = await issue();
  nowMs += 91 * 24 * 3_600_000;
  const third = await issue();

  expect(again).toBe(first);
  expect(new Set([first, second, third, await issue('another-pepper')]).size).toBe(4);
  expect(await issue()).toBe(third);
});
