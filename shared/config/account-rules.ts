/**
 * Defines what a deployment allows of accounts that are added while the bridge runs: to which hosts their keys may be
 * sent, and in which secrets their keys are.
 */

import * as z from 'zod';
import { readConfig } from '../runtime/read-config.ts';

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
  const hosts = z.array(z.string().transform(hostOf).pipe(upstreamHost)).max(UPSTREAM_HOSTS_MAX);
  return readConfig(hosts, parseJson(text), 'UPSTREAM_HOSTS');
}

function hostOf(text: string): string {
  return text.includes('://') ? (URL.parse(text)?.host ?? '') : text;
}

/** Returns undefined for a text that is not JSON, which the schema then refuses. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
