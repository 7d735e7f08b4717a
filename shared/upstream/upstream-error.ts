/** Defines a failure between the bridge and the upstream, as it is thrown. */

import type { UpstreamErrorKind } from '../core/rates/upstream-error-kind.ts';
import { AppError } from '../runtime/errors.ts';

export type { UpstreamErrorKind };

export interface UpstreamFailure {
  readonly kind: UpstreamErrorKind;
  readonly method: string;
  /** This is the path's template, without ids or query. */
  readonly path: string;
  readonly message: string;
  readonly status?: number | undefined;
  /** The caller waits for this time from now, as the answer's `Retry-After` says. */
  readonly retryAfterMs?: number | undefined;
  readonly upstreamRequestId?: string | undefined;
}

/** The error carries no request, header or body, because errors end up in logs. */
export class UpstreamError extends AppError {
  readonly kind: UpstreamErrorKind;
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly upstreamRequestId: string | undefined;

  constructor(failure: UpstreamFailure) {
    super(`upstream_${failure.kind}`, failure.message);
    this.name = 'UpstreamError';
    this.kind = failure.kind;
    this.method = failure.method;
    this.path = failure.path;
    this.status = failure.status;
    this.retryAfterMs = failure.retryAfterMs;
    this.upstreamRequestId = failure.upstreamRequestId;
  }
}

export function isUpstreamError(thrown: unknown): thrown is UpstreamError {
  return thrown instanceof UpstreamError;
}
