/**
 * Keeps the port of the simulated upstream in the file `upstream-port`, because the addresses of added accounts in the
 * tables name it.
 */

import { existsSync } from 'node:fs';
import { UsageError } from '../../process/option-values.ts';
import { keptText } from './kept-file.ts';

const PORT_MAX = 65_535;

export interface UpstreamPort {
  /** The simulated upstream had this port in earlier runs. It is undefined when there was none. */
  readonly known: number | undefined;
  /** Keeps the port of the first run. The next runs have the same one. */
  keep(port: number): void;
  /** Says what to do when the known port cannot be had for this reason. */
  refusal(reason: string): UsageError;
}

/** Throws a `UsageError` when the file does not hold a port. */
export function keptUpstreamPort(path: string): UpstreamPort {
  const known = existsSync(path)
    ? parsePort(
        path,
        keptText(path, () => ''),
      )
    : undefined;
  return {
    known,
    keep: (port) => void keptText(path, () => `${port}\n`),
    refusal: (reason) =>
      new UsageError(
        `Port ${known}, which the simulated upstream of this folder has in every run, cannot be used (${reason}). Stop the program that uses it, or delete ${path}: the upstream then gets another port, and ${ADDED_AGAIN}.`,
      ),
  };
}

const ADDED_AGAIN = 'accounts that were added must be removed and added again';

function parsePort(path: string, text: string): number {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0;
  if (port >= 1 && port <= PORT_MAX) return port;
  const fault = text.trim() === '' ? 'is empty' : 'does not hold the number of a port';
  throw new UsageError(
    `${path} ${fault}, so it is unknown where the simulated upstream was in earlier runs. Write the port there that "operations-bridge accounts list --json" has shown, or delete that file: ${ADDED_AGAIN}.`,
  );
}
