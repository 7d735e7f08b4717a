/** Decides the order in which the queued commands of one project are sent, and what the first of them waits for. */

import * as z from 'zod';

const lineEntry = z.object({
  command_id: z.string(),
  deadline_at_ms: z.number(),
  /** An entry of the second edition has none, and counts for no caller. */
  client_id: z.string().optional(),
});

export const projectLine = z.object({
  account_id: z.string(),
  project_id: z.string(),
  /** Each write raises it by one and compares it. */
  revision: z.number().int().nonnegative(),
  /** The commands are sent in this order. */
  entries: z.array(lineEntry),
  /** These operations held the project when a command was last to be sent. */
  waiting_for: z.array(z.string()),
  /** The upstream is not asked before this time, in milliseconds since the epoch by our clock. */
  not_before_ms: z.number(),
});

export type ProjectLine = Readonly<z.output<typeof projectLine>>;
export type LineEntry = ProjectLine['entries'][number];

/** A script that queues more for one project than this has most likely lost control. The whole line is one item. */
export const LINE_ENTRIES_MAX = 100;

/** One caller may have this many of them, so that there is always a place for another caller. */
export const LINE_ENTRIES_OF_CALLER_MAX = LINE_ENTRIES_MAX / 2;

export function emptyLine(accountId: string, projectId: string): ProjectLine {
  return {
    account_id: accountId,
    project_id: projectId,
    revision: 0,
    entries: [],
    waiting_for: [],
    not_before_ms: 0,
  };
}

/** Returns how many entries of the line are the caller's. */
export function entryCountOf({ entries }: ProjectLine, clientId: string): number {
  return entries.filter(({ client_id }) => client_id === clientId).length;
}

/** Returns `full` or `part_full` at a bound, and undefined when the command is in the line already. */
export function lineWith(
  line: ProjectLine,
  { command_id, deadline_at_ms, client_id }: LineEntry & { readonly client_id: string },
): ProjectLine | 'full' | 'part_full' | undefined {
  if (line.entries.some((entry) => entry.command_id === command_id)) return undefined;
  if (line.entries.length >= LINE_ENTRIES_MAX) return 'full';
  if (entryCountOf(line, client_id) >= LINE_ENTRIES_OF_CALLER_MAX) return 'part_full';
  return changed(line, { entries: [...line.entries, { command_id, deadline_at_ms, client_id }] });
}

/** The next command waits for the operations that this one started. Returns undefined when it is not in the line. */
export function lineWithout(
  line: ProjectLine,
  commandId: string,
  startedIds: readonly string[] = [],
): ProjectLine | undefined {
  const entries = line.entries.filter((entry) => entry.command_id !== commandId);
  if (entries.length === line.entries.length) return undefined;
  const waiting_for = startedIds.length > 0 ? [...startedIds] : line.waiting_for;
  return changed(line, { entries, waiting_for });
}

export interface Hold {
  readonly waiting_for: readonly string[];
  readonly not_before_ms: number;
}

/** Returns undefined when the line waits for the same already, so that a look at a locked project writes nothing. */
export function lineHeldBy(line: ProjectLine, hold: Hold): ProjectLine | undefined {
  const isSame =
    line.not_before_ms === hold.not_before_ms &&
    line.waiting_for.length === hold.waiting_for.length &&
    hold.waiting_for.every((id) => line.waiting_for.includes(id));
  return isSame ? undefined : changed(line, { ...hold, waiting_for: [...hold.waiting_for] });
}

/** A command whose deadline has passed comes first, wherever it stands, because it only has to be taken out. */
export function nextEntry({ entries }: ProjectLine, nowMs: number): LineEntry | undefined {
  return entries.find(({ deadline_at_ms }) => deadline_at_ms <= nowMs) ?? entries[0];
}

function changed(line: ProjectLine, change: Partial<ProjectLine>): ProjectLine {
  return { ...line, ...change, revision: line.revision + 1 };
}
