import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  InvalidEventPatternError,
  matchesEventPattern,
  parseEventPattern,
} from '../../infra/local/aws/event-pattern.ts';

const event = {
  source: 'operations-bridge',
  'detail-type': 'Operation State Changed',
  resources: [],
  detail: {
    status: 'failed',
    action: 'start_compute',
    failures_count: 2,
    terminal: false,
    previous_status: null,
    ip: '10.0.0.12',
    ip6: '2001:db8::1',
    text: '100',
    path: 'a*b\\c',
    empty: '',
    tags: ['red', 'blue'],
    none: [],
    nested: { deep: { leaf: 'x' } },
    items: [
      { name: 'a', size: 1 },
      { name: 'b', size: 2 },
    ],
    lists: [[1, 2], [3]],
  },
};

const matches = (pattern: unknown) => matchesEventPattern(parseEventPattern(pattern), event);
const inDetail = (fields: unknown) => matches({ detail: fields });

/** What AWS answers, by the documentation and by its rule engine's own behaviour. */
const cases: readonly (readonly [unknown, boolean])[] = [
  // values
  [{ status: ['failed'] }, true],
  [{ status: ['finished', 'failed'] }, true],
  [{ status: ['Failed'] }, false],
  [{ failures_count: [2] }, true],
  [{ failures_count: [2.0] }, true],
  [{ failures_count: ['2'] }, false],
  [{ text: [100] }, false],
  [{ terminal: [false] }, true],
  [{ terminal: [0] }, false],
  [{ failures_count: [true] }, false],
  [{ previous_status: [null] }, true],
  [{ missing: [null] }, false],
  [{ empty: [''] }, true],
  [{ status: ['failed'], action: ['create_branch'] }, false],
  [{ status: ['failed'], action: ['start_compute'] }, true],
  // arrays and nesting
  [{ tags: ['blue'] }, true],
  [{ tags: ['green'] }, false],
  [{ none: ['x'] }, false],
  [{ lists: [3] }, true],
  [{ nested: { deep: { leaf: ['x'] } } }, true],
  [{ nested: { deep: ['x'] } }, false],
  [{ nested: { missing: { leaf: ['x'] } } }, false],
  [{ items: { name: ['b'] } }, true],
  [{ items: { name: ['a'], size: [1] } }, true],
  [{ items: { name: ['a'], size: [2] } }, false],
  // prefix, suffix, ignore case
  [{ action: [{ prefix: 'start_' }] }, true],
  [{ action: [{ prefix: 'Start' }] }, false],
  [{ action: [{ prefix: '' }] }, true],
  [{ failures_count: [{ prefix: '2' }] }, false],
  [{ action: [{ suffix: '_compute' }] }, true],
  [{ action: [{ suffix: 'start' }] }, false],
  [{ action: [{ prefix: { 'equals-ignore-case': 'START' } }] }, true],
  [{ action: [{ suffix: { 'equals-ignore-case': 'COMPUTE' } }] }, true],
  [{ status: [{ 'equals-ignore-case': 'FAILED' }] }, true],
  [{ status: [{ 'equals-ignore-case': 'fail' }] }, false],
  [{ tags: [{ prefix: 'bl' }] }, true],
  // wildcard
  [{ action: [{ wildcard: 'start_*' }] }, true],
  [{ action: [{ wildcard: '*t_c*e' }] }, true],
  [{ action: [{ wildcard: 'start' }] }, false],
  [{ action: [{ wildcard: '*' }] }, true],
  [{ action: [{ wildcard: 'start.compute' }] }, false],
  [{ path: [{ wildcard: 'a\\*b\\\\c' }] }, true],
  [{ path: [{ wildcard: 'a\\*' }] }, false],
  [{ missing: [{ wildcard: '*' }] }, false],
  // anything-but
  [{ status: [{ 'anything-but': 'finished' }] }, true],
  [{ status: [{ 'anything-but': 'failed' }] }, false],
  [{ status: [{ 'anything-but': ['failed', 'error'] }] }, false],
  [{ status: [{ 'anything-but': ['finished'] }] }, true],
  [{ failures_count: [{ 'anything-but': [1, 3] }] }, true],
  [{ failures_count: [{ 'anything-but': 2 }] }, false],
  [{ previous_status: [{ 'anything-but': 'x' }] }, true],
  [{ failures_count: [{ 'anything-but': 'x' }] }, true],
  [{ missing: [{ 'anything-but': 'x' }] }, false],
  [{ none: [{ 'anything-but': 'x' }] }, false],
  [{ tags: [{ 'anything-but': 'red' }] }, true],
  [{ tags: [{ 'anything-but': ['red', 'blue'] }] }, false],
  [{ action: [{ 'anything-but': { prefix: 'start' } }] }, false],
  [{ action: [{ 'anything-but': { prefix: ['stop', 'create'] } }] }, true],
  [{ action: [{ 'anything-but': { suffix: 'compute' } }] }, false],
  [{ status: [{ 'anything-but': { 'equals-ignore-case': ['FAILED'] } }] }, false],
  [{ action: [{ 'anything-but': { wildcard: '*compute' } }] }, false],
  // numeric
  [{ failures_count: [{ numeric: ['>', 0] }] }, true],
  [{ failures_count: [{ numeric: ['=', 2] }] }, true],
  [{ failures_count: [{ numeric: ['<', 2] }] }, false],
  [{ failures_count: [{ numeric: ['<=', 2] }] }, true],
  [{ failures_count: [{ numeric: ['>=', 3] }] }, false],
  [{ failures_count: [{ numeric: ['>', 1, '<=', 2] }] }, true],
  [{ failures_count: [{ numeric: ['>=', 0, '<', 2] }] }, false],
  [{ text: [{ numeric: ['=', 100] }] }, false],
  // exists
  [{ status: [{ exists: true }] }, true],
  [{ missing: [{ exists: true }] }, false],
  [{ missing: [{ exists: false }] }, true],
  [{ status: [{ exists: false }] }, false],
  [{ nested: [{ exists: true }] }, false],
  [{ none: [{ exists: true }] }, false],
  [{ none: [{ exists: false }] }, true],
  [{ previous_status: [{ exists: true }] }, true],
  [{ empty: [{ exists: true }] }, true],
  [{ nested: { missing: { leaf: [{ exists: false }] } } }, true],
  // cidr
  [{ ip: [{ cidr: '10.0.0.0/24' }] }, true],
  [{ ip: [{ cidr: '10.0.1.0/24' }] }, false],
  [{ ip: [{ cidr: '0.0.0.0/0' }] }, true],
  [{ ip6: [{ cidr: '2001:db8::/32' }] }, true],
  [{ ip6: [{ cidr: '10.0.0.0/8' }] }, false],
  [{ status: [{ cidr: '10.0.0.0/8' }] }, false],
  // $or
  [{ $or: [{ status: ['finished'] }, { failures_count: [{ numeric: ['>', 1] }] }] }, true],
  [{ $or: [{ status: ['finished'] }, { terminal: [true] }] }, false],
  [{ action: ['start_compute'], $or: [{ status: ['failed'] }, { terminal: [true] }] }, true],
  [{ action: ['other'], $or: [{ status: ['failed'] }, { terminal: [true] }] }, false],
  [{ $or: [{ $or: [{ status: ['x'] }, { status: ['failed'] }] }, { status: ['y'] }] }, true],
  // several conditions for one value
  [{ status: ['finished', { prefix: 'fail' }] }, true],
  [{ status: [{ exists: false }, 'failed'] }, true],
];

describe('an event pattern', () => {
  test.each(cases)('on the detail: %j gives %s', (fields, expected) => {
    expect(inDetail(fields)).toBe(expected);
  });

  test('matches the envelope', () => {
    expect(matches({ source: ['operations-bridge'], 'detail-type': [{ prefix: 'Operation' }] })).toBe(true);
    expect(matches({ source: ['another'] })).toBe(false);
    expect(matches({ 'replay-name': [{ exists: false }], source: ['operations-bridge'] })).toBe(true);
  });

  test('comes as JSON too', () => {
    expect(matches('{"source":["operations-bridge"]}')).toBe(true);
  });

  test.each([
    ['not JSON', '{'],
    ['a text', '"x"'],
    ['an array', '[]'],
    ['an empty object', {}],
    ['an empty object within', { detail: {} }],
    ['a scalar instead of an array', { source: 'x' }],
    ['an empty array', { source: [] }],
    ['an array in an array', { source: [['x']] }],
    ['an unknown operator', { source: [{ like: 'x' }] }],
    ['two operators', { source: [{ prefix: 'x', suffix: 'y' }] }],
    ['no operator', { source: [{}] }],
    ['a prefix that is a number', { source: [{ prefix: 1 }] }],
    ['a prefix list', { source: [{ prefix: ['x'] }] }],
    ['an unknown operator in a prefix', { source: [{ prefix: { suffix: 'x' } }] }],
    ['exists that is a text', { source: [{ exists: 'true' }] }],
    ['two stars', { source: [{ wildcard: 'a**b' }] }],
    ['a bad escape', { source: [{ wildcard: 'a\\b' }] }],
    ['a range that is empty', { source: [{ numeric: ['>', 3, '<', 3] }] }],
    ['a range the wrong way round', { source: [{ numeric: ['<', 3, '>', 1] }] }],
    ['a numeric operator that is none', { source: [{ numeric: ['!=', 3] }] }],
    ['a numeric text', { source: [{ numeric: ['=', '3'] }] }],
    ['a number beyond five billion', { source: [{ numeric: ['=', 5_000_000_001] }] }],
    ['numeric without a value', { source: [{ numeric: ['='] }] }],
    ['a single address as cidr', { source: [{ cidr: '10.0.0.1/32' }] }],
    ['a cidr that is none', { source: [{ cidr: '10.0.0/24' }] }],
    ['mixed types in anything-but', { source: [{ 'anything-but': ['x', 1] }] }],
    ['an empty anything-but', { source: [{ 'anything-but': [] }] }],
    ['a boolean in anything-but', { source: [{ 'anything-but': true }] }],
    ['anything-but of numeric', { source: [{ 'anything-but': { numeric: ['=', 1] } }] }],
    ['anything-but of an empty prefix', { source: [{ 'anything-but': { prefix: '' } }] }],
    ['$or with one object', { $or: [{ source: ['x'] }] }],
  ])('is refused: %s', (_what, pattern) => {
    expect(() => parseEventPattern(pattern)).toThrow(InvalidEventPatternError);
    expect(() => parseEventPattern(pattern)).toThrow(/^Event pattern is not valid\. Reason: ./);
  });

  test('made of the leaves of an event matches it', () => {
    const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
    const flat = fc.dictionary(
      fc.string({ minLength: 1 }).filter((name) => name !== '$or'),
      leaf,
      { minKeys: 1, maxKeys: 6 },
    );
    fc.assert(
      fc.property(flat, (fields) => {
        const pattern = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value]]));
        expect(matchesEventPattern(parseEventPattern(pattern), fields)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('is parsed or refused by name, and never fails otherwise, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (pattern, value) => {
        try {
          matchesEventPattern(parseEventPattern(pattern), value);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidEventPatternError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
