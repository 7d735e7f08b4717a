/**
 * Defines the bridge's own reads of the upstream as a port. `http-client.ts` speaks HTTP, and the simulation has its
 * own client.
 */

import type { Operation } from '../core/records/operation.ts';
import type { RunningCompute } from '../core/records/running-compute.ts';
import type { ProjectRow } from './calls/project-row.ts';
import type { Permit } from './request-budget.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** This permit was already taken for the first request. Repetitions take permits of their own. */
  readonly permit?: Permit | undefined;
}

export interface PageOptions extends CallOptions {
  /** A page whose bytes have this digest is not parsed: it comes back unchanged. */
  readonly known?: string | undefined;
}

export interface OperationPage {
  /** The newest operation comes first. */
  readonly operations: readonly Operation[];
  /** This number of rows could not be parsed. They are left out. */
  readonly malformedRowCount: number;
  /** It must be sent back unchanged. It is there even when nothing follows, and absent on an empty list. */
  readonly cursor: string | undefined;
  /**
   * This is the upstream's clock, from the `Date` header, in milliseconds since the epoch. It is undefined when the
   * answer has no such header.
   */
  readonly serverDateMs?: number | undefined;
  /** It is the digest of the answer's bytes. It is undefined where the answer is not read from bytes. */
  readonly digest?: string | undefined;
  /** It is true when the digest is the known one. Then the page shows none of its rows and no cursor. */
  readonly isUnchanged?: boolean;
}

interface ProjectPage {
  readonly projects: readonly ProjectRow[];
  readonly malformedRowCount: number;
  readonly cursor: string | undefined;
  /** These projects exist and could not be listed in time, so the page is partial. */
  readonly unavailableProjectIds: readonly string[];
  /** This is the upstream's clock, from the `Date` header, in milliseconds since the epoch. */
  readonly serverDateMs: number | undefined;
}

/**
 * Every call rejects with `UpstreamError` when the upstream fails. It rejects with another error only when the
 * account's API key could not be read from its secret.
 */
export interface UpstreamClient {
  listProjects: (query: { cursor?: string; limit?: number }, options?: CallOptions) => Promise<ProjectPage>;
  listOperations: (
    query: { projectId: string; limit?: number; cursor?: string },
    options?: PageOptions,
  ) => Promise<OperationPage>;
  /** Lists the computes of the project that run. Rows of an unusual form are left out. */
  listRunningComputes: (
    query: { projectId: string },
    options?: CallOptions,
  ) => Promise<readonly RunningCompute[]>;
  getOperation: (
    query: { projectId: string; operationId: string },
    options?: CallOptions,
  ) => Promise<Operation>;
}
