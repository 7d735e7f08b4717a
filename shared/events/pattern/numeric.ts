/** Implements the `numeric` operator: one comparison, or a range from below to above. */

export type Numeric =
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

export function parseNumeric(operand: unknown): Numeric {
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

function invalid(reason: string) {
  return { kind: 'invalid', reason } as const;
}
