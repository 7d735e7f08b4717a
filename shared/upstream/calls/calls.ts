/**
 * Puts the table of calls together. It has each call of the specification once, for the bridge's own reads and for
 * the API, which passes calls on.
 */

import type * as z from 'zod';
import { authCalls } from './auth.ts';
import type { Call } from './call.ts';
import { computeCalls, operationCalls, projectCalls } from './computes.ts';

export const calls = {
  ...authCalls,
  ...operationCalls,
  ...computeCalls,
  ...projectCalls,
} as const satisfies Readonly<Record<string, Call>>;

export type CallId = keyof typeof calls;

export type AnswerOf<C extends Call> = z.output<C['answer']>;
