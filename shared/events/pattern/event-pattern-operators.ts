/** Parses the members of a pattern's arrays: exact values and the comparison operators. */

import { parseCidr } from './cidr.ts';
import { refusePattern } from './invalid-event-pattern-error.ts';
import { parseNumeric } from './numeric.ts';
import { parseWildcard } from './wildcard.ts';

export type Leaf = string | number | boolean | null;

/** Says whether one leaf value of the event satisfies an operator. */
type LeafTest = (leaf: Leaf) => boolean;

/** One of the members of a pattern's array must hold. */
export type Matcher =
  | { readonly kind: 'test'; readonly holds: LeafTest }
  | { readonly kind: 'exists'; readonly wanted: boolean };

type TestParser = (operand: unknown, path: string) => LeafTest;

const testParsers: ReadonlyMap<string, TestParser> = new Map([
  ['prefix', parsePrefix],
  ['suffix', parseSuffix],
  ['equals-ignore-case', parseEqualsIgnoreCase],
  ['wildcard', parseWildcardTest],
  ['numeric', parseNumericTest],
  ['cidr', parseCidrTest],
  ['anything-but', parseAnythingBut],
]);

export const OPERATOR_KEYWORDS: ReadonlySet<string> = new Set([...testParsers.keys(), 'exists']);

export function parseMatcher(member: unknown, path: string): Matcher {
  if (Array.isArray(member) || member === undefined) {
    return refusePattern('Match value must be String, number, true, false, or null', path);
  }
  // 1 and 1.0 are one number once JSON is read. 1 is neither true nor "1".
  if (!isObject(member)) return { kind: 'test', holds: (leaf) => leaf === member };
  const [operator, operand] = onlyMemberOf(member, path);
  if (operator === 'exists') {
    if (typeof operand === 'boolean') return { kind: 'exists', wanted: operand };
    return refusePattern('exists match pattern must be either true or false.', path);
  }
  const parse = testParsers.get(operator) ?? refusePattern(`Unrecognized match type ${operator}`, path);
  return { kind: 'test', holds: parse(operand, path) };
}

function parsePrefix(operand: unknown, path: string): LeafTest {
  return parseAffix('prefix', operand, path);
}

function parseSuffix(operand: unknown, path: string): LeafTest {
  return parseAffix('suffix', operand, path);
}

function parseAffix(operator: 'prefix' | 'suffix', operand: unknown, path: string): LeafTest {
  const has = (text: string, affix: string) =>
    operator === 'prefix' ? text.startsWith(affix) : text.endsWith(affix);
  if (!isObject(operand)) {
    const affix = textOf(operand, operator, path);
    return onText((text) => has(text, affix));
  }
  const [inner, innerOperand] = onlyMemberOf(operand, path);
  if (inner !== 'equals-ignore-case') return refusePattern(`Unsupported ${operator} pattern: ${inner}`, path);
  const affix = textOf(innerOperand, inner, path).toLowerCase();
  return onText((text) => has(text.toLowerCase(), affix));
}

function parseEqualsIgnoreCase(operand: unknown, path: string): LeafTest {
  const wanted = textOf(operand, 'equals-ignore-case', path).toLowerCase();
  return onText((text) => text.toLowerCase() === wanted);
}

function parseWildcardTest(operand: unknown, path: string): LeafTest {
  const wildcard = parseWildcard(textOf(operand, 'wildcard', path));
  if (wildcard.kind === 'invalid') return refusePattern(wildcard.reason, path);
  return onText(wildcard.matches);
}

/** A text that looks like a number is a text. */
function parseNumericTest(operand: unknown, path: string): LeafTest {
  const numeric = parseNumeric(operand);
  if (numeric.kind === 'invalid') return refusePattern(numeric.reason, path);
  return (leaf) => typeof leaf === 'number' && numeric.holds(leaf);
}

function parseCidrTest(operand: unknown, path: string): LeafTest {
  const cidr = parseCidr(textOf(operand, 'cidr', path));
  if (cidr.kind === 'invalid') return refusePattern(cidr.reason, path);
  return onText(cidr.contains);
}

/**
 * The test holds for null, numbers and booleans, too. It never holds for a field that does not exist, because then no
 * leaf reaches it.
 */
function parseAnythingBut(operand: unknown, path: string): LeafTest {
  if (isObject(operand)) return parseAnythingButTest(operand, path);
  const values: readonly unknown[] = Array.isArray(operand) ? operand : [operand];
  if (values.some((value) => typeof value !== 'string' && typeof value !== 'number')) {
    return refusePattern('Value of anything-but must be an array or single string/number value.', path);
  }
  if (new Set(values.map((value) => typeof value)).size !== 1) {
    return refusePattern(
      'Inside anything but list, either all values are number or string, mixed type is not supported',
      path,
    );
  }
  const excluded = new Set(values);
  return (leaf) => !excluded.has(leaf);
}

const NEGATABLE: ReadonlySet<string> = new Set(['prefix', 'suffix', 'equals-ignore-case', 'wildcard']);

function parseAnythingButTest(operand: Readonly<Record<string, unknown>>, path: string): LeafTest {
  const [operator, excluded] = onlyMemberOf(operand, path);
  const parse = testParsers.get(operator);
  if (parse === undefined || !NEGATABLE.has(operator)) {
    return refusePattern(`Unsupported anything-but pattern: ${operator}`, path);
  }
  // These operators may take a list only here.
  const texts: readonly unknown[] = Array.isArray(excluded) ? excluded : [excluded];
  if (texts.length === 0) return refusePattern('Empty arrays are not allowed', path);
  const tests = texts.map((text) => parse(excludedText({ operator, text, path }), path));
  return (leaf) => !tests.some((holds) => holds(leaf));
}

function excludedText(part: { operator: string; text: unknown; path: string }): string {
  const { operator, path } = part;
  const text = textOf(part.text, operator, path);
  const isAffix = operator === 'prefix' || operator === 'suffix';
  return text === '' && isAffix ? refusePattern('Null prefix/suffix not allowed', path) : text;
}

function onText(holds: (text: string) => boolean): LeafTest {
  return (leaf) => typeof leaf === 'string' && holds(leaf);
}

function textOf(operand: unknown, operator: string, path: string): string {
  return typeof operand === 'string'
    ? operand
    : refusePattern(`${operator} match pattern must be a string`, path);
}

function onlyMemberOf(object: Readonly<Record<string, unknown>>, path: string): [string, unknown] {
  const [member, ...others] = Object.entries(object);
  if (member === undefined) return refusePattern('Match expression name not found', path);
  if (others.length > 0) return refusePattern('Only one key allowed in match expression', path);
  return member;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
