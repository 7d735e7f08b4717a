import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  InvalidEventPatternError,
  matchesEventPattern,
  parseEventPattern,
} from '../../../shared/events/event-pattern.ts';
import {
  absent,
  fieldCases,
  refusedByEventBridgeOnly,
  refusedPatterns,
  wholeCases,
} from './event-pattern-cases.ts';

const matches = (pattern: unknown, event: unknown) => matchesEventPattern(parseEventPattern(pattern), event);
const shown = (value: unknown) => (value === absent ? 'no value' : JSON.stringify(value));

describe('an event pattern', () => {
  test.each(
    fieldCases.map(([matchers, value, isMatch]) => ({
      matchers,
      value,
      isMatch,
      title: `${shown(matchers)} ${isMatch ? 'matches' : 'does not match'} ${shown(value)}`,
    })),
  )('$title', ({ matchers, value, isMatch }) => {
    expect(matches({ a: matchers }, value === absent ? { b: 1 } : { a: value })).toBe(isMatch);
  });

  test.each(
    wholeCases.map(([pattern, event, isMatch]) => ({
      pattern,
      event,
      isMatch,
      title: `${shown(pattern)} ${isMatch ? 'matches' : 'does not match'} ${shown(event)}`,
    })),
  )('$title', ({ pattern, event, isMatch }) => {
    expect(matches(pattern, event)).toBe(isMatch);
  });

  test.each(
    [...refusedPatterns, ...refusedByEventBridgeOnly].map(([pattern, reason]) => ({
      pattern,
      reason,
      title: `${shown(pattern).slice(0, 80)} is refused`,
    })),
  )('$title', ({ pattern, reason }) => {
    const parse = () => parseEventPattern(pattern);

    expect(parse).toThrow(InvalidEventPatternError);
    expect(parse).toThrow(expect.objectContaining({ name: 'InvalidEventPatternException' }));
    expect(parse).toThrow(/^Event pattern is not valid\. Reason: /);
    expect(parse).toThrow(reason);
  });

  test('with a number matches it in every notation of JSON', () => {
    for (const text of ['1', '1.0', '1e0', '10e-1']) {
      expect(matches({ a: [1] }, JSON.parse(`{"a":${text}}`)), text).toBe(true);
      expect(matches(`{"a":[${text}]}`, { a: 1 }), text).toBe(true);
    }
  });

  test('with five hundred dots in a name is matched, and with more it is refused', () => {
    const nameOf = (dotCount: number) => `${'a.'.repeat(dotCount)}a`;
    const event = JSON.parse(`${'{"a":'.repeat(501)}"x"${'}'.repeat(501)}`);

    expect(matches({ [nameOf(500)]: ['x'] }, event)).toBe(true);
    expect(matches({ [nameOf(500)]: ['x'] }, { a: 'x' })).toBe(false);
    expect(() => matches({ [nameOf(501)]: ['x'] }, event)).toThrow(/nested more than 500 times/);
  });

  test('that is not a JSON value is refused', () => {
    const cycle: Record<string, unknown> = {};
    cycle['a'] = cycle;

    for (const pattern of [undefined, cycle, () => {}, 10n]) {
      expect(() => parseEventPattern(pattern)).toThrow(InvalidEventPatternError);
    }
  });

  test('with two hundred wildcards is matched in linear time', () => {
    const pattern = { a: [{ wildcard: `${'*a'.repeat(200)}*b` }] };

    expect(matches(pattern, { a: 'a'.repeat(200_000) })).toBe(false);
    expect(matches(pattern, { a: `${'a'.repeat(200_000)}b` })).toBe(true);
  });
});

/** Generates objects whose leaves are scalars and in which no name is the operator `$or`. */
const aName = fc.string({ minLength: 1 }).filter((name) => name !== '$or');
const aLeaf = fc.oneof(
  fc.string(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const { tree } = fc.letrec<{ tree: Record<string, unknown> }>((tie) => ({
  tree: fc.dictionary(aName, fc.oneof({ weight: 3, arbitrary: aLeaf }, tie('tree')), {
    minKeys: 1,
    maxKeys: 4,
  }),
}));

function patternOf(event: Record<string, unknown>): Record<string, unknown> {
  return mapLeaves(event, (leaf) => [leaf]);
}

function mapLeaves(event: Record<string, unknown>, map: (leaf: unknown) => unknown): Record<string, unknown> {
  const entries = Object.entries(event).map(([name, value]) => {
    const isTree = typeof value === 'object' && value !== null;
    return [name, isTree ? mapLeaves(value as Record<string, unknown>, map) : map(value)] as const;
  });
  return Object.fromEntries(entries);
}

const isAccepted = (pattern: unknown) => JSON.stringify(pattern).length <= 4_096;

describe('for any event', () => {
  test('a pattern of its own leaves matches, and so does one that only requires them to exist', () => {
    fc.assert(
      fc.property(tree, (event) => {
        const present = mapLeaves(event, () => [{ exists: true }]);
        fc.pre([patternOf(event), present].every(isAccepted));

        expect(matches(patternOf(event), event)).toBe(true);
        expect(matches(present, event)).toBe(true);
        expect(
          matches(
            mapLeaves(event, () => [{ exists: false }]),
            event,
          ),
        ).toBe(false);
      }),
    );
  });

  test('a pattern still matches when each leaf is the only element of an array', () => {
    fc.assert(
      fc.property(tree, (event) => {
        fc.pre(isAccepted(patternOf(event)));
        const inArrays = mapLeaves(event, (leaf) => [[leaf]]);

        expect(matches({ a: patternOf(event) }, { a: [inArrays] })).toBe(true);
      }),
    );
  });

  test('any pattern is parsed or refused with InvalidEventPatternException, and matching returns a boolean', () => {
    const operator = fc.constantFrom(
      'prefix',
      'suffix',
      'equals-ignore-case',
      'anything-but',
      'numeric',
      'exists',
      'cidr',
      'wildcard',
      '$or',
      '__proto__',
    );
    const matcher = fc.dictionary(operator, fc.oneof(fc.jsonValue(), fc.string()), { maxKeys: 2 });
    const pattern = fc.oneof(fc.jsonValue(), fc.dictionary(aName, fc.array(fc.oneof(aLeaf, matcher))));
    fc.assert(
      fc.property(pattern, fc.anything(), (anyPattern, event) => {
        try {
          expect(matches(anyPattern, event)).toBeTypeOf('boolean');
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidEventPatternError);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('very deep and very long values are matched without an error', () => {
    const deep = JSON.parse(`{"a":${'['.repeat(50_000)}1${']'.repeat(50_000)}}`);
    const deepPattern = `${'{"a":'.repeat(600)}[1]${'}'.repeat(600)}`;

    expect(matches({ a: [1] }, deep)).toBe(true);
    expect(matches({ a: ['x'] }, { a: Array.from({ length: 300_000 }, () => 1) })).toBe(false);
    expect(matches(deepPattern, deep)).toBe(false);
    expect(() => parseEventPattern('{"a":'.repeat(100_000))).toThrow(InvalidEventPatternError);
  });
});
