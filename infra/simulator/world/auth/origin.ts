/** Reads origins, which are a scheme, a host and an optional port (RFC 6454, section 4; RFC 3986, sections 3.1 and 3.2). */

/** Nothing may follow the host and its port, and no user may stand before them. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\]+$/i;

/**
 * Returns the one spelling by which two origins are compared: lower case, in ASCII, without the scheme's default port.
 * Returns undefined when the text is no origin.
 */
export function canonicalOrigin(text: string): string | undefined {
  const url = ORIGIN.test(text) ? URL.parse(text) : null;
  if (url === null || url.host === '') return undefined;
  return `${url.protocol}//${url.host}`.toLowerCase();
}
