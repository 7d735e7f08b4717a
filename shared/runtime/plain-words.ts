/** Says in plain words what a schema expects, for people who met its refusal. */

import type * as z from 'zod';

/**
 * Is given to `safeParse(value, { error: plainWords })`, and continues a sentence that begins with the name of a field. A
 * schema with words of its own keeps them. The words never repeat the value, which may be a secret.
 */
export const plainWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_type')
    return issue.input === undefined ? 'is required' : typeWords(issue.expected);
  if (issue.code === 'invalid_value') return `must be ${oneOf(issue.values)}`;
  if (issue.code === 'too_small')
    return boundWords(issue, { bound: issue.minimum, words: ['at least', 'more than'] });
  if (issue.code === 'too_big')
    return boundWords(issue, { bound: issue.maximum, words: ['at most', 'less than'] });
  if (issue.code === 'not_multiple_of') return `must be a multiple of ${issue.divisor}`;
  if (issue.code === 'invalid_format') return FORMAT_WORDS[issue.format] ?? 'is not of the expected form';
  if (issue.code === 'invalid_key') return 'is no name that may stand here';
  if (issue.code === 'invalid_union') return 'is of none of the forms that are allowed here';
  return undefined;
};

const TYPE_WORDS: Readonly<Record<string, string>> = {
  array: 'must be a list',
  boolean: 'must be true or false',
  date: 'must be a time',
  int: 'must be a whole number',
  null: 'must be null',
  number: 'must be a number',
  object: 'must be an object',
  record: 'must be an object',
  string: 'must be a text',
};

function typeWords(expected: string): string {
  return TYPE_WORDS[expected] ?? `must be of the type ${expected}`;
}

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  date: 'must be a date such as 2026-01-31',
  datetime: 'must be a time such as 2026-01-31T12:00:00Z',
  email: 'must be an e-mail address',
  safeint: 'must be a whole number',
  url: 'must be an address such as https://example.com',
  uuid: 'must be a UUID',
};

function oneOf(values: readonly unknown[]): string {
  const texts = values.map(String);
  return texts.length === 1 ? (texts[0] ?? '') : `one of ${texts.join(', ')}`;
}

interface Bounded {
  readonly origin: string;
  readonly inclusive?: boolean | undefined;
  readonly exact?: boolean | undefined;
}

interface Bound {
  readonly bound: number | bigint;
  /** The words of a bound that is allowed itself, and of one that is not. */
  readonly words: readonly [inclusive: string, exclusive: string];
}

function boundWords({ origin, inclusive, exact }: Bounded, { bound, words }: Bound): string {
  const [atBound, beyondBound] = words;
  const limits = exact ? `exactly ${bound}` : `${inclusive === false ? beyondBound : atBound} ${bound}`;
  const unit = UNITS[origin];
  return unit === undefined ? `must be ${limits}` : `must have ${limits} ${unit}${bound === 1 ? '' : 's'}`;
}

/** What is counted of a value; numbers are compared themselves. */
const UNITS: Readonly<Record<string, string>> = {
  string: 'character',
  array: 'item',
  set: 'item',
  map: 'item',
};
