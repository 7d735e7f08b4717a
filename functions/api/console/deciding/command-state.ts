/** Decides the state of a command that was sent at once, in the words of queued commands. */

import type { CommandRecord } from '../../../../shared/core/records/command-record.ts';

/** A command without a record has not started anything yet. */
export function commandState(record: CommandRecord | undefined): string {
  if (record === undefined) return 'sent';
  if (!record.is_settled) return 'running';
  const settled = record.entries.findLast(({ type }) => type === 'command_settled');
  return settled?.outcome ?? 'unknown';
}

const UNDER_WAY: ReadonlySet<string> = new Set(['queued', 'sent', 'running']);

export function isUnderWay(state: string): boolean {
  return UNDER_WAY.has(state);
}
