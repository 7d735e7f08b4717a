/** The table of calls: every call of the specification, once, for the client and for the API that passes them on. */

import type * as z from 'zod';
import { authCalls } from './auth.ts';
import type { Call } from './call.ts';
import { computeCalls } from './computes.ts';
import { operationCalls } from './operations.ts';
import { projectCalls } from './projects.ts';

export const calls = {
  ...authCalls,
  ...operationCalls,
  ...computeCalls,
  ...projectCalls,
} as const satisfies Readonly<Record<string, Call>>;

export type CallId = keyof typeof calls;

export type AnswerOf<C extends Call> = z.output<C['answer']>;
