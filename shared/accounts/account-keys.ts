/** Finds the upstream key of an account in a secret that may hold the keys of many accounts. */

import * as z from 'zod';
import { AppError } from '../runtime/errors.ts';
import { createSecret, type Secret } from '../runtime/secret.ts';
import type { KeySource } from '../upstream/key-source.ts';

/**
 * Returns where the key of an account comes from. Accounts of the same secret share one cached reading of it.
 */
export function accountKeys(
  sourceOf: (secretId: string) => KeySource,
): (secretId: string, accountId: string) => KeySource {
  const sources = new Map<string, KeySource>();
  return (secretId, accountId) => {
    const source = sources.get(secretId) ?? sourceOf(secretId);
    sources.set(secretId, source);
    const pick = (text: Secret) => keyIn(text, secretId, accountId);
    return {
      current: async () => pick(await source.current()),
      refresh: async () => pick(await source.refresh()),
    };
  };
}

/**
 * A secret is either one key, or a JSON object with a key for each account id. Throws `AppError` `secret_without_key`,
 * which quotes nothing of the secret.
 */
export function keyIn(secret: Secret, secretId: string, accountId: string): Secret {
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
export function keysIn(text: string): Readonly<Record<string, string>> | undefined {
  try {
    return keysOfAccounts.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
