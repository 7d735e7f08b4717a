/**
 * Gives the routes of the bridge what they have in common: their path, the read model of the caller's own account,
 * and what every list takes and answers.
 */

import * as z from 'zod';
import type { PerAccount } from '../../../shared/accounts/account-directory.ts';
import type { Caller } from '../../../shared/callers/scopes.ts';
import { cursorSealOf } from '../../../shared/callers/seal.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { isCursorFault } from '../read-model/list-page.ts';
import { type ReadModel, sealedReadModel } from '../read-model/read-model.ts';
import { invalid, notFound } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest, Route } from '../serving/route.ts';
import { type LongPoll, type PatientCallers, wait, waitFor } from '../serving/waiting.ts';
import { BRIDGE_MOUNT } from './bridge-route-ids.ts';

/**
 * Resolves to the read model of the caller's account, with the caller's cursors. Throws `Problem` `not-found` when
 * the account is not configured.
 */
export type ModelOf = (caller: Caller) => Promise<ReadModel>;

export interface ModelDeps {
  readonly readModels: PerAccount<ReadModel>;
  /** The pepper keys the seals of cursors. */
  readonly pepper: () => Promise<Secret>;
}

export async function modelFor({ readModels, pepper }: ModelDeps, caller: Caller): Promise<ReadModel> {
  return sealedReadModel(ofCaller(readModels, caller), cursorSealOf(caller, await pepper()));
}

/** A route that only reads declares these fields. Its path is relative to `BRIDGE_MOUNT`. */
export type ReadRoute<Query> = Pick<
  Route,
  | 'id'
  | 'path'
  | 'summary'
  | 'description'
  | 'access'
  | 'isAccountWide'
  | 'answer'
  | 'otherStatuses'
  | 'furtherProblems'
> & {
  readonly query?: Query;
};

export type ReadRequest<Query extends z.ZodObject> = Omit<ApiRequest, 'query'> & {
  readonly query: z.output<Query>;
};

export function readRoute<Query extends z.ZodObject>(
  modelOf: ModelOf,
  route: ReadRoute<Query>,
  read: (request: ReadRequest<Query>, model: ReadModel) => Promise<ApiAnswer>,
): Route {
  return {
    ...route,
    path: `${BRIDGE_MOUNT}${route.path}`,
    method: 'GET',
    group: 'Bridge',
    status: 200,
    // The query was parsed by the schema of this route, so its type is known.
    handle: async (request) =>
      read(request as never, await modelOf(request.caller)).catch(throwCursorProblem),
  };
}

function throwCursorProblem(error: unknown): never {
  if (isCursorFault(error))
    throw invalid([
      { field: 'query.cursor', reason: 'is not one that this list gave out; begin without one' },
    ]);
  throw error;
}

/** Returns what the caller's account has. Throws `Problem` `not-found` when the account is not configured. */
export function ofCaller<Store>(stores: PerAccount<Store>, { account_id }: Caller): Store {
  const store = stores.get(account_id);
  if (store === undefined) throw notFound();
  return store;
}

export interface WaitDeps {
  readonly clock: Clock;
  readonly patient: PatientCallers;
}

/** A route with this query answers when a condition holds, or after so many seconds. */
export const waitQuery = z.strictObject({ wait });

/** Reads until `isDone`, for as long as the request waits, and resolves to what was read last. */
export function readPatiently<T>(
  { clock, patient }: WaitDeps,
  { caller, query, signal }: ReadRequest<typeof waitQuery>,
  { read, isDone }: Pick<LongPoll<T>, 'read' | 'isDone'>,
): Promise<T> {
  const waitMs = query.wait * 1_000;
  return waitFor({ read, isDone, waitMs, clock, signal, beginWait: () => patient.wait(caller, waitMs) });
}

/** One page costs one read of the table. A program may ask for a hundred items, and people see shorter pages. */
export const PAGE_MAX = 100;

export const limit = z.coerce.number().int().min(1).max(PAGE_MAX).default(50);
export const cursor = z.string().min(1).max(6_000).optional();

export const filterText = z.string().min(1).max(100).optional();

/** A hundred ids of projects fit into a filter. */
export const FILTER_CHARACTERS_MAX = 2_500;

/** See `isAmong`. */
export const filterList = z
  .string()
  .min(1)
  .max(FILTER_CHARACTERS_MAX)
  .optional()
  .describe('Only these: one value, or several with commas between them.');

export const paged = (item: z.ZodType, of: string) =>
  z.object({
    [of]: z.array(item),
    cursor: z.string().optional().describe('For the next page; absent at the end.'),
  });
