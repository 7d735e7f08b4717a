/** Measures rows in a thread of its own, one after the other. */

import { parentPort } from 'node:worker_threads';
import { measure, type Row } from './measure.ts';

parentPort?.on('message', (row: Row) => void answer(row));

/** A failure ends the thread and so the run. */
async function answer(row: Row): Promise<void> {
  const figures = await measure(row, (hour) => parentPort?.postMessage({ kind: 'hour', hour }));
  parentPort?.postMessage({ kind: 'figures', figures });
}
