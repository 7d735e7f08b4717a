/** Measures rows in several threads, and hands the figures over in the order of the rows. */

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Figures, Row } from '../measure.ts';

const THREADS_MAX = 8;

export interface RowListener {
  /** Is called in the order of the rows, whichever thread finishes first. */
  onFigures(figures: Figures): void;
  onProgress(text: string): void;
}

export async function measureRows(rows: readonly Row[], listener: RowListener): Promise<readonly Figures[]> {
  const results = new Map<number, Figures>();
  let begun = 0;
  let handedOver = 0;
  // The failure of one row ends all threads.
  await using threads = new AsyncDisposableStack();
  const work = async () => {
    const worker = new Worker(new URL('../worker.ts', import.meta.url));
    threads.defer(async () => {
      await worker.terminate();
    });
    for (let place = begun++; place < rows.length; place = begun++) {
      const row = rows[place];
      if (row === undefined) break;
      const onHour = (hour: number) =>
        listener.onProgress(`row ${place + 1} of ${rows.length}: ${describe(row)}, hour ${hour}`);
      results.set(place, await measuredBy(worker, row, onHour));
      handOver();
    }
  };
  const threadCount = Math.min(rows.length, availableParallelism(), THREADS_MAX);
  await Promise.all(Array.from({ length: threadCount }, work));
  return rows.map((_, place) => results.get(place) as Figures);

  function handOver(): void {
    for (let next = results.get(handedOver); next !== undefined; next = results.get(handedOver)) {
      listener.onFigures(next);
      handedOver += 1;
    }
  }
}

function measuredBy(worker: Worker, row: Row, onHour: (hour: number) => void): Promise<Figures> {
  onHour(0);
  return new Promise((resolve, reject) => {
    const onMessage = (
      message:
        | { readonly kind: 'hour'; readonly hour: number }
        | { readonly kind: 'figures'; readonly figures: Figures },
    ) => {
      if (message.kind === 'hour') return onHour(message.hour);
      worker.off('message', onMessage).off('error', reject);
      resolve(message.figures);
    };
    worker.on('message', onMessage).on('error', reject).postMessage(row);
  });
}

function describe({ world, policy, projects, seed, seedCount = 1 }: Row): string {
  const seeds = seedCount === 1 ? `seed ${seed}` : `seeds ${seed} to ${seed + seedCount - 1}`;
  return `${policy} in ${world} with ${projects} projects, ${seeds}`;
}
