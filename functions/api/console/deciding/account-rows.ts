/** Decides in which order administrators see accounts: those that need a person come first. */

import type { ListedAccount } from '../../bridge/account-list.ts';

/** A refused account has nothing polled, an unhealthy one something, and a paused one nothing because a person wants it so. */
function troubleOf({ state, healthy }: Pick<ListedAccount, 'state' | 'healthy'>): number {
  if (state === 'refused') return 0;
  if (state === 'paused') return 2;
  return healthy === false ? 1 : 3;
}

/** Among unhealthy accounts the one that was read completely the longest ago comes first, and one that never was before it. */
export function byTrouble(accounts: readonly ListedAccount[]): readonly ListedAccount[] {
  return accounts.toSorted((a, b) => {
    const [rankA, rankB] = [troubleOf(a), troubleOf(b)];
    if (rankA !== rankB) return rankA - rankB;
    const [readA, readB] = [a.last_complete_walk_at ?? '', b.last_complete_walk_at ?? ''];
    if (rankA === 1 && readA !== readB) return readA < readB ? -1 : 1;
    return a.account_id < b.account_id ? -1 : 1;
  });
}
