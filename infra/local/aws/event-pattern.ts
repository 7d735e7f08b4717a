/**
 * EventBridge event patterns: parsed with AWS's refusals, matched with AWS's semantics.
 * Source: Amazon EventBridge User Guide, "Comparison operators for use in event patterns".
 */

import { cidrContains, isCidr } from './cidr.ts';

export class InvalidEventPatternError extends Error {
  override readonly name = 'InvalidEventPatternException';
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** What one leaf value of the event must be. */
export type Matcher =
  | { readonly kind: 'equals'; readonly value: string | number | boolean | null }
  | { readonly kind: 'exists'; readonly wanted: boolean }
  | { readonly kind: 'test'; readonly holds: (value: Json) => boolean };

export type EventPattern =
  | { readonly kind: 'fields'; readonly fields: readonly (readonly [string, EventPattern])[] }
  | { readonly kind: 'leaf'; readonly matchers: readonly Matcher[] }
  | { readonly kind: 'any'; readonly patterns: readonly EventPattern[] }
  | { readonly kind: 'all'; readonly patterns: readonly EventPattern[] };

/** Throws `InvalidEventPatternError` with a reason for a person. */
export function parseEventPattern(source: unknown): EventPattern {
  const json = typeof source === 'string' ? parseJson(source) : source;
  if (!isObject(json)) return refuse('Event pattern is not a JSON object');
  return parseFields(json, '');
}

export function matchesEventPattern(pattern: EventPattern, event: unknown): boolean {
  return matches(pattern, [event as Json]);
}

/**
 * `candidates` are the values at this place: more than one below an array. Conditions on the members of an array of
 * objects must hold in the same element, so each element is tried as a whole.
 */
function matches(pattern: EventPattern, candidates: readonly (Json | undefined)[]): boolean {
  switch (pattern.kind) {
    case 'any':
      return pattern.patterns.some((part) => matches(part, candidates));
    case 'all':
      return pattern.patterns.every((part) => matches(part, candidates));
    case 'leaf':
      return pattern.matchers.some((matcher) => matchesLeaf(matcher, candidates));
    case 'fields':
      return elementsOf(candidates).some((element) =>
        pattern.fields.every(([name, part]) =>
          matches(part, [isObject(element) ? element[name] : undefined]),
        ),
      );
  }
}

function elementsOf(candidates: readonly (Json | undefined)[]): readonly (Json | undefined)[] {
  const elements = candidates.flatMap((value) =>
    Array.isArray(value) ? elementsOf(value as Json[]) : [value],
  );
  return elements.length === 0 ? [undefined] : elements;
}

function matchesLeaf(matcher: Matcher, candidates: readonly (Json | undefined)[]): boolean {
  const leaves = elementsOf(candidates).filter((value) => value !== undefined && !isObject(value)) as Json[];
  switch (matcher.kind) {
    case 'exists':
      return matcher.wanted === leaves.length > 0;
    case 'equals':
      return leaves.some((leaf) => leaf === matcher.value);
    case 'test':
      return leaves.some((leaf) => matcher.holds(leaf));
  }
}

function parseFields(json: Record<string, unknown>, path: string): EventPattern {
  const names = Object.keys(json);
  if (names.length === 0) return refuse(`Empty objects are not allowed${at(path)}`);
  const fields: (readonly [string, EventPattern])[] = [];
  const alternatives: EventPattern[] = [];
  for (const name of names) {
    const below = path === '' ? name : `${path}.${name}`;
    const value = json[name];
    if (name === '$or' && isAlternatives(value)) {
      alternatives.push({ kind: 'any', patterns: value.map((part) => parseFields(part, below)) });
    } else if (isObject(value)) fields.push([name, parseFields(value, below)]);
    else if (Array.isArray(value)) fields.push([name, parseLeaf(value, below)]);
    else refuse(`"${name}" must be an object or an array${at(path)}`);
  }
  const own: EventPattern[] = fields.length === 0 ? [] : [{ kind: 'fields', fields }];
  return { kind: 'all', patterns: [...own, ...alternatives] };
}

/** `$or` is an operator only with two or more objects; any other use of the name is a field (event-ruler's rule). */
function isAlternatives(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length >= 2 && value.every(isObject);
}

function parseLeaf(values: readonly unknown[], path: string): EventPattern {
  if (values.length === 0) return refuse(`Empty arrays are not allowed${at(path)}`);
  return { kind: 'leaf', matchers: values.map((value) => parseMatcher(value, path)) };
}

function parseMatcher(value: unknown, path: string): Matcher {
  if (isScalar(value)) return { kind: 'equals', value };
  if (!isObject(value)) return refuse(`Match value must be String, number, true, false, or null${at(path)}`);
  const [operator, ...others] = Object.keys(value);
  if (operator === undefined || others.length > 0) {
    return refuse(`Only one key allowed in match expression${at(path)}`);
  }
  const operand = value[operator];
  if (operator === 'exists') {
    if (typeof operand !== 'boolean')
      return refuse(`exists match pattern must be either true or false${at(path)}`);
    return { kind: 'exists', wanted: operand };
  }
  return { kind: 'test', holds: parseTest(operator, operand, path) };
}

type Test = (value: Json) => boolean;

function parseTest(operator: string, operand: unknown, path: string): Test {
  switch (operator) {
    case 'prefix':
    case 'suffix':
      return parseAffix(operator, operand, path);
    case 'equals-ignore-case':
      return onText(
        textOf(operand, operator, path),
        (value, wanted) => value.toLowerCase() === wanted.toLowerCase(),
      );
    case 'wildcard':
      return parseWildcard(operand, path);
    case 'numeric':
      return parseNumeric(operand, path);
    case 'cidr':
      return parseCidrTest(operand, path);
    case 'anything-but':
      return parseAnythingBut(operand, path);
    default:
      return refuse(`Unrecognized match type ${operator}${at(path)}`);
  }
}

function parseAffix(operator: 'prefix' | 'suffix', operand: unknown, path: string): Test {
  const has = (value: string, affix: string) =>
    operator === 'prefix' ? value.startsWith(affix) : value.endsWith(affix);
  if (!isObject(operand)) return onText(textOf(operand, operator, path), has);
  const keys = Object.keys(operand);
  if (keys.length !== 1 || keys[0] !== 'equals-ignore-case') {
    return refuse(`Unsupported anonymous pattern in ${operator}${at(path)}`);
  }
  const wanted = textOf(operand['equals-ignore-case'], operator, path).toLowerCase();
  return (value) => typeof value === 'string' && has(value.toLowerCase(), wanted);
}

function onText(wanted: string, holds: (value: string, wanted: string) => boolean): Test {
  return (value) => typeof value === 'string' && holds(value, wanted);
}

function textOf(operand: unknown, operator: string, path: string): string {
  if (typeof operand !== 'string') return refuse(`${operator} match pattern must be a string${at(path)}`);
  return operand;
}

/** `*` stands for any characters; `\*` and `\\` for themselves. Two in a row are refused, as on AWS. */
function parseWildcard(operand: unknown, path: string): Test {
  const pattern = textOf(operand, 'wildcard', path);
  let expression = '';
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern[index] ?? '';
    const next = pattern[index + 1];
    if (character === '\\') {
      if (next !== '*' && next !== '\\') return refuse(`Invalid escape character at pos ${index}${at(path)}`);
      expression += `\\${next}`;
      index += 1;
    } else if (character === '*') {
      if (next === '*') return refuse(`Consecutive wildcard characters at pos ${index}${at(path)}`);
      expression += '[\\s\\S]*';
    } else expression += character.replace(/[.+?^${}()|[\]/]/, '\\$&');
  }
  const compiled = new RegExp(`^${expression}$`);
  return (value) => typeof value === 'string' && compiled.test(value);
}

const COMPARISONS: Record<string, (value: number, limit: number) => boolean> = {
  '=': (value, limit) => value === limit,
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
};

/** "Comparison operators": numeric matching works from -5.0e9 to +5.0e9. */
const NUMBER_MAX = 5_000_000_000;

function parseNumeric(operand: unknown, path: string): Test {
  if (!Array.isArray(operand) || (operand.length !== 2 && operand.length !== 4)) {
    return refuse(`Invalid member in numeric match${at(path)}`);
  }
  const [firstOperator, firstLimit, secondOperator, secondLimit] = operand as unknown[];
  const first = comparisonOf(firstOperator, firstLimit, path);
  if (operand.length === 2) return (value) => typeof value === 'number' && first(value);
  const second = comparisonOf(secondOperator, secondLimit, path);
  const isRange = /^>=?$/.test(String(firstOperator)) && /^<=?$/.test(String(secondOperator));
  if (!isRange) return refuse(`Bad numeric range operator${at(path)}`);
  if (Number(firstLimit) >= Number(secondLimit)) return refuse(`Bottom must be less than top${at(path)}`);
  return (value) => typeof value === 'number' && first(value) && second(value);
}

function comparisonOf(operator: unknown, limit: unknown, path: string): (value: number) => boolean {
  const compare = typeof operator === 'string' ? COMPARISONS[operator] : undefined;
  if (compare === undefined) return refuse(`Unrecognized numeric range operator${at(path)}`);
  if (typeof limit !== 'number') return refuse(`Value of numeric operator must be a number${at(path)}`);
  if (Math.abs(limit) > NUMBER_MAX)
    return refuse(`Value must be between ${-NUMBER_MAX} and ${NUMBER_MAX}${at(path)}`);
  return (value) => compare(value, limit);
}

function parseCidrTest(operand: unknown, path: string): Test {
  const range = textOf(operand, 'cidr', path);
  if (!isCidr(range)) return refuse(`Malformed CIDR, "${range}"${at(path)}`);
  return (value) => typeof value === 'string' && cidrContains(range, value);
}

/** Holds for null, numbers and booleans too; never for what is not there (no leaf reaches a test then). */
function parseAnythingBut(operand: unknown, path: string): Test {
  if (isObject(operand)) return parseAnythingButTest(operand, path);
  const values: readonly unknown[] = Array.isArray(operand) ? operand : [operand];
  if (values.length === 0) return refuse(`Empty arrays are not allowed${at(path)}`);
  const allText = values.every((value) => typeof value === 'string');
  const allNumbers = values.every((value) => typeof value === 'number');
  if (!allText && !allNumbers) {
    return refuse(
      `Inside anything but list, either all values are number or string, mixed type is not supported${at(path)}`,
    );
  }
  const excluded = new Set<unknown>(values);
  return (value) => !excluded.has(value);
}

const NEGATABLE: ReadonlySet<string> = new Set(['prefix', 'suffix', 'equals-ignore-case', 'wildcard']);

function parseAnythingButTest(operand: Record<string, unknown>, path: string): Test {
  const [operator, ...others] = Object.keys(operand);
  if (operator === undefined || others.length > 0 || !NEGATABLE.has(operator)) {
    return refuse(`Unsupported anything-but pattern${at(path)}`);
  }
  const inner = operand[operator];
  // Only here may these operators take a list.
  const operands: readonly unknown[] = Array.isArray(inner) ? inner : [inner];
  if (operands.length === 0 || operands.some((part) => typeof part !== 'string' || part === '')) {
    return refuse(`${operator} match pattern must be a non-empty string${at(path)}`);
  }
  const tests = operands.map((part) => parseTest(operator, part, path));
  return (value) => !tests.some((holds) => holds(value));
}

function parseJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return refuse('Event pattern is not valid JSON');
  }
}

function isObject(value: unknown): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function at(path: string): string {
  return path === '' ? '' : ` at "${path}"`;
}

function refuse(reason: string): never {
  throw new InvalidEventPatternError(`Event pattern is not valid. Reason: ${reason}`);
}
