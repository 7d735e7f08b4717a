/**
 * Reads e-mail addresses in all their valid spellings (RFC 5321, sections 4.1.2, 4.1.3 and 4.5.3.1; RFC 6531 for
 * characters beyond ASCII).
 */

import { isIPv4, isIPv6 } from 'node:net';

/** A name before the @ is words with single dots between them, or any text in quotes. */
const DOT_STRING =
  /^[\w!#$%&'*+/=?^`{|}~\u{80}-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u{80}-\u{10ffff}-]+)*$/u;
const QUOTED_STRING = /^"(?:[ !#-[\]-~\u{80}-\u{10ffff}]|\\[ -~])*"$/u;

/** A label of a domain neither begins nor ends with a hyphen. */
const LABEL = /^[a-z0-9\u{80}-\u{10ffff}](?:[a-z0-9\u{80}-\u{10ffff}-]*[a-z0-9\u{80}-\u{10ffff}])?$/iu;

const LOCAL_PART_BYTES_MAX = 64;
const DOMAIN_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;

/**
 * Returns the spelling by which two addresses are compared: only the domain has no case, because the receiving host
 * alone may interpret the name before the @ (RFC 5321, section 2.4). Returns undefined when the text is no address.
 */
export function canonicalEmailAddress(text: string): string | undefined {
  // A quoted name may contain an @, and a domain may not.
  const place = text.lastIndexOf('@');
  const localPart = text.slice(0, Math.max(0, place));
  const domain = text.slice(place + 1);
  if (!isLocalPart(localPart) || !isDomain(domain)) return undefined;
  return `${localPart}@${domain.toLowerCase()}`;
}

function isLocalPart(text: string): boolean {
  return (DOT_STRING.test(text) || QUOTED_STRING.test(text)) && isWithin(text, LOCAL_PART_BYTES_MAX);
}

function isDomain(text: string): boolean {
  const literal = /^\[(?:IPv6:)?([^\]]*)\]$/i.exec(text)?.[1];
  if (literal !== undefined) return /^\[IPv6:/i.test(text) ? isIPv6(literal) : isIPv4(literal);
  return isWithin(text, DOMAIN_BYTES_MAX) && text.split('.').every(isLabel);
}

function isLabel(text: string): boolean {
  return LABEL.test(text) && isWithin(text, LABEL_BYTES_MAX);
}

function isWithin(text: string, bytesMax: number): boolean {
  return Buffer.byteLength(text) <= bytesMax;
}
