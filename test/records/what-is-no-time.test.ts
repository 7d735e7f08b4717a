import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isoTimeOf, normaliseTimestamp, secondOf } from '../../shared/records/time.ts';

describe('a text that only looks like a time', () => {
  test.each([
    'x2026-01-15T12:00:00Z',
    '2026-01-15T12:00:00Zx',
    'x2026-01-15T12:00:00+01:00',
    '2026-01-15T12:00:00+01:00x',
    'x2026-01-31T12:00:00Z',
    '2026-01-31T12:00:00Zx',
    'abcd-01-15T12:00:00Z',
    '6-01-15T12:00:00Z',
    '2026-01-1xT12:00:00Z',
    '2026-01-15T1x:00:00Z',
    '2026-01-15T12:0x:00Z',
    '2026-01-15T12:00:0xZ',
    '2026-01-15T12:00:00.abcZ',
    '2026-01-15T12:00:00.Z',
  ])('is none: %s', (text) => {
    expect(normaliseTimestamp(text)).toBeUndefined();
  });

  test('also when one character of it is another one', () => {
    const plain = '2026-01-15T12:34:56.789Z';
    const character = fc.constantFrom('x', '-', '/', 'é', '!');
    fc.assert(
      fc.property(fc.nat({ max: plain.length - 1 }), character, (place, other) => {
        const text = plain.slice(0, place) + other + plain.slice(place + 1);
        fc.pre(text !== plain);

        expect(normaliseTimestamp(text)).toBeUndefined();
      }),
    );
  });
});

test('the second of an instant is the one in which it lies, also before 1970', () => {
  expect(secondOf(Date.UTC(2026, 0, 15, 12, 0, 0, 999))).toBe('2026-01-15T12:00:00.000000000Z');
  expect(secondOf(Date.UTC(2026, 0, 15, 12))).toBe('2026-01-15T12:00:00.000000000Z');
  expect(secondOf(-1)).toBe('1969-12-31T23:59:59.000000000Z');
  expect(() => secondOf(Number.NaN)).toThrow(RangeError);
});

test('our own time has milliseconds', () => {
  expect(isoTimeOf(Date.UTC(2026, 0, 15, 12, 0, 0, 7))).toBe('2026-01-15T12:00:00.007Z');
});
