/** Decides which bridge a subcommand talks to, and with which token. */

import { createSecret, type Secret } from '../../../shared/runtime/secret.ts';
import { UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { findLocalRun, type LocalRun } from './local-run.ts';
import { readSettings, type Settings } from './settings-file.ts';

export interface Connection {
  /** The origin of the bridge, without a slash at its end. */
  readonly url: string;
  readonly token: Secret;
  /** It is true with the token of `start`, which ends with the run. */
  readonly isLocalRun: boolean;
}

/** The connection is looked up for every request, because a local bridge has another one after each start. */
export type FindConnection = () => Connection | undefined;

export interface ConnectionValues {
  readonly url?: string;
  readonly tokenStdin?: true;
}

const URL_VARIABLE = 'OPERATIONS_BRIDGE_URL';
const TOKEN_VARIABLE = 'OPERATIONS_BRIDGE_TOKEN';

export const CONNECTION_OPTIONS: readonly (readonly [flags: string, says: string])[] = [
  ['--url <url>', `the bridge (default: ${URL_VARIABLE}, the file of settings, or "start")`],
  ['--token-stdin', `reads the token from the standard input (default: ${TOKEN_VARIABLE}, ...)`],
];

interface Asked {
  readonly url: string | undefined;
  readonly token: string | undefined;
}

export async function connectionFinder(
  { url, tokenStdin }: ConnectionValues,
  { environment, readInput }: Pick<Surroundings, 'environment' | 'readInput'>,
): Promise<FindConnection> {
  const asked: Asked = {
    url: parseOrigin('--url', url) ?? parseOrigin(URL_VARIABLE, environment[URL_VARIABLE]),
    token: tokenStdin === true ? (await readInput()).trim() : environment[TOKEN_VARIABLE]?.trim(),
  };
  const { url: settingsUrl, ...others } = readSettings(environment);
  const origin = parseOrigin('"url" in the file of settings', settingsUrl);
  const settings = { ...others, ...(origin !== undefined && { url: origin }) };
  decideConnection(asked, settings, findLocalRun(environment));
  return () => decideConnection(asked, settings, findLocalRun(environment));
}

/**
 * What was asked for counts before the settings, and the settings before the local run. A kept token is sent only to
 * the bridge that it was kept for. Returns undefined when nothing is set and no bridge runs on this machine. Throws
 * `UsageError` when the token is missing.
 */
export function decideConnection(
  asked: Asked,
  settings: Settings,
  localRun: LocalRun | undefined,
): Connection | undefined {
  const url = asked.url ?? settings.url ?? localRun?.url;
  if (url === undefined) return undefined;
  const kept = url === settings.url ? settings.token : undefined;
  const token = asked.token || kept || (url === localRun?.url ? localRun.token : undefined);
  if (!token)
    throw new UsageError(
      `There is no token for the bridge at ${url}; put one into ${TOKEN_VARIABLE}, or use --token-stdin. "operations-bridge tokens create" makes one.`,
    );
  return { url, token: createSecret(token), isLocalRun: url === localRun?.url && token === localRun.token };
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** A token must not cross a network in plain text, so `http:` is only for this machine. */
function parseOrigin(name: string, text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  const url = URL.parse(text);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname)))
    return url.origin;
  throw new UsageError(
    `${name} is "${text}"; it takes the address of the bridge, such as https://bridge.example.com (http: only for this machine).`,
  );
}
