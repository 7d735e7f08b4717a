/** Writes and reads the cookies of the console. Scripts cannot read them, and each has a path beyond which it is not sent. */

export interface CookieKind {
  readonly name: string;
  readonly path: string;
  /**
   * With `Strict` the cookie is not sent when a link of another site is followed. With `Lax` it is, for a GET of a whole
   * page (RFC 6265bis, 5.6.7.1).
   */
  readonly sameSite: 'Strict' | 'Lax';
}

/**
 * Browsers silently drop a cookie of more than 4,096 bytes, with its name and attributes (RFC 6265bis, 5.6). The value
 * must not be longer than this.
 */
export const COOKIE_CHARACTERS_MAX = 3_900;

/**
 * Returns the `Set-Cookie` header. Browsers accept a cookie with the prefix `__Secure-` only over https, so a page on
 * http can neither set nor replace it (RFC 6265bis, 4.1.3.1).
 */
export function setCookie(
  kind: CookieKind,
  value: string,
  { maxAgeSeconds, isHttps }: { readonly maxAgeSeconds: number; readonly isHttps: boolean },
): string {
  const secure = isHttps ? '; Secure' : '';
  return `${nameOf(kind, isHttps)}=${value}; Path=${kind.path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${kind.sameSite}${secure}`;
}

export function removeCookie(kind: CookieKind, isHttps: boolean): string {
  return setCookie(kind, '', { maxAgeSeconds: 0, isHttps });
}

/** `header` is the `Cookie` header of the request. */
export function readCookie(
  kind: CookieKind,
  header: string | undefined,
  isHttps: boolean,
): string | undefined {
  const start = `${nameOf(kind, isHttps)}=`;
  return header
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(start))
    ?.slice(start.length);
}

function nameOf({ name }: CookieKind, isHttps: boolean): string {
  return isHttps ? `__Secure-${name}` : name;
}
