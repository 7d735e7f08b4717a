/** Keeps the accounts that a warm environment serves. */

/**
 * One environment keeps at most this many accounts. Lambda may hand any lane's invocation to any warm environment, so
 * the bound is that of two lanes of a hundred small accounts, which have about 30 MB beyond the function's own memory
 * (docs/performance.md). An account that is dropped begins as after a cold start.
 */
export const WARM_ACCOUNTS_MAX = 200;

export interface WarmAccounts<Account> {
  /** `identity` identifies the settings, because changed settings must not meet the adapters of the old ones. */
  get(accountId: string, identity: string, create: () => Account): Account;
}

/** The account that was served longest ago is dropped first. */
export function createWarmAccounts<Account>(): WarmAccounts<Account> {
  const kept = new Map<string, { readonly identity: string; readonly account: Account }>();
  return {
    get(accountId, identity, create) {
      const known = kept.get(accountId);
      const account = known?.identity === identity ? known.account : create();
      kept.delete(accountId);
      kept.set(accountId, { identity, account });
      const [oldest] = kept.keys();
      if (kept.size > WARM_ACCOUNTS_MAX && oldest !== undefined) kept.delete(oldest);
      return account;
    },
  };
}
