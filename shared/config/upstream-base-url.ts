/** Checks the address of the upstream before the account's key is sent there. */

import { BlockList, isIP } from 'node:net';
import * as z from 'zod';

/**
 * Clouds hand out a machine's credentials at these addresses (AWS, Azure, GCP, ECS, EKS), and all others of the same
 * link are refused with them.
 */
const METADATA = new BlockList();
METADATA.addSubnet('169.254.0.0', 16, 'ipv4');
METADATA.addSubnet('0.0.0.0', 8, 'ipv4');
METADATA.addAddress('100.100.100.200', 'ipv4');
METADATA.addSubnet('fe80::', 10, 'ipv6');
METADATA.addSubnet('fd00:ec2::', 32, 'ipv6');
METADATA.addAddress('fd20:ce::254', 'ipv6');
METADATA.addAddress('::', 'ipv6');

const METADATA_NAMES = /^(metadata|instance-data)(\.|$)|\.internal$|\.local$/;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** A running function accepts `https`, and `http` on the loopback interface, where the local bridge has its upstream. */
export const upstreamBaseUrl = z
  .url({ protocol: /^https?$/ })
  .superRefine((text, context) => refuse(context, faultOf(text)));

/** A deployment accepts `https` alone, and not the machine itself. */
export const deployedUpstreamBaseUrl = z
  .url({ protocol: /^https?$/ })
  .superRefine((text, context) => refuse(context, faultOf(text) ?? deploymentFaultOf(text)));

function refuse(context: z.RefinementCtx<string>, message: string | undefined): void {
  if (message !== undefined) context.addIssue({ code: 'custom', message });
}

function faultOf(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return undefined;
  if (url.username !== '' || url.password !== '')
    return 'must have no credentials in it; the key stands in a secret';
  if (url.search !== '' || url.hash !== '') return 'must have no query and no fragment';
  if (isMetadata(hostOf(url)))
    return 'must not be an address that hands out credentials of the machine or of its link';
  if (url.protocol === 'http:' && !isLoopback(hostOf(url)))
    return 'must begin with https:// so that the key is not sent in clear';
  return undefined;
}

function deploymentFaultOf(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return undefined;
  if (url.protocol !== 'https:') return 'must begin with https:// so that the key is not sent in clear';
  return isLoopback(hostOf(url)) ? 'must not be the machine itself' : undefined;
}

/** Returns the host as `URL` writes it: IPv4 addresses in dotted notation, names in lower case. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function isMetadata(host: string): boolean {
  return METADATA_NAMES.test(host) || isIn(METADATA, host);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || isIn(LOOPBACK, host);
}

/** Nearly every host is a name. The patterns of `isIP` are loaded with its first call, which a start of a function would pay for. */
const MAY_BE_ADDRESS = /^[\d.]+$|:/;

/** Also finds an IPv4 address that is written as an IPv6 address. */
function isIn(list: BlockList, host: string): boolean {
  if (!MAY_BE_ADDRESS.test(host)) return false;
  const family = isIP(host);
  return family !== 0 && list.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
