/**
 * Notes whether the key of an account can be read, and reads the secret again every few seconds while the upstream
 * refuses the key and nothing is sent, so that a valid key is noticed within seconds.
 */

import { AppError, toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { isSecretGone } from '../../../shared/runtime/secret-key-source.ts';
import type { KeySource } from '../../../shared/upstream/send-with-key.ts';
import type { InvocationDeps } from './account-deps.ts';

/** Its message names the secret and the reason, and holds nothing of the secret. */
export class UnreadableKeyError extends AppError {
  /** Says what people should do. */
  readonly advice: string;

  constructor(secretId: string, cause: unknown) {
    // An error of AWS can quote what was sent, so only its name is taken over.
    const reason = cause instanceof AppError ? cause.message : toError(cause).name;
    super('key_unreadable', `The key in the secret ${secretId} cannot be read (${reason})`, { cause });
    this.name = 'UnreadableKeyError';
    this.advice = adviceOn(toError(cause));
  }
}

function adviceOn(cause: Error): string {
  if (isSecretGone(cause)) return 'Put the key of the account into the secret.';
  if (cause.name === 'AccessDeniedException') return 'Let the role of the function read the secret.';
  return 'The secret is read again by itself. If this lasts, check the health of AWS Secrets Manager and the way to it.';
}

export interface ReadableKey extends KeySource {
  /** Says whether the last reading of the key succeeded. It is true before the first one. */
  isReadable(): boolean;
}

/** Rejects with `UnreadableKeyError`. Calls `onUnreadable` once for each time that the key becomes unreadable. */
export function noteUnreadableKey(
  source: KeySource,
  secretId: string,
  onUnreadable: (error: UnreadableKeyError) => void,
): ReadableKey {
  let isReadable = true;
  const noted = async (reading: Promise<Secret>): Promise<Secret> => {
    try {
      const key = await reading;
      isReadable = true;
      return key;
    } catch (thrown) {
      const error = new UnreadableKeyError(secretId, thrown);
      if (isReadable) onUnreadable(error);
      isReadable = false;
      throw error;
    }
  };
  return {
    current: () => noted(source.current()),
    refresh: () => noted(source.refresh()),
    isReadable: () => isReadable,
  };
}

/** One look costs $0.000005, so a key that stays wrong for a day costs nine cents. */
const LOOK_MS = 5_000;

export async function watchKey(
  { key, clock, signal }: InvocationDeps,
  health: { isKeyRejected: boolean },
): Promise<void> {
  while (!signal.aborted) {
    // A secret that cannot be read is taken to hold no other key.
    if (health.isKeyRejected && (await key.hasAnother().catch(() => false))) health.isKeyRejected = false;
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}
