/** Reads the options of `operations-bridge accounts add` and `set`. */

import { ACCOUNT_ID_PATTERN } from '../../../shared/config/account-id.ts';
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
  if (ACCOUNT_ID_PATTERN.test(text)) return text;
  throw new UsageError(
    `"${text}" is no id of an account; an id begins with a letter or a digit, and has up to 63 lower-case letters, digits and dashes; "constructor" is none.`,
  );
}

/** Returns null for "none", which takes the pin away. */
export function parsePin(text: string): number | null {
  if (text === 'none') return null;
  if (/^\d+$/.test(text) && Number(text) <= LANE_MAX) return Number(text);
  throw new UsageError(
    `"${text}" is no lane; it takes a whole number from 0 to ${LANE_MAX}, or "none", which takes the pin away.`,
  );
}

/**
 * Returns the fields that the route takes; `others` are those that come from elsewhere on the command line. Throws
 * `UsageError` for what is no JSON object, and for a field that is given twice.
 */
export function readSettings(
  { secret, lane, settings }: SettingValues,
  others: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const named = {
    ...(secret !== undefined && { key_secret_id: secret }),
    ...(lane !== undefined && { lane: parseInteger('lane', lane, { min: 0, max: LANE_MAX }) }),
  };
  const written = settings === undefined ? {} : parseObject(settings);
  const given = { ...others, ...named };
  const twice = Object.keys(written).find((name) => (given as Record<string, unknown>)[name] !== undefined);
  if (twice !== undefined) throw new UsageError(`${twice} is given twice; leave it out of --settings.`);
  return { ...written, ...named };
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
