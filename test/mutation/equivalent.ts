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
    line: "const result = await deps.store.record(next, state.recorded?.revision).catch(() => 'unknown' as const);",
    original: "() => 'unknown' as const",
    replacement: '() => undefined',
    proof: "The caller compares the result with 'recorded' and with nothing else.",
  },
  {
    file: RECORD_OPERATION,
    line: "const result = await deps.store.record(next, state.recorded?.revision).catch(() => 'unknown' as const);",
    original: "'unknown'",
    replacement: '""',
    proof: "The caller compares the result with 'recorded' and with nothing else.",
  },
  {
    file: RECORD_OPERATION,
    line: "return record === undefined ? { kind: 'unresolved' } : { kind: 'unchanged', record };",
    original: 'record === undefined',
    replacement: 'false',
    proof: 'A first reading is always a transition, so an operation without a record is never unchanged.',
  },
  {
    file: 'shared/protocol/record-command.ts',
    line: 'command: { client_id, request_id, ...(traceparent !== undefined && { traceparent }) },',
    original: 'traceparent !== undefined',
    replacement: 'true',
    proof: 'Neither an item of the table nor a text of JSON has an attribute that is undefined.',
  },
  {
    file: 'shared/protocol/record-derived.ts',
    line: 'around: readonly OperationRecord[] = [],',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'Only operations of the project of a subject are looked at, and a string has no project.',
  },
  {
    file: 'shared/protocol/relay-records.ts',
    line: 'around: readonly OperationRecord[] = [],',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'Only operations of the project of a subject are looked at, and a string has no project.',
  },
  {
    file: 'shared/protocol/record-derived.ts',
    line: 'const UNSURE: Outcome = { record: undefined, isSure: false };',
    original: '{ record: undefined, isSure: false }',
    replacement: '{}',
    proof: 'An absent record is undefined, and an absent isSure counts as false.',
  },
  {
    file: 'shared/protocol/record-derived.ts',
    line: "return nextBranch(deps, subject, operations, recorded?.kind === 'branch' ? recorded : undefined);",
    original: "recorded?.kind === 'branch'",
    replacement: 'true',
    proof: 'The record was found by the kind of the subject, which is a branch here.',
  },
  {
    file: 'shared/protocol/record-derived.ts',
    line: "const before = recorded?.kind === 'compute' ? recorded : undefined;",
    original: "recorded?.kind === 'compute'",
    replacement: 'true',
    proof: 'The record was found by the kind of the subject, which is a compute here.',
  },
  {
    file: 'shared/protocol/record-derived.ts',
    line: 'const branchIds = new Set(operations.flatMap(({ branch_id }) => branch_id ?? []));',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'No branch has this id.',
  },
  {
    file: 'shared/protocol/record-derived.ts',
    line: 'endpoint_id === id || (branch_id !== undefined && branchIds.has(branch_id)),',
    original: 'branch_id !== undefined',
    replacement: 'true',
    proof: 'The set of the ids of branches has no element that is undefined.',
  },
  {
    file: 'shared/protocol/record-derived.ts',
    line: 'if (subjects.length === 0) return [];',
    original: 'subjects.length === 0',
    replacement: 'false',
    proof: 'Without subjects the store reads no item, and nothing is derived.',
  },
  {
    file: 'shared/records/command-record.ts',
    line: 'is_settled: false,',
    original: 'false',
    replacement: 'true',
    proof: 'The next call settles the command, which sets the field to true.',
  },
  {
    file: 'shared/records/account-record.ts',
    line: "const cause = reason ?? before ?? 'upstream_failing';",
    original: "'upstream_failing'",
    replacement: '""',
    proof: 'A recovery follows a reason, since nothing is recorded where both are missing.',
  },
  {
    file: 'shared/records/account-status.ts',
    line: 'if (a.since !== b.since) return a.since < b.since ? -1 : 1;',
    original: 'a.since < b.since',
    replacement: 'a.since <= b.since',
    proof: 'The condition of the same line has found that the two differ.',
  },
  {
    file: 'shared/records/account-status.ts',
    line: 'return a.project_id < b.project_id ? -1 : 1;',
    original: 'a.project_id < b.project_id',
    replacement: 'a.project_id <= b.project_id',
    proof: 'A project stands in the list once.',
  },
  {
    file: 'shared/records/account-status.ts',
    line: 'const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];',
    original: 'sorted.length - 1',
    replacement: 'sorted.length + 1',
    proof:
      'The share is below one, so the place lies within the list anyway; an empty list has no element at any place.',
  },
  {
    file: 'shared/records/project-record.ts',
    line: 'const createdAt = projectCreatedAt === undefined ? undefined : normaliseTimestamp(projectCreatedAt);',
    original: 'projectCreatedAt === undefined',
    replacement: 'false',
    proof: 'A value that is not text is not a time either: the result is undefined, too.',
  },
  {
    file: 'shared/records/project-record.ts',
    line: 'const isYounger = createdAt !== undefined && createdAt >= bootAt;',
    original: 'createdAt !== undefined',
    replacement: 'true',
    proof: 'A comparison with undefined is false.',
  },
  {
    file: 'shared/records/project-record.ts',
    line: 'if (isYounger || seenAt < bootAt) return bootAt;',
    original: 'seenAt < bootAt',
    replacement: 'seenAt <= bootAt',
    proof: 'Where they are equal, both results are the same time.',
  },
  {
    file: 'shared/records/journal.ts',
    line: 'return first === undefined ? undefined : rest.reduce((oldest, time) => Math.min(oldest, time), first);',
    original: 'first === undefined',
    replacement: 'false',
    proof:
      'Without a first time there are no others, and the reduction of nothing gives its first value, which is undefined.',
  },
  {
    file: 'shared/rates/retry-decision.ts',
    line: 'return status !== undefined && PASS.has(status);',
    original: 'status !== undefined',
    replacement: 'true',
    proof: 'The set holds numbers alone, so it does not have `undefined`.',
  },
  {
    file: 'shared/rates/retry-decision.ts',
    line: "const text = header?.trim() ?? '';",
    original: "''",
    replacement: '"Stryker was here!"',
    proof: 'Neither text is a number or a date.',
  },
  {
    file: 'shared/records/time.ts',
    line: '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/;',
    original:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/',
    replacement:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))Z$/',
    proof: 'It matches fewer texts, and the other pattern matches the rest and gives the same result.',
  },
  {
    file: 'shared/records/time.ts',
    line: '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/;',
    original:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/',
    replacement:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d))?Z$/',
    proof: 'It matches fewer texts, and the other pattern matches the rest and gives the same result.',
  },
  {
    file: 'shared/records/time.ts',
    line: "if (plain !== null) return inFull(text.slice(0, 19), plain[1] ?? '');",
    original: 'plain !== null',
    replacement: 'false',
    proof: 'The other pattern matches every text that this one matches, and gives the same result.',
  },
  {
    file: 'shared/protocol/relay-records.ts',
    line: "outcome: outcomes[index] ?? { kind: 'retry' as const, code: 'NoResult' },",
    original: "'NoResult'",
    replacement: '""',
    proof: 'Nothing reads the code of an entry that is sent again.',
  },
  {
    file: 'shared/records/derivations.ts',
    line: 'operation_ids: [operation_id, ...(creation.started_with ?? [])],',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'The creation was chosen because it has `started_with`.',
  },
  {
    file: 'shared/records/compute-state.ts',
    line: 'if (next !== undefined) record = decideComputeState(record, next, around, nowMs);',
    original: 'next !== undefined',
    replacement: 'true',
    proof: 'The place is one of `waiting`, so an operation is taken out there.',
  },
  {
    file: 'shared/records/compute-state.ts',
    line: 'if (first === undefined || record === undefined) return 0;',
    original: 'first === undefined',
    replacement: 'false',
    proof: 'The place is asked for only while an operation waits.',
  },
  {
    file: 'shared/records/compute-state.ts',
    line: "{ state_operation, state_since = '', entries }: ComputeRecord,",
    original: "''",
    replacement: '"Stryker was here!"',
    proof: 'Neither text is a time.',
  },
  {
    file: 'shared/records/compute-state.ts',
    line: "const durationMs = Date.parse(updated_at) - Date.parse(recorded.state_since ?? '');",
    original: "''",
    replacement: '"Stryker was here!"',
    proof: 'Neither text is a time.',
  },
  {
    file: 'shared/records/compute-state.ts',
    line: 'if (recorded?.state_operation === undefined) return [];',
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'A string has no time of creation, so no operation is together with it.',
  },
  {
    file: 'shared/records/derivations.ts',
    line: 'return Date.parse(a.created_at) < Date.parse(b.created_at);',
    original: 'Date.parse(a.created_at) < Date.parse(b.created_at)',
    replacement: 'Date.parse(a.created_at) <= Date.parse(b.created_at)',
    proof: 'Operations with equal times are together, and only those that are not together are compared.',
  },
  {
    file: 'shared/records/derivations.ts',
    line: 'if (first === undefined || id === undefined) return [];',
    original: 'first === undefined',
    replacement: 'false',
    proof: 'Where there is no first member, there is no id either.',
  },
  {
    file: 'shared/protocol/record-derived.ts',
    line: 'const isStored = next === undefined || next === recorded;',
    original: 'next === undefined',
    replacement: 'false',
    proof: 'Nothing is known next only where nothing is recorded, so the two are equal.',
  },
  {
    file: 'functions/poller/account/status/project-readings.ts',
    line: "const { unread_projects = [], unread_since, last_complete_walk_at, written_at = '' } = status ?? {};",
    original: '[]',
    replacement: '["Stryker was here"]',
    proof: 'A string names no project and no time, and what has no time is not taken over.',
  },
  {
    file: 'functions/poller/account/status/project-readings.ts',
    line: "const { unread_projects = [], unread_since, last_complete_walk_at, written_at = '' } = status ?? {};",
    original: "''",
    replacement: '"Stryker was here!"',
    proof: 'Neither of the two texts is a time.',
  },
];
