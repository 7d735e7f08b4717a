/** Reads EventBridge event patterns with AWS's refusals, and matches them with AWS's semantics. */

import {
  type Leaf,
  type Matcher,
  OPERATOR_KEYWORDS,
  parseMatcher,
  refusePattern,
} from './pattern-operators.ts';

type Json = Leaf | readonly Json[] | { readonly [name: string]: Json };

/**
 * Returns the value itself, or what an array contains at any depth. It does not recurse, so that no event is too deep.
 */
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

/**
 * Finds own members only: every object inherits a `constructor`, and no event means that one. A dot in the name of an
 * event's field is a step, too.
 */
function memberOf(element: Json | undefined, name: string): Json | undefined {
  if (typeof element !== 'object' || element === null || isList(element)) return undefined;
  const member = Object.hasOwn(element, name) ? element[name] : undefined;
  const beyondDot = Object.entries(element).filter(([key]) => key.startsWith(`${name}.`));
  if (beyondDot.length === 0) return member;
  const below = Object.fromEntries(beyondDot.map(([key, value]) => [key.slice(name.length + 1), value]));
  if (member === undefined) return below;
  return isObject(member) ? { ...below, ...member } : [member, below];
}

function isLeaf(value: Json | undefined): value is Leaf {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export { InvalidEventPatternError } from './pattern-operators.ts';

export type EventPattern = { readonly kind: 'leaf'; readonly matchers: readonly Matcher[] } | ObjectPattern;

interface ObjectPattern {
  readonly kind: 'object';
  readonly fields: readonly Field[];
  /** There is one list for each `$or`, and one pattern of each list must match. */
  readonly alternatives: readonly (readonly EventPattern[])[];
}

type Field = readonly [name: string, pattern: EventPattern];

/** The API Reference sets this bound (PutRule, EventPattern). It also bounds how deep the parser has to go. */
const PATTERN_CHARACTERS_MAX = 4_096;

/** Matching takes a few stack frames for each step of a path, so this bound keeps it far from the end of the stack. */
const STEPS_MAX = 500;

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
  const fields: Field[] = [];
  const alternatives: EventPattern[][] = [];
  for (const [name, value] of Object.entries(json)) {
    const below = path === '' ? name : `${path}.${name}`;
    if (name === '$or' && isAlternatives(value)) {
      alternatives.push(value.map((part, index) => parseFields(part, `${below}[${index}]`)));
    } else {
      fields.push(nested(name, parseField(value, below)));
    }
  }
  if (fields.length + alternatives.length === 0) return refusePattern('Empty objects are not allowed', path);
  return { kind: 'object', fields: merged(fields), alternatives };
}

/**
 * A dot in a name is a step into the nested object, because event-ruler joins the names of a path with dots: `a.b` and
 * `a` with `b` inside are one path.
 */
function nested(name: string, pattern: EventPattern): Field {
  const [first = '', ...steps] = name.split('.');
  if (steps.length > STEPS_MAX) return refusePattern(`It is nested more than ${STEPS_MAX} times`, name);
  const inner = steps.reduceRight<EventPattern>(
    (below, step) => ({ kind: 'object', fields: [[step, below]], alternatives: [] }),
    pattern,
  );
  return [first, inner];
}

/** Conditions below one name belong to one object. Of two conditions on the same path, the later one counts. */
function merged(fields: readonly Field[]): readonly Field[] {
  return [...Map.groupBy(fields, ([name]) => name)].flatMap(([name, named]) => {
    const patterns = named.map(([, pattern]) => pattern);
    const leaf = patterns.findLast((pattern) => pattern.kind === 'leaf');
    const objects = patterns.filter((pattern) => pattern.kind === 'object');
    const object = objects.length < 2 ? objects[0] : mergedObject(objects);
    return [leaf, object].filter((pattern) => pattern !== undefined).map((pattern): Field => [name, pattern]);
  });
}

function mergedObject(objects: readonly ObjectPattern[]): ObjectPattern {
  return {
    kind: 'object',
    fields: merged(objects.flatMap(({ fields }) => fields)),
    alternatives: objects.flatMap(({ alternatives }) => alternatives),
  };
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

function matchesElement({ fields, alternatives }: ObjectPattern, element: Json | undefined): boolean {
  return (
    fields.every(([name, pattern]) => matches(pattern, memberOf(element, name))) &&
    alternatives.every((patterns) => patterns.some((pattern) => matches(pattern, element)))
  );
}

function matchesLeaves(matcher: Matcher, leaves: readonly Leaf[]): boolean {
  if (matcher.kind === 'exists') return matcher.wanted === leaves.length > 0;
  return leaves.some((leaf) => matcher.holds(leaf));
}
