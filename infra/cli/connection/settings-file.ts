/** Reads the one file of settings, `~/.config/operations-bridge/config.json`. */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { UsageError } from '../../process/option-values.ts';
import { type Environment, settingsFolder } from '../../process/surroundings.ts';
import { codeOf } from '../../process/system-error.ts';

const settings = z.strictObject({
  url: z.string().optional(),
  token: z.string().optional(),
  /** Standard Webhooks: `whsec_` and the key in base64. */
  signing_secret: z.string().optional(),
});

export type Settings = z.output<typeof settings>;

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
