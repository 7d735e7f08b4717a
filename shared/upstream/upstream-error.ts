/** What can go wrong between us and the upstream, by what the caller can do about it. */

import { AppError } from '../runtime/errors.ts';

export type UpstreamErrorKind =
  /** 401, also after one fresh read of the key; without a status: no header can carry the key. */
  | 'unauthorized'
  /** 403. */
  | 'forbidden'
  /** 404: deleted, or no permission; the service does not tell them apart. */
  | 'not_found'
  /** 423: conflicting operations run on the project. */
  | 'locked'
  /** 429. */
  | 'rate_limited'
  /** 5xx. */
  | 'unavailable'
  /** Any other 4xx; without a status: not sent, because an id in it is not of the expected form. */
  | 'rejected'
  /** Not JSON, half a body, a wrong envelope, or too large. */
  | 'malformed_answer'
  /** Refused, reset, no such host. */
  | 'network'
  | 'timeout'
  /** The caller's own signal. */
  | 'cancelled';

export interface UpstreamFailure {
  readonly kind: UpstreamErrorKind;
  readonly method: string;
  /** The path's template, without ids or query. */
  readonly path: string;
  readonly message: string;
  readonly status?: number | undefined;
  /** Milliseconds from now, from the answer's `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  readonly upstreamRequestId?: string | undefined;
}

/** Carries no request, header or body: errors end up in logs. */
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
