/** Bodies as the service takes them: JSON or form-encoded, parsed by the service's own schemas. */

import type * as z from 'zod';
import { refusal, type UpstreamContext } from './upstream-context.ts';

export type ParsedBody<Body> =
  | { readonly kind: 'body'; readonly body: Body }
  | { readonly kind: 'refused'; readonly response: Response };

/** Bounded like everything: the largest body of the specification is a few hundred bytes. */
const BODY_BYTES_MAX = 1_000_000;

/** A form knows text alone; these fields are of another type. */
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

/** Observed: "project (field required)". */
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

/** `endpoint[branch_id]=br-1` and `domains[0][domain]=https://a`: brackets nest. */
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

/** Field names of the service, and places in short lists: nothing that every object has from its prototype. */
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
