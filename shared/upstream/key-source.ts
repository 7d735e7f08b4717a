/** Where the upstream's key comes from, and how concurrent callers share one fresh read of it. */

import type { Secret } from '../runtime/secret.ts';

export interface KeySource {
  current(): Promise<Secret>;
  /** Reads the key afresh, past any cache. */
  refresh(): Promise<Secret>;
}

/** Remembers which key the upstream has refused, so that it is not sent again. */
export interface GuardedKeySource extends KeySource {
  isRefused(key: Secret): boolean;
  noteRefused(key: Secret): void;
  /** Reads the key afresh, and resolves to whether it is another key than the refused one. */
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

/** When a key is revoked, many polls ask for a fresh read at once: all that ask while a read is under way share that read. */
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
