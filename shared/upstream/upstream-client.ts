/** The bridge's own reads of the upstream as a port: `http-client.ts` speaks HTTP, and the simulation has its own. */

import type { Operation } from '../core/records/operation.ts';
import type { Permit } from './request-budget.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Already taken for the first request of these; what comes after it takes its own. */
  readonly permit?: Permit | undefined;
}

export interface OperationPage {
  /** Newest first. */
  readonly operations: readonly Operation[];
  /** Rows that could not be parsed; they are counted, and the others go on. */
  readonly malformedRowCount: number;
  /** Goes back as it came; there even when nothing follows, absent on an empty list. */
  readonly cursor: string | undefined;
  /** The upstream's clock, from the `Date` header; undefined when there is none. */
  readonly serverDateMs?: number | undefined;
}

export interface ProjectRow {
  readonly id: string;
  readonly name?: string | undefined;
  readonly created_at?: string | undefined;
  readonly updated_at?: string | undefined;
}

export interface ProjectPage {
  readonly projects: readonly ProjectRow[];
  readonly malformedRowCount: number;
  readonly cursor: string | undefined;
  /** Projects that exist but could not be listed in time: the page is partial. */
  readonly unavailableProjectIds: readonly string[];
  /** The upstream's clock, from the `Date` header. */
  readonly serverDateMs: number | undefined;
}

/** Whatever goes wrong with the upstream is an `UpstreamError`; only a key that could not be read is not. */
export interface UpstreamClient {
  listProjects(query: { cursor?: string; limit?: number }, options?: CallOptions): Promise<ProjectPage>;
  listOperations(
    query: { projectId: string; limit?: number; cursor?: string },
    options?: CallOptions,
  ): Promise<OperationPage>;
  getOperation(query: { projectId: string; operationId: string }, options?: CallOptions): Promise<Operation>;
}
