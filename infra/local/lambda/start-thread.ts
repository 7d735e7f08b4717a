/** Starts the threads in which the functions run. */

import { extname } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';

export type FunctionScript = 'api-worker' | 'commands-worker' | 'notifier-worker' | 'poller-worker';

/** The scripts are beside this file: as TypeScript in the project, and as JavaScript in the built package. */
const EXTENSION = extname(import.meta.filename);

/** Every thread begins with the same script, which imports the script of this name. */
export function startThread(script: FunctionScript, options: WorkerOptions): Worker {
  const begin = new URL(`./thread${EXTENSION}`, import.meta.url);
  return new Worker(begin, { ...options, argv: [`${script}${EXTENSION}`] });
}
