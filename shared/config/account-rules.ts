/**
 * Defines what a deployment allows of accounts: what an account may be called, where its key is kept, and to which
 * hosts the key may be sent.
 */

import { BlockList, isIP } from 'node:net';
import * as z from 'zod';
import { parseJson } from '../runtime/foreign-text.ts';
import { readConfig } from '../runtime/read-config.ts';

/** The id is the name of a member in answers and files, so it must not be one that every object has already. */
export const ACCOUNT_ID_PATTERN = /^(?!constructor$)[a-z0-9][a-z0-9-]{0,62}$/;

/** The policies of a role have 10,240 characters together, and name up to 30 secrets beside 30 accounts. */
export const SECRET_ARN_CHARACTERS_MAX = 140;

/** The ARN must be complete, with its random suffix: a role gets exactly this secret and no other. */
export const secretArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/, {
    error: 'must be the complete ARN of a secret, with its six-character suffix',
  })
  .max(SECRET_ARN_CHARACTERS_MAX);

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

/** Only the deployment fixes these, so that the right to add accounts is not a right to send keys elsewhere. */
export interface AccountRules {
  /** Keys may be sent to these hosts, each as a URL writes it: `api.example.com`, or `127.0.0.1:8080` with a port. */
  readonly upstreamHosts: readonly string[];
  /** The names of secrets with upstream keys begin with this text, and no other secret's name does. */
  readonly keySecretPrefix: string;
}

/** Every host stands in the refusal of another one, which people read. The configured accounts have 30 at most. */
export const UPSTREAM_HOSTS_MAX = 30;

/** A host as a URL writes it: in lower case, without user and path, with a port only if it is not the usual one. */
export const upstreamHost = z
  .string()
  .max(260)
  .refine((host) => /^[\w.:[\]-]+$/.test(host) && URL.parse(`https://${host}/`)?.host === host, {
    error: 'must be a host as a URL writes it, such as api.example.com',
  });

/** The API, the worker and the poller have these variables. By default no account can be added. */
export const accountRulesVariables = {
  /**
   * This is the JSON of a list of hosts, or of addresses whose hosts count: in a released template the address is a
   * parameter, and CloudFormation cannot take its host out of it.
   */
  UPSTREAM_HOSTS: z.string().default('[]'),
  /** The name of each secret with upstream keys of added accounts begins with this. */
  UPSTREAM_KEYS_PREFIX: z
    .string()
    .regex(/^[\w/+=.@-]+\/$/)
    .default('operations-bridge/upstream-keys/'),
};

/** Throws `AppError` `config_invalid`, which names the variable that is wrong. */
export function readAccountRules(environment: {
  readonly UPSTREAM_HOSTS: string;
  readonly UPSTREAM_KEYS_PREFIX: string;
}): AccountRules {
  return {
    upstreamHosts: readHosts(environment.UPSTREAM_HOSTS),
    keySecretPrefix: environment.UPSTREAM_KEYS_PREFIX,
  };
}

/** Without hosts, no schema of them is built. */
function readHosts(text: string): readonly string[] {
  if (text === '[]') return [];
  const hosts = z.array(z.string().transform(namedHost).pipe(upstreamHost)).max(UPSTREAM_HOSTS_MAX);
  return readConfig(hosts, parseJson(text), 'UPSTREAM_HOSTS');
}

function namedHost(text: string): string {
  return text.includes('://') ? (URL.parse(text)?.host ?? '') : text;
}
