/** Writes and reads the cookies of the console. Scripts cannot read them, and nothing but the console looks at them. */

export interface CookieKind {
  readonly name: string;
  /** Over https a cookie of the host has the path `/`, and only `path` on http. */
  readonly path: string;
  /**
   * With `__Host-` no neighbouring subdomain can plant the cookie, and its path must be `/` (RFC 6265bis, 4.1.3.2). With `__Secure-`
   * one can, and the cookie is sent to its path alone.
   */
  readonly prefix: '__Host-' | '__Secure-';
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
 * Returns the `Set-Cookie` header. Browsers accept a cookie with either prefix only over https, so a page on http can neither set
 * nor replace it (RFC 6265bis, 4.1.3).
 */
export function setCookie(
  kind: CookieKind,
  value: string,
  { maxAgeSeconds, isHttps }: { readonly maxAgeSeconds: number; readonly isHttps: boolean },
): string {
  const secure = isHttps ? '; Secure' : '';
  const path = isHttps && kind.prefix === '__Host-' ? '/' : kind.path;
  return `${nameOf(kind, isHttps)}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${kind.sameSite}${secure}`;
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

function nameOf({ name, prefix }: CookieKind, isHttps: boolean): string {
  return isHttps ? `${prefix}${name}` : name;
}
