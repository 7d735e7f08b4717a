/** Tests that the quick search before the patterns of secrets misses none of them. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withoutSecretShapes } from '../../shared/runtime/secret.ts';

/** The patterns are made of these, and texts that nearly match consist of them, too. */
const PIECES = [
  '-----BEGIN PRIVATE KEY-----',
  '-----END PRIVATE KEY-----',
  'eyJabcdefghijk',
  'napi',
  'sk',
  'xoxb',
  'xoxa',
  '_',
  '-',
  '.',
  ' ',
  '=',
  ':',
  '"',
  "'",
  '/',
  '@',
  '\\"',
  '\n',
  '&',
  'postgres',
  '://',
  'user',
  '5432',
  'password',
  'PassPhrase',
  'pwd',
  'client_secret',
  'api-key',
  'ACCESS_KEY',
  'token',
  'value1234567890',
  'Authorization',
  'bearer',
  'Bearer',
  'a1b2c3d4',
  'é',
];

/** It leads a text past the quick search, and no pattern matches it or reaches beyond its line. */
const PAST_THE_SEARCH = '://\n';

test('what all patterns find is found although most texts are searched only once', () => {
  const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join(''));

  fc.assert(
    fc.property(texts, (text) => {
      const shown = withoutSecretShapes(text, '[x]');
      fc.pre(shown === text);
      expect(withoutSecretShapes(PAST_THE_SEARCH + text, '[x]')).toBe(PAST_THE_SEARCH + text);
    }),
    { numRuns: 20_000 },
  );
});
