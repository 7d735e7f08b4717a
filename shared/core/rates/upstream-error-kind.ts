/** Lists the kinds of failures between the bridge and the upstream, by what the caller can do about each. */

export type UpstreamErrorKind =
  /** The upstream answered 401, also after one fresh read of the key. Without a status, the key was not sent. */
  | 'unauthorized'
  /** The upstream answered 403. */
  | 'forbidden'
  /** The upstream answered 404, which it does when the thing is deleted and when the key has no permission. */
  | 'not_found'
  /** The upstream answered 423, because conflicting operations run on the project. */
  | 'locked'
  /** The upstream answered 429. */
  | 'rate_limited'
  /** The upstream answered 5xx. */
  | 'unavailable'
  /**
   * The upstream answered with any other 4xx. Without a status, the request was not sent, because an id or a field is
   * not of the expected form.
   */
  | 'rejected'
  /** The answer is not JSON, incomplete, without the expected envelope, or too large. */
  | 'malformed_answer'
  /** The connection was refused or reset, or the host does not exist. */
  | 'network'
  | 'timeout'
  /** The caller's own signal aborted. */
  | 'cancelled';
