import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { earlierBy, epochMsOf, normaliseTimestamp } from '../../shared/records/time.ts';

function normalised(text: string) {
  const time = normaliseTimestamp(text);
  if (time === undefined) throw new Error(`${text} is no time`);
  return time;
}

describe('timestamps', () => {
  test.each([
    ['2022-12-09T08:47:52Z', '2022-12-09T08:47:52.000000000Z'],
    ['2022-12-09T08:47:52.2Z', '2022-12-09T08:47:52.200000000Z'],
    ['2022-12-09T08:47:52.20417Z', '2022-12-09T08:47:52.204170000Z'],
    ['2022-12-09T08:47:52.123456789987Z', '2022-12-09T08:47:52.123456789Z'],
    ['2022-12-09T08:47:52+00:00', '2022-12-09T08:47:52.000000000Z'],
    ['2022-12-09T10:17:52.5+01:30', '2022-12-09T08:47:52.500000000Z'],
    ['2022-12-08T23:47:52-0900', '2022-12-09T08:47:52.000000000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000000Z'],
  ])('%s becomes %s', (text, expected) => {
    expect(normaliseTimestamp(text)).toBe(expected);
  });

  test.each([
    '',
    'string',
    '2022-12-09',
    '2022-12-09T08:47:52',
    '2022-13-09T08:47:52Z',
    '2022-02-30T08:47:52Z',
    '1670575672',
  ])('what is no time with a zone is refused: "%s"', (text) => {
    expect(normaliseTimestamp(text)).toBeUndefined();
  });

  test('the short way over plain texts comes to what the calendar says', () => {
    const part = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, '0'));
    const texts = fc
      .tuple(
        fc.integer({ min: 1970, max: 2099 }),
        part(13),
        part(32),
        part(25),
        part(61),
        part(61),
        fc.nat(999),
      )
      .map(([y, mo, d, h, mi, s, ms]) => `${y}-${mo}-${d}T${h}:${mi}:${s}.${String(ms).padStart(3, '0')}Z`);
    fc.assert(
      fc.property(texts, (text) => {
        const date = new Date(text);
        const isReal = !Number.isNaN(date.getTime()) && date.toISOString() === text;

        expect(normaliseTimestamp(text)).toBe(isReal ? text.replace('Z', '000000Z') : undefined);
      }),
      { numRuns: 5_000 },
    );
  });

  test('half a second sorts behind the whole one, as raw texts would not', () => {
    const raw = ['2022-12-09T08:47:52Z', '2022-12-09T08:47:52.5Z'];
    expect(raw.toSorted()).toEqual(raw.toReversed());
    expect(normalised('2022-12-09T08:47:52.5Z') > normalised('2022-12-09T08:47:52Z')).toBe(true);
  });

  test('two microseconds of one millisecond stay apart, as in a Date they would not', () => {
    expect(normalised('2022-12-09T08:47:52.123456Z') > normalised('2022-12-09T08:47:52.123455Z')).toBe(true);
  });

  test('texts compare as the instants do, and come back as the same milliseconds', () => {
    const instant = fc.integer({ min: 0, max: 4_102_444_800_000 });
    fc.assert(
      fc.property(instant, instant, (a, b) => {
        const [first, second] = [a, b].map((ms) => normalised(new Date(ms).toISOString()));
        expect(first !== undefined && second !== undefined && first < second).toBe(a < b);
        expect(first && epochMsOf(first)).toBe(a);
      }),
      { numRuns: 2_000 },
    );
  });

  test('earlier by a duration keeps the fraction', () => {
    expect(earlierBy(normalised('2022-12-09T00:00:10.204170Z'), 300_000)).toBe(
      '2022-12-08T23:55:10.204170000Z',
    );
  });
});
