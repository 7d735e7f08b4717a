/** Gives the poller of the second edition, which a deployment replaces and a roll-back brings back. */

import type { Poller } from './bridge.ts';

const BUNDLE = new URL('../../fixtures/poller-286368fb.mjs', import.meta.url);

/** Loads `createAccount` of commit 286368fb. Its file has no types, because it is a bundle. */
export async function pollerOfSecondEdition(): Promise<Poller> {
  const { createAccount } = (await import(BUNDLE.href)) as { createAccount: Poller };
  return createAccount;
}
