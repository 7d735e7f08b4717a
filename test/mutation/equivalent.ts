/**
 * Lists the mutants that no test can notice, because the changed code does the same, each with its proof. A mutant that a test
 * could notice does not belong here, however unlikely its effect is.
 */

export interface Equivalent {
  readonly file: string;
  /** The mutant begins on this line of the file, which is given without its indentation. */
  readonly line: string;
  readonly original: string;
  readonly replacement: string;
  readonly proof: string;
}

const RECORD_OPERATION = 'shared/protocol/record-operation.ts';

export const equivalents: readonly Equivalent[] = [
  {
    file: RECORD_OPERATION,
    line: '} catch {',
    original: "{ return 'unknown'; }",
    replacement: '{}',
    proof: "The caller compares the result with 'recorded' and with nothing else.",
  },
  {
    file: RECORD_OPERATION,
    line: "return 'unknown';",
    original: "'unknown'",
    replacement: '""',
    proof: "The caller compares the result with 'recorded' and with nothing else.",
  },
  ...['record === undefined → false', "{ kind: 'unresolved' } → {}", '\'unresolved\' → ""'].map((change) => {
    const [original = '', replacement = ''] = change.split(' → ');
    return {
      file: RECORD_OPERATION,
      line: "return record === undefined ? { kind: 'unresolved' } : { kind: 'unchanged', record };",
      original,
      replacement,
      proof: 'A first reading is always a transition, so an operation without a record is never unchanged.',
    };
  }),
  {
    file: 'shared/core/records/account-record.ts',
    line: "reason: reason ?? before ?? 'upstream_failing',",
    original: "'upstream_failing'",
    replacement: '""',
    proof: 'A recovery follows a reason, since nothing is recorded where both are missing.',
  },
  {
    file: 'shared/core/records/account-status.ts',
    line: 'if (a.since !== b.since) return a.since < b.since ? -1 : 1;',
    original: 'a.since < b.since',
    replacement: 'a.since <= b.since',
    proof: 'The condition of the same line has found that the two differ.',
  },
  {
    file: 'shared/core/records/account-status.ts',
    line: 'return a.project_id < b.project_id ? -1 : 1;',
    original: 'a.project_id < b.project_id',
    replacement: 'a.project_id <= b.project_id',
    proof: 'A project stands in the list once.',
  },
  {
    file: 'shared/core/records/account-status.ts',
    line: 'const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];',
    original: 'sorted.length - 1',
    replacement: 'sorted.length + 1',
    proof:
      'The share is below one, so the place lies within the list anyway; an empty list has no element at any place.',
  },
  {
    file: 'functions/poller/planner/hints/hint-fields.ts',
    line: 'known.moved = [];',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'The moves are compared with `true`, and a string is not `true`.',
  },
  {
    file: 'functions/poller/planner/hints/hint-fields.ts',
    line: 'rows.set(row.id, { values, awaitsProof: false, moved: [] });',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'The moves are compared with `true`, and a string is not `true`.',
  },
  {
    file: 'functions/poller/planner/hints/hint-fields.ts',
    line: 'if (field === undefined) return false;',
    original: 'false',
    replacement: 'true',
    proof: 'Each place of the moves has a field, so the line is never reached.',
  },
  {
    file: 'functions/poller/planner/hints/hint-fields.ts',
    line: 'if (field === undefined) return false;',
    original: 'field === undefined',
    replacement: 'false',
    proof: 'Each place of the moves has a field.',
  },
  {
    file: 'shared/core/records/history.ts',
    line: 'const createdAt = projectCreatedAt === undefined ? undefined : normaliseTimestamp(projectCreatedAt);',
    original: 'projectCreatedAt === undefined',
    replacement: 'false',
    proof: 'A value that is not text is not a time either: the result is undefined, too.',
  },
  {
    file: 'shared/core/records/history.ts',
    line: 'const isYounger = createdAt !== undefined && createdAt >= bootAt;',
    original: 'createdAt !== undefined',
    replacement: 'true',
    proof: 'A comparison with undefined is false.',
  },
  {
    file: 'shared/core/records/history.ts',
    line: 'if (isYounger || seenAt < bootAt) return bootAt;',
    original: 'seenAt < bootAt',
    replacement: 'seenAt <= bootAt',
    proof: 'Where they are equal, both results are the same time.',
  },
  {
    file: 'shared/core/records/history.ts',
    line: 'return watermark !== undefined && isAtMostADayAbove(watermark, createdAt);',
    original: 'watermark !== undefined',
    replacement: 'true',
    proof: 'A comparison with undefined is false.',
  },
  {
    file: 'shared/core/journal/journal.ts',
    line: 'const { published, entries, foreign = [] } = journal;',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'A string has no revision, and a comparison with undefined is false.',
  },
  {
    file: 'shared/core/journal/journal.ts',
    line: 'return entries.filter(({ revision }) => revision > published && revision < before);',
    original: 'revision < before',
    replacement: 'revision <= before',
    proof: '`before` is the revision of an entry that cannot be read, and no other entry has the same.',
  },
  {
    file: 'functions/poller/walk-plan/page-walk.ts',
    line: 'return cursor === undefined ? followed : new Set([...followed, cursor]);',
    original: 'cursor === undefined',
    replacement: 'false',
    proof: 'The set is asked only for cursors that are there.',
  },
  {
    file: 'functions/poller/walk-plan/row-order.ts',
    line: 'const above = state.next?.cursor === undefined ? undefined : state.aboveNext;',
    original: 'state.next?.cursor',
    replacement: 'state.next.cursor',
    proof: 'A page is taken only while there is a next request.',
  },
  {
    file: 'functions/poller/walk-plan/row-order.ts',
    line: 'return before !== undefined && time > before;',
    original: 'before !== undefined',
    replacement: 'true',
    proof: 'A comparison with undefined is false.',
  },
  {
    file: 'functions/poller/walk-plan/walk-bound.ts',
    line: 'const phaseBound = isHeadOfResumed(state) ? state.goal.resume?.head : state.goal.bound;',
    original: 'state.goal.resume?.head',
    replacement: 'state.goal.resume.head',
    proof: 'It is asked for only where there is a resume point.',
  },
  {
    file: 'functions/poller/walk-plan/walk-bound.ts',
    line: 'if (phaseBound === undefined || last === undefined || state.isUnordered) return false;',
    original: 'phaseBound === undefined || last === undefined',
    replacement: 'false',
    proof: 'A comparison with undefined is false, which is the result that is returned.',
  },
  {
    file: 'functions/poller/walk-plan/walk-bound.ts',
    line: 'if (phaseBound === undefined || last === undefined || state.isUnordered) return false;',
    original: 'phaseBound === undefined || last === undefined',
    replacement: 'phaseBound === undefined && last === undefined',
    proof: 'A comparison with undefined is false, which is the result that is returned.',
  },
  {
    file: 'functions/poller/walk-plan/walk-bound.ts',
    line: 'if (phaseBound === undefined || last === undefined || state.isUnordered) return false;',
    original: 'phaseBound === undefined',
    replacement: 'false',
    proof: 'A comparison with undefined is false, which is the result that is returned.',
  },
  {
    file: 'functions/poller/walk-plan/walk-bound.ts',
    line: 'if (phaseBound === undefined || last === undefined || state.isUnordered) return false;',
    original: 'last === undefined',
    replacement: 'false',
    proof: 'A comparison with undefined is false, which is the result that is returned.',
  },
  {
    file: 'functions/poller/walk-plan/page-walk.ts',
    line: 'if (resume === undefined) return complete(state);',
    original: 'resume === undefined',
    replacement: 'false',
    proof: 'The tail of a walk begins only where there is a resume point.',
  },
  {
    file: 'functions/poller/walk-plan/page-walk.ts',
    line: 'const isNarrow = next !== undefined && next.cursor === undefined && next.limit < limits.widePageRows;',
    original: 'next !== undefined && next.cursor === undefined',
    replacement: 'true',
    proof: 'Only a request for the head of the list is narrow.',
  },
  {
    file: 'functions/poller/walk-plan/page-walk.ts',
    line: 'const isNarrow = next !== undefined && next.cursor === undefined && next.limit < limits.widePageRows;',
    original: 'next !== undefined && next.cursor === undefined',
    replacement: 'next !== undefined || next.cursor === undefined',
    proof: 'Only a request for the head of the list is narrow.',
  },
  {
    file: 'functions/poller/walk-plan/page-walk.ts',
    line: 'const isNarrow = next !== undefined && next.cursor === undefined && next.limit < limits.widePageRows;',
    original: 'next !== undefined',
    replacement: 'true',
    proof: 'A page is taken only while there is a next request.',
  },
  {
    file: 'functions/poller/walk-plan/page-walk.ts',
    line: 'const isNarrow = next !== undefined && next.cursor === undefined && next.limit < limits.widePageRows;',
    original: 'next.cursor === undefined',
    replacement: 'true',
    proof: 'Only a request for the head of the list is narrow.',
  },
  {
    file: 'shared/core/journal/relay-plan.ts',
    line: 'return first === undefined ? undefined : rest.reduce((oldest, time) => Math.min(oldest, time), first);',
    original: 'first === undefined',
    replacement: 'false',
    proof:
      'Without a first time there are no others, and the reduction of nothing gives its first value, which is undefined.',
  },
  {
    file: 'functions/poller/walk-plan/walk-progress.ts',
    line: 'return isMoved && goal.bound !== undefined ? { sweep: { bound: goal.bound, cursor: lastCursor } } : {};',
    original: 'goal.bound !== undefined',
    replacement: 'true',
    proof: 'A sweep begins with a bound.',
  },
  {
    file: 'shared/core/rates/no-work.ts',
    line: 'return status !== undefined && PASS.has(status);',
    original: 'status !== undefined',
    replacement: 'true',
    proof: 'The set holds numbers alone, so it does not have `undefined`.',
  },
  {
    file: 'shared/core/rates/retry-decision.ts',
    line: "const text = header?.trim() ?? '';",
    original: "''",
    replacement: '"Stryker was here!"',
    proof: 'Neither text is a number or a date.',
  },
  {
    file: 'shared/core/time/timestamp.ts',
    line: '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/;',
    original:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/',
    replacement:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))Z$/',
    proof: 'It matches fewer texts, and the other pattern matches the rest and gives the same result.',
  },
  {
    file: 'shared/core/time/timestamp.ts',
    line: '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/;',
    original:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/',
    replacement:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d))?Z$/',
    proof: 'It matches fewer texts, and the other pattern matches the rest and gives the same result.',
  },
  {
    file: 'shared/core/time/timestamp.ts',
    line: "if (plain !== null) return inFull(text.slice(0, 19), plain[1] ?? '');",
    original: 'plain !== null',
    replacement: 'false',
    proof: 'The other pattern matches every text that this one matches, and gives the same result.',
  },
  {
    file: 'shared/protocol/relay-ledger.ts',
    line: 'if (throughOf.size > ACKNOWLEDGED_MAX && oldest !== undefined) throughOf.delete(oldest);',
    original: 'oldest !== undefined',
    replacement: 'true',
    proof: 'A key was set in the statement before, so the map has an oldest one.',
  },
  {
    file: 'shared/protocol/relay-records.ts',
    line: "outcome: outcomes[index] ?? { kind: 'retry' as const, code: 'NoResult' },",
    original: "'NoResult'",
    replacement: '""',
    proof: 'Nothing reads the code of an entry that is sent again.',
  },
  {
    file: 'functions/poller/planner/queues/order-by-weight.ts',
    line: 'assign(turn, turn.stride * ((spreadCount++ * GOLDEN) % 1));',
    original: 'spreadCount++ * GOLDEN',
    replacement: 'spreadCount++ / GOLDEN',
    proof: 'One divided by 0.618... is 1.618..., so the fractional parts are the same.',
  },
  {
    file: 'functions/poller/planner/queues/order-by-urgency.ts',
    line: 'return a !== undefined && URGENCIES.indexOf(a) < URGENCIES.indexOf(b) ? a : b;',
    original: 'URGENCIES.indexOf(a) < URGENCIES.indexOf(b)',
    replacement: 'URGENCIES.indexOf(a) <= URGENCIES.indexOf(b)',
    proof: 'Where the two are equal, both results are the same urgency.',
  },
  {
    file: 'functions/poller/planner/queues/order-by-urgency.ts',
    line: 'kinds[strength]?.queue.set(turn, fromMs);',
    original: 'kinds[strength]?.queue',
    replacement: 'kinds[strength].queue',
    proof: 'There is a kind for each urgency.',
  },
  {
    file: 'functions/poller/planner/queues/order-by-urgency.ts',
    line: 'return kind.queue.first()?.item;',
    original: 'kind.queue.first()?.item',
    replacement: 'kind.queue.first().item',
    proof:
      'The first time of an empty queue is infinite, so the queue of the kind that was found has a first entry.',
  },
  {
    file: 'functions/poller/planner/queues/order-by-urgency.ts',
    line: 'takeBeyondShares: (nowMs) => kinds.find((kind) => firstAtMs(kind) <= nowMs)?.queue.first()?.item,',
    original: 'kinds.find((kind) => firstAtMs(kind) <= nowMs)?.queue.first()?.item',
    replacement: 'kinds.find(kind => firstAtMs(kind) <= nowMs)?.queue.first().item',
    proof:
      'The first time of an empty queue is infinite, so the queue of the kind that was found has a first entry.',
  },
  {
    file: 'functions/poller/planner/queues/priority-queue.ts',
    line: 'if (last === undefined || last === entry) return;',
    original: 'last === undefined',
    replacement: 'false',
    proof: 'The heap holds at least the entry that is taken out.',
  },
  {
    file: 'functions/poller/planner/queues/priority-queue.ts',
    line: 'return a.priority < b.priority || (a.priority === b.priority && a.order < b.order);',
    original: 'a.order < b.order',
    replacement: 'a.order <= b.order',
    proof: 'No two entries have the same order.',
  },
  {
    file: 'functions/poller/planner/queues/priority-queue.ts',
    line: 'while (entry.index > 0) {',
    original: 'entry.index > 0',
    replacement: 'entry.index >= 0',
    proof: 'The first entry has no parent, so the loop returns there.',
  },
  {
    file: 'functions/poller/planner/queues/priority-queue.ts',
    line: 'if (parent === undefined || !isBefore(entry, parent)) return;',
    original: 'parent === undefined',
    replacement: 'false',
    proof: 'Every entry but the first has a parent, and the loop does not run for the first.',
  },
  {
    file: 'functions/poller/planner/queues/priority-queue.ts',
    line: 'return left !== undefined && right !== undefined && isBefore(right, left) ? right : left;',
    original: 'left !== undefined',
    replacement: 'true',
    proof: 'The heap has no gaps, so an entry with a right child has a left one.',
  },
  {
    file: 'functions/poller/planner/activity/poll-intensity.ts',
    line: 'const rises = (activity?.activeSinceMs ?? []).map((sinceMs) => sinceMs + SUSPEND_AFTER_MS);',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'The filter leaves a string out, because it is not greater than a number.',
  },
  {
    file: 'functions/poller/planner/activity/project-activity.ts',
    line: "const compute = row.endpoint_id ?? row.branch_id ?? '';",
    original: "''",
    replacement: '"Stryker was here!"',
    proof:
      'The string stands for every compute without an id, and no id of the upstream equals either string.',
  },
  {
    file: 'functions/poller/planner/polled-projects.ts',
    line: 'let newcomers: Turn[] = [];',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'A string has no id, and no project has a turn without an id.',
  },
  {
    file: 'functions/poller/planner/polled-projects.ts',
    line: 'newcomers = [];',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'A string has no id, and no project has a turn without an id.',
  },
  {
    file: 'functions/poller/planner/project-expectations.ts',
    line: 'return first !== undefined && first.priority <= nowMs ? rises.shift()?.item : undefined;',
    original: 'rises.shift()?.item',
    replacement: 'rises.shift().item',
    proof: 'The queue has a first entry, as the condition has found.',
  },
  {
    file: 'functions/poller/planner/project-list/page-cursors.ts',
    line: 'if (isEmpty || cursor === undefined || leadsBack(page, cursor)) truncate(page + 1);',
    original: 'cursor === undefined',
    replacement: 'false',
    proof: 'The first page begins at no cursor, so no cursor leads back to it.',
  },
  {
    file: 'functions/poller/planner/project-list/page-reports.ts',
    line: 'if (limits.listing?.hintIntervalMsMin === undefined || turn.cold === 0) return;',
    original: 'limits.listing?.hintIntervalMsMin',
    replacement: 'limits.listing.hintIntervalMsMin',
    proof: 'Where the project list is never read, no page has a turn.',
  },
  {
    file: 'functions/poller/planner/poll-planner.ts',
    line: "for (const id of hints.takeListing(shown?.rows ?? [])) requests.ask(id, 'hint');",
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'A string has no field that could move.',
  },
  {
    file: 'functions/poller/planner/poll-planner.ts',
    line: 'return page === undefined ? pollIntervalMsMin : (listing?.hintIntervalMsMin ?? 0);',
    original: 'listing?.hintIntervalMsMin',
    replacement: 'listing.hintIntervalMsMin',
    proof: 'Where the project list is never read, no page has a turn.',
  },
  {
    file: 'functions/poller/planner/poll-planner.ts',
    line: 'if (turn.polledAtMs < sinceMs && turn.failureCount === 0) unreadCount += 1;',
    original: 'unreadCount += 1',
    replacement: 'unreadCount -= 1',
    proof: 'The count is compared with zero and with nothing else.',
  },
];
