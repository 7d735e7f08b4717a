/**
 * Reads configuration, and names everything that is wrong with it in plain words and in one error, without any value.
 * Lambda has room for 4 KB of variables in all (AWS Lambda Developer Guide).
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type * as z from 'zod';
import { AppError } from './errors.ts';

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

export function readConfig<Schema extends z.ZodType>(
  schema: Schema,
  source: unknown,
  what: string,
): z.output<Schema> {
  // Each of these schemas parses once, and zod would first compile a function for it.
  const parsed = schema.safeParse(source, { jitless: true, error: plainWords });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || '(all of it)'}: ${issue.message}`,
  );
  throw new AppError('config_invalid', `${what} is not usable. ${faults.join('; ')}`);
}

export const ENVIRONMENT_FILE = 'environment.json';

export type Variables = Readonly<Record<string, string | undefined>>;

/** `folder` is the folder of the running code. A variable of the process wins over one of the file. */
export function functionEnvironment(folder: string, variables: Variables): Variables {
  return { ...variablesBeside(folder), ...variables };
}

/**
 * There are no variables without the file, because a function that runs from its source has its whole environment
 * from the process.
 */
function variablesBeside(folder: string): Variables {
  try {
    return JSON.parse(readFileSync(join(folder, ENVIRONMENT_FILE), 'utf8')) as Variables;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
