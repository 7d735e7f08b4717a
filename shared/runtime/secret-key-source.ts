/**
 * Reads a secret from Secrets Manager. What was read is cached for some minutes and used for a day while Secrets Manager
 * does not answer, because a secret that worked a minute ago works still.
 */

import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Clock } from './clock.ts';
import { AppError, toError } from './errors.ts';
import { createSecret, type Secret } from './secret.ts';
import { silentTelemetry, type Telemetry } from './telemetry.ts';

/** A rotated key that still works is replaced within this time; a refused key is replaced at once. */
const CACHE_MS = 5 * 60_000;

/** What was read this long ago is not used any more: whoever has taken access away means it by then. */
export const KEPT_MS_MAX = 24 * 60 * 60_000;

/** While the secret cannot be read it is tried again this often, so that the alarm sees two failures a minute. */
const RETRY_MS = 30_000;

/** A caller waits at most this long for a fresh reading while there is an older one. Most readings take a tenth of it. */
const WAIT_MS = 1_000;

/**
 * A secret that keys hashes or seals has at least this many characters. A person who holds one text that was made with a
 * word finds the word by a list.
 */
export const KEYING_CHARACTERS_MIN = 32;

/** The secret does not exist any more, or is about to be deleted (Secrets Manager API Reference, GetSecretValue). */
const GONE: ReadonlySet<string> = new Set(['ResourceNotFoundException', 'InvalidRequestException']);

/** Says whether a reading failed because there is no secret, or nothing in it that may be used. No later reading passes by itself. */
export function isSecretGone(error: unknown): boolean {
  return error instanceof AppError || GONE.has(toError(error).name);
}

/** All that ask at the same time share one reading. Each failed one is a log line and a metric. */
export function createSecretKeySource(
  client: SecretsManagerClient,
  secretId: string,
  clock: Clock,
  telemetry: Telemetry = silentTelemetry,
) {
  return createSource(client, secretId, { clock, telemetry, charactersMin: 1 });
}

/** Does the same for a secret that keys hashes or seals, and refuses one that is too short for that. */
export function createKeyingSecretSource(
  client: SecretsManagerClient,
  secretId: string,
  clock: Clock,
  telemetry: Telemetry = silentTelemetry,
) {
  return createSource(client, secretId, { clock, telemetry, charactersMin: KEYING_CHARACTERS_MIN });
}

interface Reading {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly charactersMin: number;
}

function createSource(
  client: SecretsManagerClient,
  secretId: string,
  { clock, telemetry, charactersMin }: Reading,
) {
  let cached: { readonly secret: Secret; readonly readAtMs: number } | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let underWay: Promise<Secret> | undefined;

  const kept = () =>
    cached !== undefined && clock.now() - cached.readAtMs < KEPT_MS_MAX ? cached.secret : undefined;

  const read = async (): Promise<Secret> => {
    try {
      const answer = await client.send(new GetSecretValueCommand({ SecretId: secretId }));
      const text = answer.SecretString?.trim();
      if (!text)
        throw new AppError('secret_empty', `Secret ${secretId} holds no text; put its value into it`);
      if (text.length < charactersMin)
        throw new AppError(
          'secret_too_short',
          `Secret ${secretId} has fewer than ${charactersMin} characters, so it can be guessed; put a long random text into it (docs/deploy/rotate-a-key.md)`,
        );
      cached = { secret: createSecret(text), readAtMs: clock.now() };
      failedAtMs = Number.NEGATIVE_INFINITY;
      return cached.secret;
    } catch (error) {
      if (isSecretGone(error)) cached = undefined;
      noteFailure(toError(error));
      failedAtMs = clock.now();
      const secret = kept();
      if (secret === undefined) throw error;
      return secret;
    }
  };

  const noteFailure = (error: Error) => {
    telemetry.measure('SecretsUnreadable', 1);
    // Without an older reading every caller tries, and the first failure says it all.
    if (kept() === undefined && failedAtMs !== Number.NEGATIVE_INFINITY) return;
    const lastReadAt = cached && new Date(cached.readAtMs).toISOString();
    telemetry.log('error', 'secret.not_read', {
      secret_id: secretId,
      reason: error instanceof AppError ? error.code : error.name,
      // Only our own errors are known to hold a sentence for a person and nothing of the secret.
      advice: error instanceof AppError ? error.message : undefined,
      last_read_at: lastReadAt,
    });
  };

  /** Reads the secret past the cache. While that fails for what may pass, it resolves to what was read last. */
  const refresh = (): Promise<Secret> => {
    underWay ??= read().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };

  return {
    async current(): Promise<Secret> {
      const secret = kept();
      if (cached === undefined || secret === undefined) return refresh();
      const nowMs = clock.now();
      if (nowMs - cached.readAtMs < CACHE_MS || nowMs - failedAtMs < RETRY_MS) return secret;
      const done = new AbortController();
      const waited = clock.sleep(WAIT_MS, done.signal).then(
        () => secret,
        () => secret,
      );
      try {
        return await Promise.race([refresh(), waited]);
      } finally {
        done.abort(READ);
      }
    },
    refresh,
  };
}

/** An abort without a reason makes an error with its stack each time. */
const READ = new Error('The secret was read');
