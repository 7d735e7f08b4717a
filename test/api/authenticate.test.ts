/** A token that was right once is recognized again by its digest, and that lets no other token in. */

import { expect, test } from 'vitest';
import { createAuthenticator } from '../../functions/api/serving/admission.ts';
import type { TokenRecord } from '../../shared/callers/tokens.ts';
import { mintToken, tokenHash } from '../../shared/callers/tokens.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { NOON_MS } from '../builders.ts';

const PEPPER = createSecret('a-pepper-of-tests');

/** Tokens of one id differ in their secret alone, and each has the right checksum. */
const tokenWith = (secretByte: number) =>
  mintToken((count) => new Uint8Array(count).fill(count === 32 ? secretByte : 7));

function recordOf(hash: string): TokenRecord {
  return {
    token_id: tokenWith(1).id,
    account_id: 'main',
    client_id: 'deploy-bot',
    hash,
    scopes: ['projects:read'],
    created_at: '2026-01-15T12:00:00.000Z',
    expires_at_ms: NOON_MS + 3_600_000,
  };
}

test('another secret under the same id is refused, before and after the right one came', async () => {
  const [right, wrong] = [tokenWith(1).token.reveal(), tokenWith(2).token.reveal()];
  const record = recordOf(tokenHash(right, PEPPER));
  const authenticator = authenticatorAt(
    () => NOON_MS,
    () => record,
  );

  const callers = [];
  for (const token of [wrong, right, wrong, right])
    callers.push((await authenticator.authenticate(token))?.client_id);

  expect(callers).toEqual([undefined, 'deploy-bot', undefined, 'deploy-bot']);
});

test('a token that was right is refused once its time is over, and once its record says that it is revoked', async () => {
  const right = tokenWith(1).token.reveal();
  let record = recordOf(tokenHash(right, PEPPER));
  let nowMs = NOON_MS;
  const authenticator = authenticatorAt(
    () => nowMs,
    () => record,
  );

  expect((await authenticator.authenticate(right))?.client_id).toBe('deploy-bot');
  record = { ...record, revoked_at: '2026-01-15T12:00:01.000Z' };
  nowMs = NOON_MS + 10_000;
  expect(await authenticator.authenticate(right)).toBeUndefined();

  const { revoked_at: _revoked, ...valid } = record;
  record = valid;
  nowMs = NOON_MS + 20_000;
  expect((await authenticator.authenticate(right))?.client_id).toBe('deploy-bot');
  nowMs = record.expires_at_ms;
  expect(await authenticator.authenticate(right)).toBeUndefined();
});

test('a token that is recognized is refused from the millisecond on at which it expires', async () => {
  const right = tokenWith(1).token.reveal();
  const record = { ...recordOf(tokenHash(right, PEPPER)), expires_at_ms: NOON_MS + 5_000 };
  let nowMs = NOON_MS;
  const authenticator = authenticatorAt(
    () => nowMs,
    () => record,
  );

  expect((await authenticator.authenticate(right))?.client_id).toBe('deploy-bot');
  nowMs = NOON_MS + 4_999;
  expect((await authenticator.authenticate(right))?.client_id).toBe('deploy-bot');
  nowMs = NOON_MS + 5_000;
  expect(await authenticator.authenticate(right)).toBeUndefined();
});

function authenticatorAt(now: () => number, read: () => TokenRecord) {
  return createAuthenticator({
    tokens: { read: async () => read() },
    pepper: async () => PEPPER,
    generationOf: () => 1,
    clock: { now, sleep: async () => {} },
  });
}
