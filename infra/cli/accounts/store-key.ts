/** Stores the key of an account before the bridge is asked to use it, and takes it out again when the bridge refuses. */

import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { BridgeRefusal } from '../connection/bridge-client.ts';
import { type ConnectionValues, connectionFinder } from '../connection/find-connection.ts';
import { findLocalRun, type LocalRun } from '../connection/local-run.ts';
import type { KeyPlace } from './put-key.ts';

/**
 * Sends the request once the key is in its secret. When the bridge gives no answer, the key stays: the same command again
 * finds out what became of the request.
 */
export async function sendWithKey<Answer>(
  send: () => Promise<Answer>,
  { key, place }: { readonly key: Secret; readonly place: KeyPlace },
  { note }: Pick<Surroundings, 'note'>,
): Promise<Answer> {
  // The client of AWS takes longer to load than most subcommands run.
  const { putKey } = await import('./put-key.ts');
  const { secretId } = place;
  const { isWritten, undo } = await putKey(place, key);
  note(isWritten ? `The key is in the secret ${secretId}.` : `The secret ${secretId} held this key already.`);
  try {
    return await send();
  } catch (error) {
    if (isWritten && error instanceof BridgeRefusal && error.status < 500) {
      await undo();
      note(`The bridge refused, so the secret ${secretId} holds what it held before.`);
    }
    throw error;
  }
}

/** Resolves to the run of this machine when the bridge is that run, and to undefined for a bridge on AWS. */
export async function localRunOf(
  { url }: ConnectionValues,
  surroundings: Surroundings,
): Promise<LocalRun | undefined> {
  const run = findLocalRun(surroundings.environment);
  const find = await connectionFinder({ ...(url !== undefined && { url }) }, surroundings).catch(
    () => undefined,
  );
  return find?.()?.url === run?.url ? run : undefined;
}
