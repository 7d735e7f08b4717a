/** Finds the upstream key of an account in a secret that may hold the keys of many accounts. */

import * as z from 'zod';
import type { Clock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import { createSecret, type Secret } from '../runtime/secret.ts';
import type { KeySource } from '../upstream/send-with-key.ts';

/**
 * Returns where the key of an account comes from. Accounts of the same secret share one cached reading of it. When the
 * key of an account is missing there, it may have been added since, and the secret is read again, but not at once
 * after the last time.
 */
export function accountKeys(
  sourceOf: (secretId: string) => KeySource,
  clock: Clock,
): (secretId: string, accountId: string) => KeySource {
  const sources = new Map<string, KeySource>();
  const missedAtMs = new Map<string, number>();
  return (secretId, accountId) => {
    const source = sources.get(secretId) ?? sourceOf(secretId);
    sources.set(secretId, source);
    const pick = (text: Secret) => keyIn(text, secretId, accountId);
    return {
      async current() {
        const text = await source.current();
        const lastMs = missedAtMs.get(secretId) ?? Number.NEGATIVE_INFINITY;
        if (hasKey(text, accountId) || clock.now() - lastMs < MISSED_MS) return pick(text);
        missedAtMs.set(secretId, clock.now());
        return pick(await source.refresh());
      },
      refresh: async () => pick(await source.refresh()),
    };
  };
}

/** A secret in which a key is missing is read at most once in this time for all accounts that miss theirs. */
const MISSED_MS = 10_000;

function hasKey(text: Secret, accountId: string): boolean {
  const whole = text.reveal();
  return !whole.startsWith('{') || Object.hasOwn(keysIn(whole) ?? {}, accountId);
}

/**
 * A secret is either one key, or a JSON object with a key for each account id. Throws `AppError` `secret_without_key`,
 * which quotes nothing of the secret.
 */
function keyIn(secret: Secret, secretId: string, accountId: string): Secret {
  const text = secret.reveal();
  // No key of the upstream begins with a brace.
  if (!text.startsWith('{')) return secret;
  const keys = keysIn(text);
  if (keys === undefined)
    throw new AppError('secret_without_key', `Secret ${secretId} is neither a key nor a JSON object of keys`);
  const key = Object.hasOwn(keys, accountId) ? keys[accountId]?.trim() : undefined;
  if (!key)
    throw new AppError(
      'secret_without_key',
      `Secret ${secretId} holds no key for the account ${accountId}; add it under this name`,
    );
  return createSecret(key);
}

const keysOfAccounts = z.record(z.string(), z.string());

/** Returns the keys by account id, or undefined when the text is not a JSON object of texts. */
function keysIn(text: string): Readonly<Record<string, string>> | undefined {
  try {
    return keysOfAccounts.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
