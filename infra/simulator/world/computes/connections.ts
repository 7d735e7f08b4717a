/** Counts the connections of a compute, and bounds them (specification "Compute sizes" and "Limits"). */

import type { Compute } from '../state/compute.ts';
import { maxConnectionsOf } from '../state/compute-size.ts';
import { type Refused, refused } from '../state/outcome.ts';

export interface NewConnections {
  readonly count: number;
  /** Clients of the pooler share a few connections to Postgres, so they do not count toward `max_connections`. */
  readonly isPooled: boolean;
}

export const ONE_CONNECTION: NewConnections = { count: 1, isPooled: false };

/** The pooler takes "up to 10,000 concurrent client connections" (specification "Limits"). */
export const POOLED_CONNECTIONS_MAX = 10_000;

/**
 * Returns why the connections cannot be opened: either all of them open or none. The sentences are those of Postgres
 * and its pooler.
 */
export function refusalOfConnections(
  { connectionCount, pooledConnectionCount, config }: Compute,
  { count, isPooled }: NewConnections,
): Refused | undefined {
  if (isPooled)
    return pooledConnectionCount + count > POOLED_CONNECTIONS_MAX
      ? refused(409, 'FATAL: no more connections allowed (max_client_conn)')
      : undefined;
  return connectionCount + count > maxConnectionsOf(config.size)
    ? refused(409, 'FATAL: sorry, too many clients already (SQLSTATE 53300)')
    : undefined;
}

export function openConnections(compute: Compute, { count, isPooled }: NewConnections): void {
  if (isPooled) compute.pooledConnectionCount += count;
  else compute.connectionCount += count;
}

/** A suspend and a restart drop all connections, those of the pooler's clients too. */
export function dropConnections(compute: Compute): void {
  compute.connectionCount = 0;
  compute.pooledConnectionCount = 0;
}
