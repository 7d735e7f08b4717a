/** Remembers the names of projects that alerts are about, because a storm asks for the same ones again and again. */

import type { Clock } from '../../shared/runtime/clock.ts';

/** A project that was renamed has its new name in alerts after this time. */
const NAME_REREAD_MS = 10 * 60_000;

/** Beyond this many projects, at about a hundred bytes each, all are read again. */
const REMEMBERED_MAX = 5_000;

type NameOf = (accountId: string, projectId: string) => Promise<string | undefined>;

/** Returns the same function, which reads a name at most once in ten minutes. A name that is not known is read each time. */
export function rememberNames(read: NameOf, clock: Clock): NameOf {
  const known = new Map<string, { readonly name: string; readonly atMs: number }>();
  return async (accountId, projectId) => {
    const key = `${accountId} ${projectId}`;
    const found = known.get(key);
    if (found !== undefined && clock.now() - found.atMs < NAME_REREAD_MS) return found.name;
    const name = await read(accountId, projectId);
    if (name === undefined) return undefined;
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(key, { name, atMs: clock.now() });
    return name;
  };
}
