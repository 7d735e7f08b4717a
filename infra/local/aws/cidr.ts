/** IP ranges as event patterns know them, on Node's own address parser. */

import { BlockList, isIP } from 'node:net';

/** A range that is one address (/32, /128) is refused, as event-ruler does. */
export function isCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || bits === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return Number(bits) < (version === 4 ? 32 : 128);
}

export function cidrContains(range: string, address: string): boolean {
  const [network = '', bits = '0'] = range.split('/');
  const version = isIP(network);
  if (isIP(address) !== version) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(address, family);
}
