/** Implements the `cidr` operator with Node's own address parser. */

import { BlockList, isIP } from 'node:net';

export type Cidr =
  | { readonly kind: 'valid'; readonly contains: (address: string) => boolean }
  | { readonly kind: 'invalid'; readonly reason: string };

/** event-ruler refuses a range of one address, /32 and /128. */
const BITS_BELOW: Readonly<Record<'ipv4' | 'ipv6', number>> = { ipv4: 32, ipv6: 128 };

export function parseCidr(range: string): Cidr {
  const [network = '', bits, ...rest] = range.split('/');
  if (bits === undefined || rest.length > 0) return invalid("Malformed CIDR, one '/' required");
  if (!/^\d{1,3}$/.test(bits)) return invalid('Malformed CIDR, mask bits must be an integer');
  const family = familyOf(network);
  if (family === undefined) return invalid(`Nonstandard IP address: ${network}`);
  if (Number(bits) >= BITS_BELOW[family]) {
    return invalid(`${family === 'ipv4' ? 'IPv4' : 'IPv6'} mask bits must be < ${BITS_BELOW[family]}`);
  }
  const addresses = new BlockList();
  addresses.addSubnet(network, Number(bits), family);
  return {
    kind: 'valid',
    contains: (address) => familyOf(address) === family && addresses.check(address, family),
  };
}

/** Returns the family of a plain address. A zone (`fe80::1%eth0`) and an IPv4 address within IPv6 are not plain. */
function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  if (version === 4) return 'ipv4';
  return version === 6 && /^[\da-fA-F:]+$/.test(address) ? 'ipv6' : undefined;
}

function invalid(reason: string): Cidr {
  return { kind: 'invalid', reason };
}
