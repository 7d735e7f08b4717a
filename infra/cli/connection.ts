/**
 * Decides which bridge a subcommand talks to, and with which token: the one that the options, the environment or the
 * file of settings name, or the one that runs on this machine, which announces itself in a file that only its user
 * can read.
 */

import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { createSecret, type Secret } from '../../shared/runtime/secret.ts';
import { UsageError } from '../process/command.ts';
import { codeOf, writePrivateFile } from '../process/operating-system.ts';
import { type Environment, type Surroundings, settingsFolder, stateFolder } from '../process/surroundings.ts';

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

const localRun = z.object({
  process_id: z.number().int().positive(),
  url: z.string(),
  token: z.string(),
  aws_endpoint: z.string(),
  access_key_id: z.string(),
  upstream_base_url: z.string(),
});

export type LocalRun = z.output<typeof localRun>;

interface Announced extends Disposable {
  readonly write: (addresses: {
    readonly url: string;
    readonly token: string;
    readonly awsEndpoint: string;
    readonly accessKeyId: string;
    readonly upstreamBaseUrl: string;
  }) => void;
}

const fileOf = (environment: Environment) => join(stateFolder(environment), 'local-run.json');

/**
 * The announcement is withdrawn when the run ends, unless a later run has replaced it. An earlier run that it had replaced
 * and that still lives is announced again.
 */
export function announceLocalRun(environment: Environment, processId: number): Announced {
  const file = fileOf(environment);
  let replaced: LocalRun | undefined;
  return {
    write({ url, token, awsEndpoint, accessKeyId, upstreamBaseUrl }) {
      const run: LocalRun = {
        process_id: processId,
        url,
        token,
        aws_endpoint: awsEndpoint,
        access_key_id: accessKeyId,
        upstream_base_url: upstreamBaseUrl,
      };
      replaced = findLocalRun(environment);
      writePrivateFile(file, JSON.stringify(run));
    },
    [Symbol.dispose]() {
      if (parsedFile(file)?.process_id !== processId) return;
      if (replaced !== undefined && isAlive(replaced.process_id))
        writePrivateFile(file, JSON.stringify(replaced));
      else rmSync(file, { force: true });
    },
  };
}

/** Returns undefined when no bridge runs on this machine. A file that a killed process left does not count. */
export function findLocalRun(environment: Environment): LocalRun | undefined {
  const run = parsedFile(fileOf(environment));
  return run !== undefined && isAlive(run.process_id) ? run : undefined;
}

function parsedFile(file: string): LocalRun | undefined {
  try {
    return localRun.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Signal 0 only asks whether the process exists. EPERM means that it does, and belongs to another user. */
function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

const settings = z.strictObject({
  url: z.string().optional(),
  token: z.string().optional(),
  /** Standard Webhooks: `whsec_` and the key in base64. */
  signing_secret: z.string().optional(),
});

type Settings = z.output<typeof settings>;

/** These bits of a file's mode let other users of the machine read or write it. */
const OPEN_TO_OTHERS = 0o077;

/** Returns empty settings when there is no file. Throws `UsageError` when the file cannot be used. */
export function readSettings(environment: Environment): Settings {
  const file = join(settingsFolder(environment), 'config.json');
  let text: string;
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & OPEN_TO_OTHERS) !== 0)
      throw new UsageError(`Other users can read ${file}, which may hold a token; use "chmod 600" on it.`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return {};
    throw error;
  }
  return parseSettings(file, text);
}

function parseSettings(file: string, text: string): Settings {
  const content = parseJson(text);
  const parsed = settings.safeParse(content);
  if (parsed.success) return parsed.data;
  const names = Object.keys(settings.shape).join(', ');
  throw new UsageError(`${file} is not usable; it takes a JSON object with the texts ${names}.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
