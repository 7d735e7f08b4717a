/**
 * Keeps the catalogue of a large account: which projects it has, and how often something happens in each. A process
 * that starts cold plans with it at once (`recall-projects.ts`). A catalogue that is lost or old costs only time.
 */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { PollPlanner } from '../../planner/poll-planner.ts';
import type { KnownProjects } from '../discovery/known-projects.ts';
import type { Listings } from '../discovery/listings.ts';
import type { CatalogueStore } from './catalogue-store.ts';
import { type CataloguedProject, digestOf } from './catalogue-text.ts';
import { dueChunks, type StoredChunk } from './due-chunks.ts';

export interface CataloguePort {
  /** Resolves to the projects of all chunks that can be read. */
  readAll(): Promise<readonly CataloguedProject[]>;
  /** Writes some of the chunks that are due. Resolves to whether others are left for the next call. */
  write(projects: () => Iterable<CataloguedProject>, nowMs: number): Promise<boolean>;
}

/**
 * One call writes at most this many chunks. With 200,000 projects each of them takes about a hundred write units, and
 * DynamoDB lets a partition have a thousand a second.
 */
const CHUNKS_PER_CALL = 8;

export function createCatalogueKeeper(store: CatalogueStore): CataloguePort {
  let stored: Map<number, StoredChunk> | undefined;

  return {
    async readAll() {
      const chunks = await store.readAll();
      stored = new Map(
        [...chunks].map(([chunk, { projects, ...rest }]) => [chunk, { ...rest, digest: digestOf(projects) }]),
      );
      return [...chunks.values()].flatMap(({ projects }) => projects);
    },

    async write(projects, nowMs) {
      if (stored === undefined) await this.readAll();
      const known = stored ?? new Map<number, StoredChunk>();
      const due = dueChunks(known, projects(), nowMs);
      for (const { chunk, projects: next } of due.slice(0, CHUNKS_PER_CALL)) {
        const revision = (known.get(chunk)?.revision ?? 0) + 1;
        const outcome = await store.write(chunk, { projects: next, revision, writtenAtMs: nowMs });
        if (outcome === 'refused') {
          // Another process has written it, so what this one knows of the chunks is old.
          stored = undefined;
          return true;
        }
        known.set(chunk, { revision, digest: digestOf(next), writtenAtMs: nowMs });
      }
      return due.length > CHUNKS_PER_CALL;
    },
  };
}

export interface KeepCatalogueDeps {
  readonly catalogue: CataloguePort;
  readonly clock: Clock;
  readonly planner: Pick<PollPlanner, 'historyOf'>;
  readonly telemetry: Pick<Telemetry, 'log'>;
  readonly limits: CatalogueLimits;
  readonly signal: AbortSignal;
}

export interface CatalogueLimits {
  /** The account has a catalogue from this number of projects on. When it is undefined, `CATALOGUED_FROM` counts. */
  readonly cataloguedFrom?: number | undefined;
}

/**
 * The list of this many projects has 13 pages and is read within a second or two. Smaller accounts have no catalogue,
 * so that it costs them nothing.
 */
export const CATALOGUED_FROM = 5_000;

/** The write units of some chunks are there again after this time. */
const LOOK_MS = 10_000;

/** Writes until nothing is due in this invocation. What could not be written is written later. */
export async function keepCatalogueRepeatedly(
  { catalogue, clock, planner, telemetry, limits, signal }: KeepCatalogueDeps,
  { sighted }: Pick<KnownProjects, 'sighted'>,
  listings: Pick<Listings, 'endedAtMs'>,
): Promise<void> {
  const { cataloguedFrom = CATALOGUED_FROM } = limits;
  const projects = () => catalogued(sighted, planner);
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal).catch(() => {});
    // Before the end of the first listing this process does not know all projects.
    if (signal.aborted || listings.endedAtMs === undefined || sighted.size < cataloguedFrom) continue;
    try {
      if (!(await catalogue.write(projects, clock.now()))) return;
    } catch (error) {
      telemetry.log('warn', 'catalogue.not_written', { reason: toError(error).name });
    }
  }
}

function* catalogued(ids: Iterable<string>, planner: Pick<PollPlanner, 'historyOf'>) {
  for (const id of ids) yield { id, history: planner.historyOf(id) };
}
