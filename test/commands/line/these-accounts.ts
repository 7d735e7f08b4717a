/** Gives the worker accounts that do not change. */

import type { WorkerAccount, WorkerAccounts } from '../../../functions/commands/work.ts';

export function theseAccounts(accounts: ReadonlyMap<string, WorkerAccount>): WorkerAccounts {
  return {
    refresh: async () => {},
    ids: () => [...accounts.keys()],
    get: (accountId) => accounts.get(accountId),
    idle: async () => void (await Promise.all([...accounts.values()].map((account) => account.idle()))),
  };
}
