/**
 * Puts the table of calls together. It has each call once: those of the specification, with schemas, for the bridge's
 * own reads and for the API, and those that only the vendor's public clients have, which the API passes on.
 */

import type * as z from 'zod';
import { accountCalls, projectCalls } from './account.ts';
import { authCalls } from './auth.ts';
import { branchAuthCalls, branchCalls } from './branches.ts';
import { type Call, publicCall, type TableCall } from './call.ts';
import { computeCalls, operationCalls, projectListCalls } from './computes.ts';
import { databaseCalls, storageCalls } from './databases.ts';

export const calls = {
  ...authCalls,
  ...operationCalls,
  ...computeCalls,
  ...projectListCalls,
} as const satisfies Readonly<Record<string, TableCall>>;

export type CallId = keyof typeof calls;

export type AnswerOf<C extends Call> = z.output<C['answer']>;

const publicRows = {
  ...projectCalls,
  ...branchCalls,
  ...databaseCalls,
  ...branchAuthCalls,
  ...storageCalls,
  ...accountCalls,
} as const;

export type PublicCallId = keyof typeof publicRows;

export const publicCalls = Object.fromEntries(
  Object.entries(publicRows).map(([id, row]) => [id, publicCall(row)]),
) as Readonly<Record<PublicCallId, TableCall>>;

/** The configuration opens these calls by their names. */
export type ClosedCallId = {
  [Id in PublicCallId]: (typeof publicRows)[Id] extends readonly [string, { readonly isClosed: true }]
    ? Id
    : never;
}[PublicCallId];

export type AnyCallId = CallId | PublicCallId;

export const allCalls: Readonly<Record<AnyCallId, TableCall>> = { ...calls, ...publicCalls };
