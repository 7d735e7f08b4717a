/** Where the upstream's key comes from, and how many callers share one fresh read of it. */

import type { Secret } from '../runtime/secret.ts';

export interface KeySource {
  current(): Promise<Secret>;
  /** One fresh read, past any cache. */
  refresh(): Promise<Secret>;
}

/** Remembers which key the upstream has refused, so that nobody sends it again. */
export interface GuardedKeySource extends KeySource {
  isRefused(key: Secret): boolean;
  noteRefused(key: Secret): void;
  /** One fresh read: whether the secret holds a key that the upstream has not refused. */
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

/** Many polls meet a revoked key at once: those that ask while a fresh read is under way wait for that one. */
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
