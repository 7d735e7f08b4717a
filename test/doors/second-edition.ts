/** Gives the notifier and the worker of the second edition, which a deployment replaces and a roll-back brings back. */

import type { createWorkerAccounts } from '../../functions/commands/create-handler.ts';
import type { work } from '../../functions/commands/work.ts';
import type { createNotifier } from '../../functions/notifier/create-handler.ts';
import type { commandSettingsOf } from '../../shared/accounts/account.ts';
import type { openAccountDirectory } from '../../shared/accounts/account-directory.ts';

const BUNDLE = new URL('../fixtures/notifier-and-worker-286368fb.mjs', import.meta.url);

/** There is more than one version of these functions. */
export interface Notifiers {
  readonly createNotifier: typeof createNotifier;
}

export interface Workers {
  readonly work: typeof work;
  readonly createWorkerAccounts: typeof createWorkerAccounts;
  readonly openAccountDirectory: typeof openAccountDirectory;
  readonly commandSettingsOf: typeof commandSettingsOf;
}

/** Loads what commit 286368fb exports. Its file has no types, because it is a bundle. */
export async function secondEdition(): Promise<Notifiers & Workers> {
  return (await import(BUNDLE.href)) as Notifiers & Workers;
}
