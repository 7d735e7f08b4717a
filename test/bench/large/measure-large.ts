/** Starts the run of one large account in a process of its own, with as much heap as a function of 1 GB has. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LargeFigures } from './large-figures.ts';

/** Node itself, the code and the buffers need the rest of the gigabyte. */
const HEAP_FLAGS = ['--max-old-space-size=850', '--max-semi-space-size=4'];

/** The run takes a few minutes; after this time something is wrong. */
const DURATION_MS_MAX = 30 * 60_000;

/** Rejects when the process ends before it has measured everything, as it does when its heap is full. */
export async function measureLarge(projects: number, requestsPerMinute: number): Promise<LargeFigures> {
  const file = fileURLToPath(new URL('./large-account.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...HEAP_FLAGS, file, String(projects), String(requestsPerMinute)],
    { timeout: DURATION_MS_MAX },
  );
  return JSON.parse(stdout) as LargeFigures;
}
