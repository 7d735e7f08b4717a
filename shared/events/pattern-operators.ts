/**
 * Parses the members of a pattern's arrays: exact values and the comparison operators. A pattern that AWS refuses is
 * refused in the same way (EventBridge API Reference, PutRule).
 */

import { BlockList, isIP } from 'node:net';

export class InvalidEventPatternError extends Error {
  override readonly name = 'InvalidEventPatternException';
}

/** `path` says where the fault is. It is empty for the pattern as a whole. */
export function refusePattern(reason: string, path: string): never {
  const where = path === '' ? '' : ` at "${path}"`;
  throw new InvalidEventPatternError(`Event pattern is not valid. Reason: ${reason}${where}`);
}

type Cidr =
  | { readonly kind: 'valid'; readonly contains: (address: string) => boolean }
  | { readonly kind: 'invalid'; readonly reason: string };

/** event-ruler refuses a range of one address, /32 and /128. */
const BITS_BELOW: Readonly<Record<'ipv4' | 'ipv6', number>> = { ipv4: 32, ipv6: 128 };

function parseCidr(range: string): Cidr {
  const [network = '', bits, ...rest] = range.split('/');
  if (bits === undefined || rest.length > 0) return invalid("Malformed CIDR, one '/' required");
  if (!/^\d{1,3}$/.test(bits)) return invalid('Malformed CIDR, mask bits must be an integer');
  const family = familyOf(network);
  if (family === undefined) return invalid(`Nonstandard IP address: ${network}`);
  if (Number(bits) >= BITS_BELOW[family]) {
    return invalid(`${family === 'ipv4' ? 'IPv4' : 'IPv6'} mask bits must be < ${BITS_BELOW[family]}`);
  }
  const addresses = new BlockList();
  addresses.addSubnet(network, Number(bits), family);
  return {
    kind: 'valid',
    contains: (address) => familyOf(address) === family && addresses.check(address, family),
  };
}

/** Returns the family of a plain address. A zone (`fe80::1%eth0`) and an IPv4 address within IPv6 are not plain. */
function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  if (version === 4) return 'ipv4';
  return version === 6 && /^[\da-fA-F:]+$/.test(address) ? 'ipv6' : undefined;
}

/** Makes the refusal of an operand. */
function invalid(reason: string): { readonly kind: 'invalid'; readonly reason: string } {
  return { kind: 'invalid', reason };
}

type Numeric =
  | { readonly kind: 'valid'; readonly holds: (value: number) => boolean }
  | { readonly kind: 'invalid'; readonly reason: string };

type Comparison = (value: number, limit: number) => boolean;

const comparisons: ReadonlyMap<unknown, Comparison> = new Map([
  ['=', (value, limit) => value === limit],
  ['<', (value, limit) => value < limit],
  ['<=', (value, limit) => value <= limit],
  ['>', (value, limit) => value > limit],
  ['>=', (value, limit) => value >= limit],
]);

/** Numbers lie from -5.0e9 to +5.0e9 inclusive (User Guide, "Numeric matching"). */
const LIMIT_MAX = 5_000_000_000;

type Bound =
  | {
      readonly kind: 'valid';
      readonly operator: string;
      readonly limit: number;
      readonly holds: (value: number) => boolean;
    }
  | { readonly kind: 'invalid'; readonly reason: string };

function parseNumeric(operand: unknown): Numeric {
  if (!Array.isArray(operand)) return invalid('Value of numeric must be an array.');
  const [operator, limit, ...more] = operand as unknown[];
  const first = parseBound(operator, limit);
  if (first.kind === 'invalid' || more.length === 0) return first;
  if (!first.operator.startsWith('>') || more.length > 2) {
    return invalid('Too many elements in numeric expression');
  }
  const second = parseBound(more[0], more[1]);
  if (second.kind === 'invalid') return second;
  if (!second.operator.startsWith('<')) return invalid(`Bad numeric range operator: ${second.operator}`);
  if (first.limit >= second.limit) return invalid('Bottom must be less than top');
  return { kind: 'valid', holds: (value) => first.holds(value) && second.holds(value) };
}

function parseBound(operator: unknown, limit: unknown): Bound {
  const compare = comparisons.get(operator);
  if (typeof operator !== 'string' || compare === undefined) {
    return invalid(`Unrecognized numeric range operator: ${JSON.stringify(operator)}`);
  }
  if (typeof limit !== 'number') return invalid(`Value of ${operator} must be numeric`);
  if (Math.abs(limit) > LIMIT_MAX) {
    return invalid(`Value must be between ${-LIMIT_MAX} and ${LIMIT_MAX}, inclusive`);
  }
  return { kind: 'valid', operator, limit, holds: (value) => compare(value, limit) };
}

type Wildcard =
  | { readonly kind: 'valid'; readonly matches: (text: string) => boolean }
  | { readonly kind: 'invalid'; readonly reason: string };

function parseWildcard(pattern: string): Wildcard {
  const literals: string[] = [];
  let literal = '';
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern.charAt(index);
    const next = pattern.charAt(index + 1);
    if (character === '*') {
      if (next === '*') return invalid(`Consecutive wildcard characters at pos ${index}`);
      literals.push(literal);
      literal = '';
    } else if (character === '\\') {
      if (next !== '*' && next !== '\\') return invalid(`Invalid escape character at pos ${index}`);
      literal += next;
      index += 1;
    } else {
      literal += character;
    }
  }
  return { kind: 'valid', matches: (text) => matchesLiterals([...literals, literal], text) };
}

/**
 * Matches each literal at the first place where it fits. That takes linear time, where a regular expression could
 * take for ever.
 */
function matchesLiterals(literals: readonly string[], text: string): boolean {
  const first = literals[0] ?? '';
  if (literals.length === 1) return text === first;
  const last = literals.at(-1) ?? '';
  if (text.length < first.length + last.length) return false;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  const middle = text.slice(first.length, text.length - last.length);
  let from = 0;
  for (const literal of literals.slice(1, -1)) {
    const position = middle.indexOf(literal, from);
    if (position < 0) return false;
    from = position + literal.length;
  }
  return true;
}

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
