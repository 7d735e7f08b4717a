/** What the bridge itself has to say against a request: a problem document (RFC 9457), without any value of the request. */

export const PROBLEM_TYPES = {
  'invalid-request': { status: 400, title: 'The request is not of the expected form' },
  unauthenticated: { status: 401, title: 'A valid token is required' },
  'scope-missing': { status: 403, title: 'The token does not have the scope that this call needs' },
  'account-wide': { status: 403, title: 'The token is limited to projects, and this call is not' },
  'not-found': { status: 404, title: 'There is nothing here that this token may see' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'media-type-unsupported': { status: 415, title: 'The body is neither JSON nor form-encoded' },
  'in-progress': { status: 409, title: 'The first request with this Idempotency-Key is still running' },
  'outcome-unknown': {
    status: 409,
    title: 'Nobody knows what became of the first request with this Idempotency-Key',
  },
  'secret-already-issued': { status: 409, title: 'The answer to this command held a secret and is not kept' },
  'key-reused': { status: 422, title: 'This Idempotency-Key was used for another request' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'The bridge failed' },
  'record-unreadable': { status: 503, title: 'This version of the bridge cannot read the record' },
  'upstream-unavailable': { status: 502, title: 'The upstream service did not give a usable answer' },
  'upstream-timeout': { status: 504, title: 'The upstream service did not answer in time' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly title: string }>>;

export type ProblemType = keyof typeof PROBLEM_TYPES;

export interface FieldFault {
  /** Where: `body.endpoint.branch_id`, `query.limit`, `path.project_id`, `header.prefer`. */
  readonly field: string;
  /** What is expected there; never what was found. */
  readonly reason: string;
}

export interface ProblemOptions {
  /** What was wrong here and what to do about it, for a person. */
  readonly detail: string;
  readonly faults?: readonly FieldFault[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
  /** It is there, and this caller may not know: a refusal that looks like nothing. */
  readonly isHidden?: boolean;
}

export class Problem extends Error {
  readonly type: ProblemType;
  readonly status: number;
  readonly detail: string;
  readonly faults: readonly FieldFault[];
  readonly headers: Readonly<Record<string, string>>;
  readonly isHidden: boolean;

  constructor(
    type: ProblemType,
    { detail, faults = [], headers = {}, cause, isHidden = false }: ProblemOptions,
  ) {
    super(detail, { cause });
    this.name = 'Problem';
    this.type = type;
    this.status = PROBLEM_TYPES[type].status;
    this.detail = detail;
    this.faults = faults;
    this.headers = headers;
    this.isHidden = isHidden;
  }
}

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** Types are stable names; where they are described is a matter of the documentation. */
export function problemDocument(problem: Problem, requestId: string): object {
  return {
    type: `urn:operations-bridge:problem:${problem.type}`,
    title: PROBLEM_TYPES[problem.type].title,
    status: problem.status,
    detail: problem.detail,
    // The members of the upstream's own errors, so that its clients show the sentence.
    code: '',
    message: problem.detail,
    request_id: requestId,
    ...(problem.faults.length > 0 && { errors: problem.faults }),
  };
}
