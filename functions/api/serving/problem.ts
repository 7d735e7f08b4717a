/**
 * Makes the bridge's own refusals and failures: problem documents (RFC 9457) that contain no value of the request.
 */

export const PROBLEM_TYPES = {
  'invalid-request': { status: 400, title: 'The request is not of the expected form' },
  unauthenticated: { status: 401, title: 'A valid token is required' },
  'scope-missing': { status: 403, title: 'The token does not have the scope that this call needs' },
  'account-wide': { status: 403, title: 'The token is limited to projects, and this call is not' },
  'call-closed': { status: 403, title: 'The configuration of this bridge does not open this call' },
  'approval-required': { status: 403, title: 'A person must approve this call first' },
  'approval-denied': { status: 403, title: 'This call needed an approval, and it will not be sent' },
  'approval-own': { status: 403, title: 'Another person must decide' },
  'approval-decided': { status: 409, title: 'It was decided before' },
  'not-found': { status: 404, title: 'There is nothing here that this token may see' },
  'call-unknown': { status: 404, title: 'The bridge does not know this call of the upstream' },
  'method-not-allowed': { status: 405, title: 'The path takes other methods' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'media-type-unsupported': { status: 415, title: 'The body is neither plain JSON nor form-encoded' },
  'in-progress': { status: 409, title: 'The first request is still running' },
  'outcome-unknown': { status: 409, title: 'The outcome of the first request is unknown' },
  'secret-already-issued': { status: 409, title: 'The answer to this command held a secret and is not kept' },
  'key-reused': { status: 422, title: 'This Idempotency-Key was used for another request' },
  'not-queueable': { status: 422, title: 'This command cannot wait in line' },
  'not-in-line': { status: 409, title: 'The command has left the line' },
  'incident-ended': { status: 409, title: 'The incident does not stand as this call expects' },
  'too-many-mutes': { status: 409, title: 'The account has too many mutes' },
  'queue-full': { status: 429, title: 'Too many commands wait in line' },
  'repair-in-progress': { status: 409, title: 'A repair of this project has not ended' },
  'replay-in-progress': { status: 409, title: 'A replay of this account has not ended' },
  'account-conflict': { status: 409, title: 'The account does not stand as this call expects' },
  'account-unusable': { status: 422, title: 'The upstream cannot be used with these settings' },
  'account-paused': { status: 503, title: 'Nothing is sent to the upstream for this account' },
  frozen: { status: 503, title: 'The commands of this account are held' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'The bridge failed' },
  'bus-unavailable': { status: 503, title: 'The bus did not accept the event' },
  'record-unreadable': { status: 503, title: 'This version of the bridge cannot read the record' },
  'upstream-unavailable': { status: 502, title: 'The upstream service did not give a usable answer' },
  'upstream-timeout': { status: 504, title: 'The upstream service did not answer in time' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly title: string }>>;

export type ProblemType = keyof typeof PROBLEM_TYPES;

export interface FieldFault {
  /**
   * The field names the place of the fault, such as `body.endpoint.branch_id`, `query.limit`, `path.project_id` or
   * `header.prefer`.
   */
  readonly field: string;
  /** The reason says what is expected there. It never repeats what was found. */
  readonly reason: string;
}

export interface ProblemOptions {
  /** Says to a person what was wrong, and what to do about it. */
  readonly detail: string;
  readonly faults?: readonly FieldFault[];
  readonly headers?: Readonly<Record<string, string>>;
  /** The document has these members, too. They name what the refusal is about. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
  /**
   * When true, the thing exists and the caller must not learn that it does, so the refusal looks like an unknown id.
   */
  readonly isHidden?: boolean;
  /**
   * When true, nothing was done although the status is one of a failure. By default nothing was done below status
   * 500.
   */
  readonly provesNoWork?: boolean;
}

export class Problem extends Error {
  readonly type: ProblemType;
  readonly status: number;
  readonly detail: string;
  readonly faults: readonly FieldFault[];
  readonly headers: Readonly<Record<string, string>>;
  readonly members: Readonly<Record<string, unknown>>;
  readonly isHidden: boolean;
  readonly provesNoWork: boolean;

  constructor(
    type: ProblemType,
    {
      detail,
      faults = [],
      headers = {},
      members = {},
      cause,
      isHidden = false,
      provesNoWork,
    }: ProblemOptions,
  ) {
    super(detail, { cause });
    this.name = 'Problem';
    this.type = type;
    this.status = PROBLEM_TYPES[type].status;
    this.detail = detail;
    this.faults = faults;
    this.headers = headers;
    this.members = members;
    this.isHidden = isHidden;
    this.provesNoWork = provesNoWork ?? this.status < 500;
  }
}

/** A longer list of faults is of no use to a person. */
const FAULTS_MAX = 20;

export function invalid(faults: readonly FieldFault[]): Problem {
  const shown = faults.slice(0, FAULTS_MAX);
  const detail = shown.map(({ field, reason }) => `${field}: ${reason}`).join('; ');
  return new Problem('invalid-request', { detail: `${detail}.`, faults: shown });
}

/** Returns the name of a field that a caller made up, as far as it may stand in an answer. */
export function nameable(name: string): string {
  return /^[\w.-]{1,60}$/.test(name) ? name : '(unprintable)';
}

/** Makes the same answer for an unknown and for a forbidden thing. Only the log distinguishes them, by `isHidden`. */
export function notFound({ isHidden = false } = {}): Problem {
  return new Problem('not-found', {
    detail: 'There is no such thing here, or this token may not see it.',
    isHidden,
  });
}

export function keyReused(): Problem {
  return new Problem('key-reused', {
    detail: 'Another request was sent with this Idempotency-Key; use a new key for each command.',
  });
}

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/**
 * Returns the body of the answer. The type of a problem is a stable name and no address, and the documentation says
 * where it is described.
 */
export function problemDocument(problem: Problem, requestId: string): object {
  return {
    type: `urn:operations-bridge:problem:${problem.type}`,
    title: PROBLEM_TYPES[problem.type].title,
    status: problem.status,
    detail: problem.detail,
    // These two are members of the upstream's own errors, so that its clients show the sentence.
    code: '',
    message: problem.detail,
    request_id: requestId,
    ...problem.members,
    ...(problem.faults.length > 0 && { errors: problem.faults }),
  };
}
