/** Reads bodies as the service takes them: JSON or form-encoded, checked by the service's own schemas. */

import type * as z from 'zod';
import { refusal, type UpstreamContext } from './upstream-context.ts';

export type ParsedBody<Body> =
  | { readonly kind: 'body'; readonly body: Body }
  | { readonly kind: 'refused'; readonly response: Response };

/** The largest body of the specification has a few hundred bytes, so this bound stops no honest client. */
const BODY_BYTES_MAX = 1_000_000;

/** A form contains only text; these fields are converted to numbers. */
const NUMBER_FIELDS = /(^|_)(port|cu|seconds)$/;
const BOOLEAN_FIELDS = /^(pooler_enabled|disabled|passwordless_access)$/;

export async function parseBody<Schema extends z.ZodType>(
  c: UpstreamContext,
  schema: Schema,
): Promise<ParsedBody<z.output<Schema>>> {
  const text = await c.req.text();
  if (text.length > BODY_BYTES_MAX) return refused(c, 'body: too large');
  const isForm = (c.req.header('content-type') ?? '').startsWith('application/x-www-form-urlencoded');
  const value = isForm ? parseForm(text) : parseJson(text);
  if (value === undefined) return refused(c, 'decode application/json: unexpected input');
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: 'body', body: parsed.data };
  const [issue] = parsed.error.issues;
  return refused(c, `${issue?.path.join('.') || 'body'}: ${wordsOf(issue)}`);
}

function refused(
  c: UpstreamContext,
  what: string,
): { readonly kind: 'refused'; readonly response: Response } {
  return { kind: 'refused', response: refusal(c, 400, `invalid request: ${what}`) };
}

/** For a missing field, the service says "project (field required)" (observed). */
function wordsOf(issue: z.core.$ZodIssue | undefined): string {
  const isMissing = issue?.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return isMissing ? 'field required' : (issue?.message ?? 'invalid');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text);
  } catch {
    return undefined;
  }
}

/** Brackets nest: `endpoint[branch_id]=br-1` and `domains[0][domain]=https://a`. */
function parseForm(text: string): object {
  const root: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/[[\]]+/).filter((part) => part !== '');
    if (path.length <= FORM_DEPTH_MAX && path.every(isPlainName))
      place(root, path, typed(path.at(-1) ?? '', value));
  }
  return root;
}

const FORM_DEPTH_MAX = 4;

/**
 * Accepts field names of the service and places in short lists, and no name that every object inherits from its
 * prototype.
 */
function isPlainName(name: string): boolean {
  return /^(?:[a-z][a-z_]*|\d{1,2})$/.test(name) && !(name in Object.prototype);
}

function place(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const isList = /^\d+$/.test(rest[0] ?? '');
  if (!Object.hasOwn(target, first)) target[first] = isList ? [] : {};
  const inner = target[first];
  if (typeof inner === 'object' && inner !== null) place(inner as Record<string, unknown>, rest, value);
}

function typed(name: string, value: string): unknown {
  if (NUMBER_FIELDS.test(name) && value !== '') return Number(value);
  return BOOLEAN_FIELDS.test(name) && /^(true|false)$/.test(value) ? value === 'true' : value;
}
