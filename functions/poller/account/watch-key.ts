/**
 * While the upstream refuses the key, nothing is sent, and the secret is read again every few seconds: a valid key is
 * noticed within the invocation.
 */

import type { Run } from './run.ts';

/** A look costs $0.000005, so a key that stays wrong for a day costs nine cents. */
const LOOK_MS = 5_000;

/** Says so once for each key that the upstream refuses. */
export function rejectKey({ deps, memory }: Pick<Run, 'deps' | 'memory'>): void {
  if (memory.isKeyRejected) return;
  memory.isKeyRejected = true;
  deps.telemetry.log('error', 'key.rejected', {
    account_id: deps.store.accountId,
    advice: 'The upstream refused the key after a fresh read of the secret. Put a valid key into the secret.',
  });
}

export async function watchKey({ deps, memory, stop }: Pick<Run, 'deps' | 'memory' | 'stop'>): Promise<void> {
  while (!stop.signal.aborted) {
    // A secret that cannot be read holds no other key, as far as anybody knows.
    if (memory.isKeyRejected && (await deps.key.hasAnother().catch(() => false)))
      memory.isKeyRejected = false;
    await deps.clock.sleep(LOOK_MS, stop.signal).catch(() => {});
  }
}
