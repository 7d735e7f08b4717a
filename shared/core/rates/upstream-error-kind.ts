/** The kinds of failures between the bridge and the upstream, by what the caller can do about each. */

export type UpstreamErrorKind =
  /** 401, also after one fresh read of the key. Without a status: the key was not sent. */
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
  /** Any other 4xx. Without a status: not sent, because an id or a field is not of the expected form. */
  | 'rejected'
  /** Not JSON, half a body, a wrong envelope, or too large. */
  | 'malformed_answer'
  /** The connection was refused or reset, or the host does not exist. */
  | 'network'
  | 'timeout'
  /** The caller's own signal aborted. */
  | 'cancelled';
