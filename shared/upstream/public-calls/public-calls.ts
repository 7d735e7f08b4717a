/** Joins the calls of the public API that the specification does not have (client release 2.7.3), each with its scope. */

import { accountCalls } from './account.ts';
import { branchAuthCalls } from './branch-auth.ts';
import { branchCalls } from './branches.ts';
import { databaseCalls } from './databases.ts';
import { projectCalls } from './projects.ts';
import type { PublicCalls } from './public-call.ts';
import { storageCalls } from './storage.ts';

export const publicCalls = {
  ...projectCalls,
  ...branchCalls,
  ...databaseCalls,
  ...branchAuthCalls,
  ...storageCalls,
  ...accountCalls,
} as const satisfies PublicCalls;

export type PublicCallId = keyof typeof publicCalls;
