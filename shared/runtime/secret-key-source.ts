/**
 * Reads a secret from Secrets Manager, and finds the upstream key of an account in a secret that may hold the keys of
 * many. What was read is cached for some minutes and used for a day while Secrets Manager does not answer, because a
 * secret that worked a minute ago works still.
 */

import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import type { KeySource } from '../upstream/send-with-key.ts';
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
