/** Finds the scripts of the threads in which the functions run. */

import { extname } from 'node:path';

type WorkerName = 'api-worker' | 'commands-worker' | 'notifier-worker' | 'poller-worker';

/** A script is beside this file: as TypeScript in the project, and as JavaScript in the built package. */
export function workerScript(name: WorkerName): URL {
  return new URL(`./${name}${extname(import.meta.filename)}`, import.meta.url);
}
