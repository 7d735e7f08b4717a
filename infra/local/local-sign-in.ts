/** Lets the people of a local run sign in at an OpenID provider: reads the settings, and keeps the client's secret where the API looks for it. */

import { readFileSync } from 'node:fs';
import { signInSettings } from '../../shared/config/api-config.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { readConfig } from '../../shared/runtime/read-config.ts';
import { UsageError } from '../process/command.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { ACCOUNT_ID } from './bridge-names.ts';

export interface SignInOption {
  /** The file has the settings as JSON: those of `api.sign_in` in bridge.config.ts, without account and secret. */
  readonly file: string;
  /** A public client has none. */
  readonly clientSecret: string | undefined;
}

export interface LocalSignIn {
  /** People know the provider by this host. */
  readonly host: string;
  /** These are variables of the API's environment. */
  readonly environment: Readonly<Record<string, string>>;
}

const SECRET_ID = 'operations-bridge/sign-in';

const fileSettings = signInSettings.omit({ account_id: true, client_secret_id: true });

/** Throws `UsageError` when the file cannot be read, or has faults. */
export function setUpSignIn({ file, clientSecret }: SignInOption, { secrets }: LocalAws): LocalSignIn {
  const settings = readSettings(file);
  if (clientSecret !== undefined) secrets.create(SECRET_ID, clientSecret);
  const whole = {
    ...settings,
    account_id: ACCOUNT_ID,
    ...(clientSecret !== undefined && { client_secret_id: SECRET_ID }),
  };
  return { host: new URL(settings.issuer).host, environment: { SIGN_IN: JSON.stringify(whole) } };
}

function readSettings(file: string) {
  const unusable = (reason: string) => new UsageError(`--sign-in cannot use ${file}: ${reason}`);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw unusable(`it cannot be read (${toError(error).message}).`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The error would quote the file, which may have a secret by mistake.
    throw unusable('it is no JSON.');
  }
  try {
    return readConfig(fileSettings, parsed, 'Its content');
  } catch (error) {
    throw unusable(toError(error).message);
  }
}
