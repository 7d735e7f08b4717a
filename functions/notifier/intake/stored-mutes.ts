/** Reads the mutes that people have set, before the notifier decides what it sends. */

import type { Mute } from '../../../shared/alerts/mutes/mute.ts';
import type { Mutes } from '../deciding/policy/mute.ts';

export interface StoredMutes {
  /** Resolves to the mutes of all accounts, and to those that ended within the last day. */
  readAll(): Promise<readonly Mute[]>;
}

export interface KeptMutes {
  /** Writes the mutes of the configuration where the API finds them, once in this process. */
  keepConfigured(mutes: Mutes['mutes']): Promise<void>;
}

interface MuteDeps {
  readonly store: { readonly mutes: StoredMutes };
  readonly policy: Mutes;
}

/**
 * Resolves to the dependencies with the mutes as they are now. Rejects when the table does: what people have muted must
 * not wake them, and the next round of the notifier sends the rest.
 */
export async function withStoredMutes<Deps extends MuteDeps>(deps: Deps): Promise<Deps> {
  const stored_mutes = await deps.store.mutes.readAll();
  return { ...deps, policy: { ...deps.policy, stored_mutes } };
}
