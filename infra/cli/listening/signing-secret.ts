/** Finds the secret that signs forwarded events, or makes one and keeps it. */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../process/option-values.ts';
import { writePrivateFile } from '../../process/private-file.ts';
import { type Environment, stateFolder } from '../../process/surroundings.ts';
import { codeOf } from '../../process/system-error.ts';
import { readSettings } from '../connection/settings-file.ts';

export const SIGNING_VARIABLE = 'OPERATIONS_BRIDGE_SIGNING_SECRET';

/** Standard Webhooks asks for 24 to 64 bytes. */
const KEY_BYTES = 24;

/** The receiver needs the same text, `whsec_` and the key in base64. Throws `UsageError` for another form. */
export function signingSecret(environment: Environment): string {
  const given = environment[SIGNING_VARIABLE] ?? readSettings(environment).signing_secret;
  return given === undefined ? keptSecret(environment) : checked(given);
}

function keptSecret(environment: Environment): string {
  const file = join(stateFolder(environment), 'signing-secret');
  try {
    return checked(readFileSync(file, 'utf8').trim());
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const secret = `whsec_${randomBytes(KEY_BYTES).toString('base64')}`;
  writePrivateFile(file, secret);
  return secret;
}

/** The error does not repeat the text, which is a secret. */
function checked(secret: string): string {
  if (/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(secret)) return secret;
  throw new UsageError(
    `The signing secret (${SIGNING_VARIABLE}) does not have the form of Standard Webhooks: whsec_ and 24 to 64 bytes in base64.`,
  );
}
