/** Says why a sign-in at the provider came to nothing, for the page that the person sees and for the log. */

export type FailureKind =
  /** The provider does not answer, or not as an OpenID provider does. */
  | 'unavailable'
  /** The person, or a rule of the provider, ended the sign-in there. */
  | 'declined'
  /** The provider refused the bridge or its code: the settings of the two do not fit, or the code was used or is too old. */
  | 'refused'
  /** The answer is not one to the question of this browser, or its ID token does not hold. */
  | 'untrusted';

export class SignInFailure extends Error {
  readonly kind: FailureKind;
  /** A code such as `invalid_grant` or `OAUTH_TIMEOUT`, with no text of the provider or the browser in it. */
  readonly detail: string;

  constructor(kind: FailureKind, detail: string) {
    super(`A sign-in failed: ${kind}, ${detail}`);
    this.name = 'SignInFailure';
    this.kind = kind;
    this.detail = detail;
  }
}

/** The client library gives these codes to requests that had no usable answer. */
const NO_ANSWER: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
]);

/**
 * Takes what the client library throws: its errors have a `code`, and those of the provider an `error` (RFC 6749, 5.2).
 * The result does not keep them, because they contain answers of the provider.
 */
export function failureOf(thrown: unknown): SignInFailure {
  if (thrown instanceof SignInFailure) return thrown;
  const { code, error, cause } = thrown as { code?: unknown; error?: unknown; cause?: unknown };
  if (cause instanceof SignInFailure) return cause;
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return new SignInFailure(error === 'access_denied' ? 'declined' : 'refused', errorCode(error));
  if (code === 'OAUTH_RESPONSE_BODY_ERROR') return new SignInFailure('refused', errorCode(error));
  // The token endpoint asks the bridge, and nobody else, for credentials (RFC 6749, section 5.2).
  if (code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE') return new SignInFailure('refused', 'invalid_client');
  if (typeof code === 'string')
    return new SignInFailure(NO_ANSWER.has(code) ? 'unavailable' : 'untrusted', code);
  // Without a connection, the platform's `fetch` rejects with a `TypeError`, which the library may wrap.
  const isUnanswered = thrown instanceof TypeError || cause instanceof TypeError;
  return isUnanswered
    ? new SignInFailure('unavailable', 'no_connection')
    : new SignInFailure('untrusted', 'an_unknown_code');
}

/** The browser carries the provider's code, so a text that is no code stays out of the log. */
function errorCode(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,60}$/.test(error) ? error : 'an_unknown_code';
}
