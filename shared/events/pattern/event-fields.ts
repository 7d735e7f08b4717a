/** Reads the fields of an event as the matcher of EventBridge does. */

import type { Leaf } from './event-pattern-operators.ts';

export type Json = Leaf | readonly Json[] | { readonly [name: string]: Json };

/**
 * Returns the value itself, or what an array contains at any depth. It does not recurse, so that no event is too deep.
 */
export function elementsOf(value: Json | undefined): readonly (Json | undefined)[] {
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
export function memberOf(element: Json | undefined, name: string): Json | undefined {
  if (typeof element !== 'object' || element === null || isList(element)) return undefined;
  const member = Object.hasOwn(element, name) ? element[name] : undefined;
  const beyondDot = Object.entries(element).filter(([key]) => key.startsWith(`${name}.`));
  if (beyondDot.length === 0) return member;
  const below = Object.fromEntries(beyondDot.map(([key, value]) => [key.slice(name.length + 1), value]));
  if (member === undefined) return below;
  return isObject(member) ? { ...below, ...member } : [member, below];
}

export function isLeaf(value: Json | undefined): value is Leaf {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
