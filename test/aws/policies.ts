/**
 * Decides whether a policy of the template allows a call: by statements and their conditions, where a deny beats
 * every allow.
 */

import { type Resources, resolve } from './symbols.ts';

export interface AwsCall {
  /**
   * The caller is a service such as `events.amazonaws.com`. The field is undefined for a role, whose own policies
   * decide.
   */
  readonly service?: string;
  readonly action: string;
  readonly resource: string;
  /** The keys of the request are in lower case, because IAM ignores case: `aws:sourcearn`. */
  readonly context?: Readonly<Record<string, string>>;
}

export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Principal?: unknown;
  readonly Action: string | readonly string[];
  readonly Resource?: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export function isAllowed(resources: Resources, statements: readonly Statement[], call: AwsCall): boolean {
  const fitting = statements.filter((statement) => fits(resources, statement, call));
  return fitting.some(({ Effect }) => Effect === 'Allow') && !fitting.some(({ Effect }) => Effect === 'Deny');
}

function fits(resources: Resources, statement: Statement, call: AwsCall): boolean {
  const { Action, Resource, Principal, Condition = {} } = statement;
  const named = listOf(Resource).map((each) => resolve(resources, each));
  return (
    listOf(Action).some((action) => isLike(String(action).toLowerCase(), call.action.toLowerCase())) &&
    (Resource === undefined || named.some((pattern) => isLike(pattern, call.resource))) &&
    isForPrincipal(resources, Principal, call.service) &&
    Object.entries(Condition).every(([operator, wanted]) => holds(resources, { operator, wanted }, call))
  );
}

function isForPrincipal(resources: Resources, principal: unknown, service: string | undefined): boolean {
  if (principal === undefined) return service === undefined;
  if (principal === '*') return true;
  const { Service, AWS } = principal as { readonly Service?: unknown; readonly AWS?: unknown };
  return AWS === '*' || listOf(Service).some((each) => resolve(resources, each) === service);
}

/** A key that the request lacks fulfils only negated conditions, and `Bool` ones. */
function holds(
  resources: Resources,
  { operator, wanted }: { readonly operator: string; readonly wanted: Readonly<Record<string, unknown>> },
  { context = {} }: AwsCall,
): boolean {
  return Object.entries(wanted).every(([key, values]) => {
    const found = context[key.toLowerCase()];
    const patterns = listOf(values).map((value) => resolve(resources, value));
    if (operator === 'Bool') return patterns.includes(found ?? 'true');
    if (operator.includes('Not')) return !patterns.includes(found ?? '');
    if (found === undefined) return false;
    if (operator === 'StringEquals') return patterns.includes(found);
    return patterns.some((pattern) => isLike(pattern, found));
  });
}

/** Compares as IAM does: `*` stands for any text, `?` for one character. */
function isLike(pattern: string, text: string): boolean {
  const source = pattern
    .split('*')
    .map((part) => part.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('?', '.'))
    .join('.*');
  return new RegExp(`^${source}$`, 's').test(text);
}

export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
