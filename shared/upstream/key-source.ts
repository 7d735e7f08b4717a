/** Defines where the upstream's key comes from, and how concurrent callers share one fresh read of it. */

import type { Secret } from '../runtime/secret.ts';

export interface KeySource {
  current(): Promise<Secret>;
  /** Reads the key again, past any cache. */
  refresh(): Promise<Secret>;
}

/** Remembers the key that the upstream has refused, so that it is not sent again. */
export interface GuardedKeySource extends KeySource {
  isRefused(key: Secret): boolean;
  noteRefused(key: Secret): void;
  /** Reads the key again, and says whether it is one that the upstream has not refused. */
  hasAnother(): Promise<boolean>;
}

export function guardKey(source: KeySource): GuardedKeySource {
  let refused: Secret | undefined;
  const isRefused = (key: Secret) => key.reveal() === refused?.reveal();
  return {
    current: () => source.current(),
    refresh: () => source.refresh(),
    isRefused,
    noteRefused(key) {
      refused = key;
    },
    hasAnother: async () => !isRefused(await source.refresh()),
  };
}

/** Many polls meet a revoked key at once. Those that ask while a fresh read is under way wait for that read. */
export function shareRefresh<Source extends KeySource>(source: Source): Source {
  let underWay: Promise<Secret> | undefined;
  return {
    ...source,
    current: () => source.current(),
    refresh() {
      underWay ??= source.refresh().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
  };
}
