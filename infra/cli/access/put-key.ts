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
import { UsageError } from '../../process/command.ts';
import type { LocalRun } from '../connection.ts';

export interface KeyPlace extends Omit<KeyChange, 'key'> {
  readonly secretId: string;
  /** The run whose local AWS gets the key. It is undefined for a bridge on AWS. */
  readonly run: LocalRun | undefined;
}

export interface PutKey {
  /** It is false when the secret held this key already. */
  readonly isWritten: boolean;
  /** Puts back what the secret held before. A secret that was created holds no key then. */
  readonly undo: () => Promise<void>;
}

/** What stands in a secret that holds no key. It counts as an object of keys, so another key can be put there. */
const NO_KEYS = '{}';

/** Rejects with `UsageError`, whose sentence holds no key. */
export async function putKey(place: KeyPlace, key: Secret): Promise<PutKey> {
  const { secretId } = place;
  return withSecrets(place, async (client) => {
    const known = await textIn(client, secretId);
    const write = decideKeyWrite(known, { ...place, key: key.reveal() });
    if (write.kind === 'nothing') return { isWritten: false, undo: async () => {} };
    if (write.kind === 'refused') throw new UsageError(`The secret ${secretId} ${write.reason}`);
    if (write.kind === 'create')
      await client.send(new CreateSecretCommand({ Name: secretId, SecretString: write.text }));
    else await put(client, secretId, write.text);
    return {
      isWritten: true,
      undo: () => withSecrets(place, (again) => put(again, secretId, known ?? NO_KEYS)),
    };
  });
}

async function withSecrets<Result>(
  { secretId, run }: KeyPlace,
  action: (client: SecretsManagerClient) => Promise<Result>,
): Promise<Result> {
  const client = new SecretsManagerClient(run === undefined ? {} : localSettings(run));
  try {
    return await action(client);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // The message of an error of AWS can quote what was sent.
    throw new UsageError(
      `The secret ${secretId} could not be read and written (${toError(error).name}); check the credentials and the region of AWS.`,
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

async function put(client: SecretsManagerClient, secretId: string, text: string): Promise<void> {
  await client.send(new PutSecretValueCommand({ SecretId: secretId, SecretString: text }));
}

/** Returns the settings of a client. The local AWS checks only the id of the access key. */
export function localSettings({
  aws_endpoint: endpoint,
  access_key_id: accessKeyId,
}: Pick<LocalRun, 'aws_endpoint' | 'access_key_id'>) {
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId, secretAccessKey: 'unused' } };
}

interface KeyChange {
  readonly accountId: string;
  readonly key: string;
  /** When true, a key that stands there for this account is replaced. */
  readonly mayReplace: boolean;
  /** These other accounts have their keys from the same secret. */
  readonly sharedWith: readonly string[];
}

export type KeyWrite =
  | { readonly kind: 'create' | 'put'; readonly text: string }
  | { readonly kind: 'nothing' }
  /** The secret holds something that must not be overwritten. The reason continues a sentence, and holds no key. */
  | { readonly kind: 'refused'; readonly reason: string };

const keysOfAccounts = z.record(z.string(), z.string());

/**
 * A secret that does not exist gets the key alone. In one that holds the keys of many accounts, the key stands under the
 * account's id. `known` is what the secret holds, and undefined when there is no such secret.
 */
export function decideKeyWrite(known: string | undefined, change: KeyChange): KeyWrite {
  const { key, accountId } = change;
  if (known === undefined) return { kind: 'create', text: key };
  if (known.trim() === key) return { kind: 'nothing' };
  if (!known.trimStart().startsWith('{')) return replacing(change);
  const keys = keysIn(known);
  if (keys === undefined)
    return {
      kind: 'refused',
      reason: 'holds JSON that is not an object of keys; name another one with --secret.',
    };
  if (keys[accountId] === key) return { kind: 'nothing' };
  if (Object.hasOwn(keys, accountId) && !change.mayReplace)
    return { kind: 'refused', reason: `holds another key for ${accountId} already. ${REMEDY}` };
  return { kind: 'put', text: JSON.stringify({ ...keys, [accountId]: key }) };
}

const REMEDY = 'Use --replace-key to replace it, or name another secret with --secret.';

function replacing({ key, mayReplace, sharedWith }: KeyChange): KeyWrite {
  if (sharedWith.length > 0)
    return {
      kind: 'refused',
      reason: `holds one key for ${sharedWith.join(', ')}, too. Name another secret with --secret.`,
    };
  if (!mayReplace) return { kind: 'refused', reason: `holds another key already. ${REMEDY}` };
  return { kind: 'put', text: key };
}

function keysIn(text: string): Readonly<Record<string, string>> | undefined {
  try {
    return keysOfAccounts.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
