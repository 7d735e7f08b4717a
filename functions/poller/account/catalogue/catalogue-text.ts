/**
 * Writes a chunk of the catalogue as one text and reads it again. A line has the id of a project and, when it is known,
 * how often something happens there: `id`, or `id arrivals minutes`. The table would read a map of thousands of entries
 * fifty times as slowly as one text.
 */

import type { ArrivalHistory } from '../../planner/activity/arrival-history.ts';

/** `history` is undefined when no page of the project was read before the chunk was written. */
export interface CataloguedProject {
  readonly id: string;
  readonly history: ArrivalHistory | undefined;
}

/**
 * The catalogue has this number of chunks. With 250,000 projects a chunk has about 4,000 of them, and with the longest
 * ids 320 kB, of 400 kB that an item may have. One call of the table reads up to a hundred items.
 */
export const CATALOGUE_CHUNKS = 64;

const MINUTE_MS = 60_000;

/** A rate is known no better than to some hundredths, and short numbers make a small item. */
const ARRIVAL_DIGITS = 3;

/** Returns which chunk has the project. The same project is always in the same chunk. */
export function chunkOf(projectId: string): number {
  return hashOf(projectId) % CATALOGUE_CHUNKS;
}

export function catalogueText(projects: readonly CataloguedProject[]): string {
  return projects.map(lineOf).join('\n');
}

/** A line that is not understood is left out: the project list shows its project. */
export function cataloguedIn(text: string): readonly CataloguedProject[] {
  return text === '' ? [] : text.split('\n').flatMap((line) => projectIn(line) ?? []);
}

/** Sums up what the chunk says: which projects, and of which of them a history is known. Their order does not matter. */
export function digestOf(projects: readonly CataloguedProject[]): number {
  return projects.reduce((sum, { id, history }) => (sum + hashOf(id) + (history ? 1 : 0)) >>> 0, 0);
}

function lineOf({ id, history }: CataloguedProject): string {
  if (history === undefined) return id;
  const arrivals = Number(history.arrivalCount.toPrecision(ARRIVAL_DIGITS));
  return `${id} ${arrivals} ${Math.max(1, Math.round(history.observedMs / MINUTE_MS))}`;
}

function projectIn(line: string): CataloguedProject | undefined {
  const [id, arrivals, minutes, ...rest] = line.split(' ');
  if (id === undefined || id === '' || rest.length > 0) return undefined;
  if (arrivals === undefined) return { id, history: undefined };
  const history = { arrivalCount: Number(arrivals), observedMs: Number(minutes) * MINUTE_MS };
  return history.arrivalCount >= 0 && history.observedMs > 0 ? { id, history } : undefined;
}

/** Hashes by FNV-1a with 32 bits, which needs a fraction of a microsecond. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
