/**
 * Reads the upstream key from Secrets Manager. The key is cached for some minutes, and read again when the upstream
 * refuses it.
 */

import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Clock } from './clock.ts';
import { AppError } from './errors.ts';
import { createSecret, type Secret } from './secret.ts';

/** A rotated key that still works is replaced within this time; a refused key is replaced at once. */
const CACHE_MS = 5 * 60_000;

export function createSecretKeySource(client: SecretsManagerClient, secretId: string, clock: Clock) {
  let cached: { readonly secret: Secret; readonly readAtMs: number } | undefined;

  const refresh = async (): Promise<Secret> => {
    const answer = await client.send(new GetSecretValueCommand({ SecretId: secretId }));
    const text = answer.SecretString?.trim();
    if (!text)
      throw new AppError('secret_empty', `Secret ${secretId} holds no text; put the upstream key into it`);
    cached = { secret: createSecret(text), readAtMs: clock.now() };
    return cached.secret;
  };

  return {
    async current(): Promise<Secret> {
      const isFresh = cached !== undefined && clock.now() - cached.readAtMs < CACHE_MS;
      return isFresh && cached !== undefined ? cached.secret : refresh();
    },
    refresh,
  };
}
