/**
 * Reads EventBridge event patterns with AWS's refusals, and matches them with AWS's semantics. The source is the
 * Amazon EventBridge User Guide, "Comparison operators for use in event patterns", and where it is silent,
 * github.com/aws/event-ruler, the matcher of EventBridge itself.
 */

import { type Leaf, type Matcher, OPERATOR_KEYWORDS, parseMatcher } from './event-pattern-operators.ts';
import { refusePattern } from './invalid-event-pattern-error.ts';

export { InvalidEventPatternError } from './invalid-event-pattern-error.ts';

type Json = Leaf | readonly Json[] | { readonly [name: string]: Json };

export type EventPattern =
  | { readonly kind: 'leaf'; readonly matchers: readonly Matcher[] }
  | {
      readonly kind: 'object';
      readonly fields: readonly (readonly [name: string, pattern: EventPattern])[];
      /** There is one list for each `$or`, and one pattern of each list must match. */
      readonly alternatives: readonly (readonly EventPattern[])[];
    };

/** The API Reference sets this bound (PutRule, EventPattern). It also bounds how deep the parser has to go. */
const PATTERN_CHARACTERS_MAX = 4_096;

/** Parses JSON, or takes the object itself. Throws `InvalidEventPatternError` with a reason that a person can read. */
export function parseEventPattern(source: unknown): EventPattern {
  const text = typeof source === 'string' ? source : toJson(source);
  if (text.length > PATTERN_CHARACTERS_MAX) {
    return refusePattern(`It is longer than ${PATTERN_CHARACTERS_MAX} characters`, '');
  }
  const pattern = parseJson(text);
  if (!isObject(pattern)) return refusePattern('Filter is not an object', '');
  return parseFields(pattern, '');
}

/** Returns yes or no for every event, whatever its form. */
export function matchesEventPattern(pattern: EventPattern, event: unknown): boolean {
  return matches(pattern, event as Json);
}

function parseFields(json: Readonly<Record<string, unknown>>, path: string): EventPattern {
  const fields: (readonly [string, EventPattern])[] = [];
  const alternatives: EventPattern[][] = [];
  for (const [name, value] of Object.entries(json)) {
    const below = path === '' ? name : `${path}.${name}`;
    if (name === '$or' && isAlternatives(value)) {
      alternatives.push(value.map((part, index) => parseFields(part, `${below}[${index}]`)));
    } else {
      fields.push([name, parseField(value, below)]);
    }
  }
  if (fields.length + alternatives.length === 0) return refusePattern('Empty objects are not allowed', path);
  return { kind: 'object', fields, alternatives };
}

function parseField(value: unknown, path: string): EventPattern {
  if (isObject(value)) return parseFields(value, path);
  if (!Array.isArray(value)) return refusePattern('It must be an object or an array', path);
  if (value.length === 0) return refusePattern('Empty arrays are not allowed', path);
  return { kind: 'leaf', matchers: value.map((member: unknown) => parseMatcher(member, path)) };
}

/**
 * `$or` is an operator only with two or more objects, none of which has the name of an operator as a field; otherwise
 * it is a field of that name (event-ruler README, 'The "$or" Primitive').
 */
function isAlternatives(value: unknown): value is readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value) || value.length < 2) return false;
  return value.every(
    (part) => isObject(part) && !Object.keys(part).some((key) => OPERATOR_KEYWORDS.has(key)),
  );
}

/** Turns an object into text, so that both are read alike. */
function toJson(source: unknown): string {
  try {
    return JSON.stringify(source) ?? '';
  } catch {
    return refusePattern('It cannot be written as JSON', '');
  }
}

function parseJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return refusePattern('It is not JSON', '');
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function matches(pattern: EventPattern, value: Json | undefined): boolean {
  if (pattern.kind === 'leaf') {
    const leaves = elementsOf(value).filter(isLeaf);
    return pattern.matchers.some((matcher) => matchesLeaves(matcher, leaves));
  }
  // Conditions below an array of objects must hold in the same element, so each element is tried as a whole.
  const elements = elementsOf(value);
  const candidates = elements.length === 0 ? [undefined] : elements;
  return candidates.some((element) => matchesElement(pattern, element));
}

function matchesElement(
  { fields, alternatives }: Extract<EventPattern, { kind: 'object' }>,
  element: Json | undefined,
): boolean {
  return (
    fields.every(([name, pattern]) => matches(pattern, memberOf(element, name))) &&
    alternatives.every((patterns) => patterns.some((pattern) => matches(pattern, element)))
  );
}

function matchesLeaves(matcher: Matcher, leaves: readonly Leaf[]): boolean {
  if (matcher.kind === 'exists') return matcher.wanted === leaves.length > 0;
  return leaves.some((leaf) => matcher.holds(leaf));
}

/** Returns the value itself, or what an array holds at any depth. It does not recurse, so no event is too deep. */
function elementsOf(value: Json | undefined): readonly (Json | undefined)[] {
  const elements: (Json | undefined)[] = [];
  const rest = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (!isList(next)) elements.push(next);
    else for (const member of next) rest.push(member);
  }
  return elements;
}

/** Reads own members only: every object inherits a `constructor`, and no event means that one. */
function memberOf(element: Json | undefined, name: string): Json | undefined {
  if (typeof element !== 'object' || element === null || isList(element)) return undefined;
  return Object.hasOwn(element, name) ? element[name] : undefined;
}

function isLeaf(value: Json | undefined): value is Leaf {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
