/** The table of calls: every call of the specification, once, for the client and for the API that passes them on. */

import type * as z from 'zod';
import type { Secret } from '../../runtime/secret.ts';
import { authCalls } from './auth.ts';
import type { Call } from './call.ts';
import { computeCalls } from './computes.ts';
import type { IdsOf } from './ids.ts';
import { operationCalls } from './operations.ts';
import { projectCalls } from './projects.ts';

export const calls = {
  ...authCalls,
  ...operationCalls,
  ...computeCalls,
  ...projectCalls,
} as const satisfies Readonly<Record<string, Call>>;

export type CallId = keyof typeof calls;

/** What a call is told: ids by their names, the query, and the body, in which any text may be a `Secret`. */
export type RequestOf<C extends Call> = Ids<C> & Query<C> & Body<C>;

export type AnswerOf<C extends Call> = z.output<C['answer']>;

type Ids<C extends Call> =
  IdsOf<C['path']> extends never
    ? unknown
    : { readonly ids: { readonly [Name in IdsOf<C['path']>]: string } };
type Query<C extends Call> = C extends { readonly query: z.ZodObject }
  ? { readonly query?: z.input<C['query']> }
  : unknown;
type Body<C extends Call> = C extends { readonly body: z.ZodObject }
  ? { readonly body: MaybeSecret<z.input<C['body']>> }
  : unknown;

type MaybeSecret<T> = T extends string
  ? T | Secret
  : T extends object
    ? { [Name in keyof T]: MaybeSecret<T[Name]> }
    : T;

export function isMutating(call: Call): boolean {
  return call.method !== 'GET';
}
