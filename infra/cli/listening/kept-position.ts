/** Keeps how far `listen` has come, so that the next run goes on where this one stopped, even if it was killed. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writePrivateFile } from '../../process/private-file.ts';
import { type Environment, stateFolder } from '../../process/surroundings.ts';
import { codeOf } from '../../process/system-error.ts';

/** The feed may give out an event again within half a minute. A busy account has fewer events in that time. */
const RECENT_IDS_MAX = 1_000;

const position = z.object({
  /** The feed continues here. It is absent before the first page. */
  cursor: z.string().optional(),
  /** The time (ISO 8601) of the newest event that was dealt with. */
  last_time: z.string().optional(),
  /** The ids of the events that were dealt with most recently, oldest first. */
  recent_ids: z.array(z.string()).max(RECENT_IDS_MAX),
});

export type Position = z.output<typeof position>;

export const NO_POSITION: Position = { recent_ids: [] };

/** One stream of events has one file: the same bridge, filters and target. */
export function positionFile(environment: Environment, stream: readonly (string | undefined)[]): string {
  const name = createHash('sha256').update(JSON.stringify(stream)).digest('hex').slice(0, 16);
  return join(stateFolder(environment), `listen-${name}.json`);
}

/** Returns undefined when nothing is kept, or when what is kept cannot be read. */
export function readPosition(file: string): Position | undefined {
  try {
    return position.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function writePosition(file: string, kept: Position): void {
  writePrivateFile(file, JSON.stringify(kept));
}

export function afterEvent(
  before: Position,
  { id, time }: { readonly id: string; readonly time: string },
): Position {
  const last_time = before.last_time === undefined || time > before.last_time ? time : before.last_time;
  return { ...before, last_time, recent_ids: [...before.recent_ids, id].slice(-RECENT_IDS_MAX) };
}
