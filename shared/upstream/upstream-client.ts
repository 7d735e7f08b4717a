/** The bridge's own reads of the upstream as a port: `http-client.ts` speaks HTTP, and the simulation has its own. */

import type { Operation } from '../core/records/operation.ts';
import type { Permit } from './request-budget.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** A permit that was taken already, for the first request; each repetition takes a permit of its own. */
  readonly permit?: Permit | undefined;
}

export interface OperationPage {
  /** Newest first. */
  readonly operations: readonly Operation[];
  /** The number of rows that could not be parsed and are left out. */
  readonly malformedRowCount: number;
  /** Must be sent back unchanged. The upstream gives a cursor even when nothing follows, and none with an empty list. */
  readonly cursor: string | undefined;
  /** The upstream's clock, from the `Date` header; undefined when there is none. */
  readonly serverDateMs?: number | undefined;
}

interface ProjectRow {
  readonly id: string;
  readonly name?: string | undefined;
  readonly created_at?: string | undefined;
  readonly updated_at?: string | undefined;
}

interface ProjectPage {
  readonly projects: readonly ProjectRow[];
  readonly malformedRowCount: number;
  readonly cursor: string | undefined;
  /** Projects that exist but could not be listed in time: the page is partial. */
  readonly unavailableProjectIds: readonly string[];
  /** The upstream's clock, from the `Date` header. */
  readonly serverDateMs: number | undefined;
}

/** Every method rejects with `UpstreamError`, except when the key's own source fails. */
export interface UpstreamClient {
  listProjects(query: { cursor?: string; limit?: number }, options?: CallOptions): Promise<ProjectPage>;
  listOperations(
    query: { projectId: string; limit?: number; cursor?: string },
    options?: CallOptions,
  ): Promise<OperationPage>;
  getOperation(query: { projectId: string; operationId: string }, options?: CallOptions): Promise<Operation>;
}
