/** Where the upstream's key comes from, and how many callers share one fresh read of it. */

import type { Secret } from '../runtime/secret.ts';

export interface KeySource {
  current(): Promise<Secret>;
  /** One fresh read, past any cache. */
  refresh(): Promise<Secret>;
}

/** Many polls meet a revoked key at once: those that ask while a fresh read is under way wait for that one. */
export function shareRefresh(source: KeySource): KeySource {
  let underWay: Promise<Secret> | undefined;
  return {
    current: () => source.current(),
    refresh() {
      underWay ??= source.refresh().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
  };
}
