/** Measures rows in a thread of its own, one after the other. */

import { parentPort } from 'node:worker_threads';
import { measure, type Row } from './measure.ts';

parentPort?.on('message', async (row: Row) => {
  const figures = await measure(row, (hour) => parentPort?.postMessage({ kind: 'hour', hour }));
  parentPort?.postMessage({ kind: 'figures', figures });
});
