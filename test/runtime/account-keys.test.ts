import { describe, expect, test } from 'vitest';
import { createSecret } from '../../shared/runtime/secret.ts';
import { accountKeys } from '../../shared/runtime/secret-key-source.ts';
import { aClock, NOON_MS } from '../builders.ts';

const CLOCK = aClock();

/** Serves one text as every secret, and notes which secrets were opened and which were read again. */
function keysOf(text: string) {
  const opened: string[] = [];
  const readAgain: string[] = [];
  const keyOf = accountKeys((secretId) => {
    opened.push(secretId);
    const refresh = async () => {
      readAgain.push(secretId);
      return createSecret(text);
    };
    return { current: async () => createSecret(text), refresh };
  }, CLOCK);
  return { keyOf, opened, readAgain };
}

const MANY = JSON.stringify({ one: 'napi_one', two: ' napi_two\n', empty: '' });

describe('the key of an account', () => {
  test('is the whole secret when the secret is one key', async () => {
    const { keyOf, readAgain } = keysOf('napi_only');

    expect((await keyOf('a-secret', 'one').current()).reveal()).toBe('napi_only');
    expect(readAgain).toEqual([]);
  });

  test('is the one under the id of the account when the secret holds the keys of many', async () => {
    const { keyOf } = keysOf(MANY);

    expect((await keyOf('a-secret', 'one').current()).reveal()).toBe('napi_one');
    expect((await keyOf('a-secret', 'two').refresh()).reveal()).toBe('napi_two');
  });

  test('is read from a secret that accounts share, once for all of them', () => {
    const { keyOf, opened } = keysOf(MANY);
    keyOf('a-secret', 'one');
    keyOf('a-secret', 'two');
    keyOf('another-secret', 'two');

    expect(opened).toEqual(['a-secret', 'another-secret']);
  });

  test.each([
    ['other', MANY],
    ['empty', MANY],
    ['toString', MANY],
    ['__proto__', MANY],
    ['one', '{"one": 7}'],
    ['one', '{"one": "napi_one"'],
    ['one', '{}'],
  ])('is missing, and the error quotes nothing of the secret: %s in %s', async (accountId, text) => {
    const { keyOf } = keysOf(text);
    const read = keyOf('a-secret', accountId).current();

    await expect(read).rejects.toMatchObject({ code: 'secret_without_key' });
    await expect(read).rejects.not.toThrow(/napi/);
  });

  test.each([
    ['{}', 'Secret a-secret holds no key for the account one; add it under this name'],
    ['{"one": 7}', 'Secret a-secret is neither a key nor a JSON object of keys'],
    ['{"one"', 'Secret a-secret is neither a key nor a JSON object of keys'],
  ])('that is missing in %s is named with its secret', async (text, message) => {
    await expect(keysOf(text).keyOf('a-secret', 'one').current()).rejects.toThrow(message);
  });
});

test('a key that was added to a secret that was read before is found, and a missing one is looked for seldom', async () => {
  let nowMs = NOON_MS;
  let stored = '{"one":"napi_one"}';
  let cached = stored;
  let readCount = 0;
  const source = {
    current: async () => createSecret(cached),
    refresh: async () => {
      readCount += 1;
      cached = stored;
      return createSecret(cached);
    },
  };
  const keyOf = accountKeys(
    () => source,
    aClock(() => nowMs),
  );
  stored = '{"one":"napi_one","two":"napi_two"}';

  expect((await keyOf('a-secret', 'two').current()).reveal()).toBe('napi_two');
  for (let read = 0; read < 5; read++)
    await expect(keyOf('a-secret', 'three').current()).rejects.toMatchObject({ code: 'secret_without_key' });
  expect(readCount).toBe(1);

  nowMs += 10_000;
  await expect(keyOf('a-secret', 'three').current()).rejects.toMatchObject({ code: 'secret_without_key' });
  expect(readCount).toBe(2);
});
