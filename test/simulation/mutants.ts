/**
 * Lists deliberate mistakes in the protocol, each as a change of production text. The checker must notice every one.
 */

export interface Mutant extends Change {
  readonly name: string;
  /** The first seed that noticed it. In the close world a search begins there, and goes on with the seeds behind it. */
  readonly noticedBy?: number;
  /** Says in words what goes wrong. */
  readonly mistake: string;
  /** These guards against the same mistake are taken out, too: one of them alone would hide it. */
  readonly and?: readonly Change[];
}

interface Change {
  readonly file: string;
  /** This text stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export function changesOf({ file, find, replace, and = [] }: Mutant): readonly Change[] {
  return [{ file, find, replace }, ...and];
}

export const mutants: readonly Mutant[] = [
  {
    name: 'no-compare-and-set',
    mistake: 'a record is written whatever was recorded since it was read',
    file: 'shared/store/records.ts',
    find: '    condition: conditionOf(next, unchangedSince(expectedRevision, next.kind)),',
    replace: '',
  },
  {
    name: 'acknowledged-is-done',
    noticedBy: 34,
    mistake: 'an acknowledgement takes an open operation out of the index',
    file: 'shared/store/bridge-store.ts',
    find: 'const ended = hasWork(after)',
    replace: 'const ended = hasWork(after) && after.published < after.revision',
  },
  {
    name: 'acknowledge-before-publish',
    mistake: 'entries count as published before the bus has answered',
    file: 'shared/protocol/relay-records.ts',
    find: '  const outcomes = items',
    replace: `  for (const { record } of pending)
    await deps.store.acknowledge(record, { through: record.revision, derived: record.revision });
  const outcomes = items`,
  },
  {
    name: 'ignore-failed-entries',
    mistake: 'a call that answered counts for all its entries',
    file: 'shared/records/journal.ts',
    find: "const firstRetry = sent.findIndex(({ outcome }) => outcome.kind === 'retry');",
    replace: 'const firstRetry: number = -1;',
  },
  {
    name: 'acknowledge-behind-a-gap',
    noticedBy: 101,
    mistake: 'later entries are acknowledged though an earlier one failed',
    file: 'shared/records/journal.ts',
    find: 'const prefix = firstRetry === -1 ? sent : sent.slice(0, firstRetry);',
    replace:
      "const prefix = firstRetry === -1 ? sent : sent.filter(({ outcome }) => outcome.kind !== 'retry');",
  },
  {
    name: 'refused-entry-not-parked',
    mistake: 'an entry that the bus refuses is dropped',
    file: 'shared/protocol/relay-records.ts',
    find: '    for (const { entry, code } of park) await parkEntry(deps, record, { entry, code });',
    replace: '',
  },
  {
    name: 'no-place-in-the-index',
    mistake: 'what a crash leaves unpublished cannot be found again',
    file: 'shared/records/journal-record.ts',
    find: 'if (isPending(record)) return true;',
    replace: '',
  },
  {
    name: 'open-operations-not-watched',
    noticedBy: 34,
    mistake: 'an open operation leaves the index once its events are published',
    file: 'shared/records/journal-record.ts',
    find: "return record.kind === 'operation' && (isOpen(record) || isUnderived(record));",
    replace: "return record.kind === 'operation' && isUnderived(record) && !isOpen(record);",
  },
  {
    name: 'upstream-before-store',
    noticedBy: 900_000_778,
    mistake: 'a difference in a row is recorded over a state that was read after the row',
    file: 'functions/poller/project/record-page.ts',
    find: 'if (hasChanged(recorded, row)) return recordReread(deps, poll, row, by.observer);',
    replace: 'if (hasChanged(recorded, row)) return recordSurely(deps, poll, recorded, row, by);',
  },
  {
    name: 'stale-reading-kept-after-conflict',
    noticedBy: 900_000_140,
    mistake: 'after a lost race the old reading is compared again, as if it were new',
    file: 'shared/protocol/record-operation.ts',
    find: '    state = { recorded: stored, ...answer };',
    replace: '    state = { recorded: stored, reading, requestedMs: Number.POSITIVE_INFINITY };',
  },
  {
    name: 'watermark-on-a-partial-walk',
    noticedBy: 371,
    mistake: 'reading is acknowledged though the walk was interrupted',
    file: 'functions/poller/project/walk.ts',
    find: `  if (!walk.hasArrived) {
`,
    replace: `  if (!walk.hasArrived && walk.pagesRead === 0) {
`,
  },
  {
    name: 'watermark-before-record',
    noticedBy: 900_000_164,
    mistake: 'a page counts as read though a row of it could not be recorded',
    file: 'functions/poller/project/poll-project.ts',
    find: 'if (!(await recordPage(deps, poll, after, page))) return { walk, firstPage, failure: undefined };',
    replace: 'await recordPage(deps, poll, after, page);',
  },
  {
    name: 'no-overlap-no-sweep',
    noticedBy: 900_000_480,
    mistake: 'rows that become visible late are never looked for',
    file: 'functions/poller/project/walk.ts',
    find: 'const reach = bound && earlierBy(bound, limits.overlapMs);',
    replace: 'const reach = bound;',
  },
  {
    name: 'no-sweep',
    noticedBy: 68,
    mistake: 'what stood between two pages or became visible very late is never looked for',
    file: 'functions/poller/project/poll-project.ts',
    find: 'return !isResting && Math.abs(nowMs - (project?.swept_at_ms ?? 0)) >= options.sweepIntervalMs;',
    replace: 'return isResting && project !== undefined && options.sweepIntervalMs < 0;',
  },
  {
    name: 'failed-is-terminal',
    noticedBy: 339,
    mistake: 'a failed operation is not watched, so its retry is missed',
    file: 'shared/records/operation-record.ts',
    find: "new Set(['finished', 'skipped', 'cancelled', 'error'])",
    replace: "new Set(['finished', 'skipped', 'cancelled', 'error', 'failed'])",
  },
  {
    name: 'status-alone',
    noticedBy: 36,
    mistake: 'a failure that repeats is not seen as a change',
    file: 'shared/records/operation-record.ts',
    find: 'return recorded.status !== reading.status || recorded.failures_count !== reading.failures_count;',
    replace: 'return recorded.status !== reading.status;',
  },
  {
    name: 'unlisted-not-read',
    noticedBy: 89,
    mistake: 'open operations that the pages do not show are left alone',
    file: 'functions/poller/project/open-operations.ts',
    find: 'if (!isRead(record)) await readOne(deps, poll, record);',
    replace: 'if (poll.beganMs < 0) await readOne(deps, poll, record);',
  },
  {
    name: 'event-from-current-state',
    noticedBy: 8,
    mistake: 'a copy of an event is rendered from what the record says now',
    file: 'shared/events/render-event.ts',
    find: '    ...entry,\n    terminal: isTerminal(entry.status),',
    replace: '    ...entry,\n    status: record.status,\n    terminal: isTerminal(entry.status),',
  },
  {
    name: 'resume-skips-the-rest',
    noticedBy: 371,
    mistake: 'a resumed walk counts as complete once it has read what is new at the head',
    file: 'functions/poller/project/walk.ts',
    find: 'return goOn(read, walk.resume.cursor, undefined);',
    replace: 'return arrived(read);',
  },
  {
    name: 'history-is-news',
    mistake: 'operations that ended before the bridge came become events',
    file: 'functions/poller/project/record-page.ts',
    find: "return options.backfill !== 'all' && since !== undefined && endedBefore(row, since);",
    replace:
      "return options.backfill === 'all' && since === undefined && endedBefore(row, row.created_at as never);",
  },
  {
    name: 'derived-once-a-process',
    noticedBy: 900_000_103,
    mistake: 'a conflict counts as recorded, although another process has recorded something else',
    file: 'shared/protocol/record-derived.ts',
    find: "!== 'recorded') return 'again';",
    replace: "!== 'recorded') return NOTHING;",
  },
  {
    name: 'other-operations-not-read',
    mistake: 'an operation of a creation that this process has not at hand counts as open for ever',
    file: 'shared/protocol/record-derived.ts',
    find: 'const read = unknown.length > 0 ? (await store.readOperations(project_id, unknown)).records : [];',
    replace: 'const read = unknown.length > 0 ? new Map<string, OperationRecord>() : [];',
    noticedBy: 94,
  },
  {
    name: 'a-compute-changes-twice',
    mistake: 'an operation that was derived before a crash changes its compute again',
    file: 'shared/records/compute-state.ts',
    find: 'return entries.some((entry) => entry.operation_id === operation_id);',
    replace: 'return entries.length < 0 && operation_id === undefined;',
  },
];
