/** Sealed text can be read and changed by the bridge alone, and serves only the purpose that it was sealed for. */

import { describe, expect, test } from 'vitest';
import type { Caller } from '../../shared/callers/scopes.ts';
import { cursorSealOf, seal, unseal } from '../../shared/callers/seal.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';

const pepper = createSecret('a-pepper-of-tests');
const options = { key: pepper, purpose: 'cursor', boundTo: 'somebody' } as const;

describe('a sealed text', () => {
  test('is opened again, whatever is in it', () => {
    const random = seededRandom(17);
    for (let count = 0; count < 300; count++) {
      const codes = Array.from({ length: Math.floor(random.next() * 80) }, () =>
        Math.floor(random.next() * 0xd7ff),
      );
      const text = String.fromCodePoint(...codes);
      expect(unseal(seal(text, options), options)).toBe(text);
    }
  });

  test('shows nothing of the text', () => {
    const sealed = seal('bold-sound-12345678', options);

    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('bold');
  });

  test('is not opened after any one of its bits has changed', () => {
    const bytes = Buffer.from(seal('a text', options), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(unseal(changed.toString('base64url'), options)).toBeUndefined();
    }
  });

  test.each([
    ['for another owner', { ...options, boundTo: 'somebody-else' }],
    ['for another purpose', { ...options, purpose: 'kept-answer' as const }],
    ['under another key', { ...options, key: createSecret('another') }],
  ])('is not opened %s', (_name, others) => {
    expect(unseal(seal('a text', options), others)).toBeUndefined();
  });

  test.each(['', 'x', '====', 'A'.repeat(37), 'A'.repeat(38), 'A'.repeat(6_000), 'é', '\0'])(
    'made up as %j is not opened, and nothing is thrown',
    (madeUp) => expect(unseal(madeUp, options)).toBeUndefined(),
  );
});

describe('a cursor', () => {
  const caller: Caller = {
    client_id: 'an-app',
    account_id: 'main',
    scopes: new Set(),
    projectIds: new Set(['b', 'a']),
  };

  test('goes on under a rotated token of the same client with the same projects', () => {
    const sealed = cursorSealOf(caller, pepper).seal('here');

    expect(cursorSealOf({ ...caller, projectIds: new Set(['a', 'b']) }, pepper).open(sealed)).toBe('here');
  });

  test.each([
    ['another client', { client_id: 'another' }],
    ['another account', { account_id: 'other' }],
    ['other projects', { projectIds: new Set(['a']) }],
    ['all projects', { projectIds: undefined }],
  ])('is not one for %s', (_name, change) => {
    const sealed = cursorSealOf(caller, pepper).seal('here');

    expect(() => cursorSealOf({ ...caller, ...change }, pepper).open(sealed)).toThrow(/begin without one/);
  });

  test('is as long for a short id as for a long one', () => {
    const cursors = cursorSealOf(caller, pepper);

    expect(cursors.seal('a')).toHaveLength(cursors.seal('a-long-name-12345678').length);
  });
});
