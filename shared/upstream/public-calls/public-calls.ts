/** Joins the calls of the public API that the specification does not have (client release 2.7.3), each with its scope. */

import { accountCalls, projectCalls } from './account.ts';
import { branchAuthCalls, branchCalls } from './branches.ts';
import { databaseCalls, storageCalls } from './databases.ts';
import type { PublicCalls } from './public-call.ts';

export const publicCalls = {
  ...projectCalls,
  ...branchCalls,
  ...databaseCalls,
  ...branchAuthCalls,
  ...storageCalls,
  ...accountCalls,
} as const satisfies PublicCalls;

export type PublicCallId = keyof typeof publicCalls;
