/** Puts the upstream key of an account into a secret, with the credentials of AWS or into the local AWS of a run. */

import {
  CreateSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { UsageError } from '../../process/option-values.ts';
import type { LocalRun } from '../connection/local-run.ts';

export interface KeyPlace {
  readonly secretId: string;
  readonly accountId: string;
}

/** Says what is written into the secret. */
export type KeyWrite =
  | { readonly kind: 'create' | 'put'; readonly text: string }
  | { readonly kind: 'nothing' }
  /** The secret holds something that must not be overwritten. */
  | { readonly kind: 'refused'; readonly reason: string };

const keysOfAccounts = z.record(z.string(), z.string());

/**
 * A secret that does not exist gets the key alone. In one that holds the keys of many accounts, the key stands under the
 * account's id. `known` is what the secret holds, and undefined when there is no such secret.
 */
export function decideKeyWrite(known: string | undefined, key: string, accountId: string): KeyWrite {
  if (known === undefined) return { kind: 'create', text: key };
  if (known.trim() === key) return { kind: 'nothing' };
  if (!known.trimStart().startsWith('{'))
    return { kind: 'refused', reason: 'holds another key already, and other accounts may use it' };
  const keys = keysIn(known);
  if (keys === undefined) return { kind: 'refused', reason: 'holds JSON that is not an object of keys' };
  if (keys[accountId] === key) return { kind: 'nothing' };
  return { kind: 'put', text: JSON.stringify({ ...keys, [accountId]: key }) };
}

function keysIn(text: string): Readonly<Record<string, string>> | undefined {
  try {
    return keysOfAccounts.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Resolves to whether anything was written. Rejects with `UsageError`, whose sentence holds no key. */
export async function putKey(
  { secretId, accountId }: KeyPlace,
  key: Secret,
  run: LocalRun | undefined,
): Promise<boolean> {
  const client = new SecretsManagerClient(run === undefined ? {} : localSettings(run));
  try {
    const write = decideKeyWrite(await textIn(client, secretId), key.reveal(), accountId);
    if (write.kind === 'nothing') return false;
    if (write.kind === 'refused')
      throw new UsageError(
        `The secret ${secretId} ${write.reason}. Name another one with --secret, or put the key there yourself and leave --key-env and --key-stdin out.`,
      );
    if (write.kind === 'create')
      await client.send(new CreateSecretCommand({ Name: secretId, SecretString: write.text }));
    else await client.send(new PutSecretValueCommand({ SecretId: secretId, SecretString: write.text }));
    return true;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // The message of an error of AWS can quote what was sent.
    throw new UsageError(
      `The key could not be put into the secret ${secretId} (${toError(error).name}); check the credentials and the region of AWS.`,
    );
  } finally {
    client.destroy();
  }
}

async function textIn(client: SecretsManagerClient, secretId: string): Promise<string | undefined> {
  try {
    return (await client.send(new GetSecretValueCommand({ SecretId: secretId }))).SecretString ?? '';
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

/** The local AWS checks only the id of the access key. */
function localSettings({ aws_endpoint: endpoint, access_key_id: accessKeyId }: LocalRun) {
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId, secretAccessKey: 'unused' } };
}
