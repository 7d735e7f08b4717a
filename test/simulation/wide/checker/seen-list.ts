/** Decides whether the bridge can have known all projects of the account at some time. */

import { isWithin, type TruthProject } from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';

const A_MINUTE_MS = 60_000;
const NEVER_SHOWN = Number.POSITIVE_INFINITY;

/**
 * Pages that are read in their turns show the list before the listing under way has come to its end, and the table may
 * refuse the first write. After this time the process has written down that it knows the list.
 */
const WRITTEN_WITHIN_MS = 20_000;

/**
 * Returns whether one process had been shown every other project and the end of the list before the project came, and
 * had lived on to write it down.
 */
export function hadSeenTheList(
  { stage, answers }: Pick<Evidence, 'stage' | 'answers'>,
  { id: cameId }: Pick<TruthProject, 'id'>,
  cameMs: number,
): boolean {
  const before = answers.filter(({ route, atMs }) => route === 'projects' && atMs < cameMs - A_MINUTE_MS);
  // A row that cannot be read, or that is left out, may be a project that was there from the beginning.
  const isDoubtful = before.some(({ withheldIds }) => withheldIds.length > 0);
  if (isDoubtful) return false;
  const others = stage.upstream.truth.projects.filter(
    ({ id, visible }) => id !== cameId && isWithin(visible, cameMs - A_MINUTE_MS),
  );
  return [...Map.groupBy(before, ({ by }) => by).values()].some((own) => {
    const endMs = own.at(-1)?.atMs ?? 0;
    const livedMs = endMs - (own[0]?.atMs ?? 0);
    // A page carries a cursor even when nothing follows it, so only an empty page shows that the list is over.
    const shownMs = [
      own.find(({ shownIds }) => shownIds.length === 0)?.atMs ?? NEVER_SHOWN,
      ...others.map(({ id }) => own.find(({ shownIds }) => shownIds.includes(id))?.atMs ?? NEVER_SHOWN),
    ];
    return livedMs >= A_MINUTE_MS && endMs >= Math.max(...shownMs) + WRITTEN_WITHIN_MS;
  });
}
