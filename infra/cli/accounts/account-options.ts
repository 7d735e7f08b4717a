/** Reads the options of `operations-bridge accounts add` and `set`. */

import { createSecret, type Secret } from '../../../shared/runtime/secret.ts';
import { parseInteger, UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import type { ConnectionValues } from '../connection/find-connection.ts';

export interface SettingValues {
  readonly secret?: string;
  readonly lane?: string;
  readonly settings?: string;
}

export interface KeyValues extends ConnectionValues {
  readonly keyEnv?: string;
  readonly keyStdin?: true;
}

/** The bridge refuses a higher number of a lane, too. */
const LANE_MAX = 499;

export function parseAccountId(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) return text;
  throw new UsageError(
    `"${text}" is no id of an account; it takes up to 63 lower-case letters, digits and dashes.`,
  );
}

export function parseLane(text: string): number {
  return parseInteger('lane', text, { min: 0, max: LANE_MAX });
}

/** Returns the fields that the route takes. Throws `UsageError` for what is no JSON object. */
export function readSettings({ secret, lane, settings }: SettingValues): Readonly<Record<string, unknown>> {
  return {
    ...(settings !== undefined && parseObject(settings)),
    ...(secret !== undefined && { key_secret_id: secret }),
    ...(lane !== undefined && { lane: parseLane(lane) }),
  };
}

function parseObject(text: string): object {
  const parsed = parseJson(text);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new UsageError(
    '--settings takes a JSON object, such as \'{"poll_interval_seconds": 1}\'; docs/deploy/add-an-account.md lists the settings.',
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns undefined when the key is in the secret already. A key on the command line would stand in the list of processes. */
export async function readKey(
  { keyEnv, keyStdin, tokenStdin }: KeyValues,
  { environment, readInput }: Pick<Surroundings, 'environment' | 'readInput'>,
): Promise<Secret | undefined> {
  if (keyEnv === undefined && keyStdin !== true) return undefined;
  if (keyEnv !== undefined && keyStdin === true)
    throw new UsageError('--key-env and --key-stdin are two ways for one key; use one of them.');
  if (keyStdin === true && tokenStdin === true)
    throw new UsageError('--key-stdin and --token-stdin read the same input; put one of them elsewhere.');
  const text = (keyEnv === undefined ? await readInput() : environment[keyEnv])?.trim();
  if (!text)
    throw new UsageError(
      keyEnv === undefined ? 'There is no key on the standard input.' : `The variable ${keyEnv} is empty.`,
    );
  return createSecret(text);
}
