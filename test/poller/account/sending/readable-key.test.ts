import { describe, expect, test } from 'vitest';
import { noteUnreadableKey, UnreadableKeyError } from '../../../../functions/poller/account/account-key.ts';
import { AppError } from '../../../../shared/runtime/errors.ts';
import { createSecret } from '../../../../shared/runtime/secret.ts';

const KEY = createSecret('readable-canary-key');

/** Gives the key, or rejects with `state.failure` while there is one. */
function aKey() {
  const state: { failure: Error | undefined } = { failure: undefined };
  const read = async () => {
    if (state.failure !== undefined) throw state.failure;
    return KEY;
  };
  const reported: string[] = [];
  const key = noteUnreadableKey({ current: read, refresh: read }, 'keys/tenant', ({ message }) =>
    reported.push(message),
  );
  return { key, state, reported };
}

const gone = Object.assign(new Error(`nothing is there, not even ${KEY.reveal()}`), {
  name: 'ResourceNotFoundException',
});

describe('the key of an account', () => {
  test('is readable until a reading fails, and again when one succeeds', async () => {
    const { key, state } = aKey();
    expect(key.isReadable()).toBe(true);

    state.failure = gone;
    await expect(key.current()).rejects.toBeInstanceOf(UnreadableKeyError);
    expect(key.isReadable()).toBe(false);

    state.failure = undefined;
    expect((await key.refresh()).reveal()).toBe(KEY.reveal());
    expect(key.isReadable()).toBe(true);
  });

  test('is reported once each time that it becomes unreadable, by its secret and the name of the error alone', async () => {
    const { key, state, reported } = aKey();
    const fail = () => key.current().catch(() => {});
    state.failure = gone;
    await fail();
    await fail();
    state.failure = undefined;
    await key.current();
    state.failure = gone;
    await fail();

    const sentence = 'The key in the secret keys/tenant cannot be read (ResourceNotFoundException)';
    expect(reported).toEqual([sentence, sentence]);
  });

  test('that is missing in a secret of many keys is reported in the words of the secret', async () => {
    const { key, state, reported } = aKey();
    state.failure = new AppError('secret_without_key', 'Secret keys/tenant holds no key for the account a');
    await key.refresh().catch(() => {});

    expect(reported).toEqual([
      'The key in the secret keys/tenant cannot be read (Secret keys/tenant holds no key for the account a)',
    ]);
  });
});
