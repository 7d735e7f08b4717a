/** Repairs one operation over a store and an upstream whose answers the test gives. */

import { describe, expect, test } from 'vitest';
import {
  type RepairOperationDeps,
  repairOperation,
} from '../../../functions/poller/repair/repair-operation.ts';
import type { Operation } from '../../../shared/core/records/operation.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { RecordOutcome } from '../../../shared/protocol/record-operation.ts';
import type { RecordResult } from '../../../shared/store/adapters/record-result.ts';
import { UnreadableItemError } from '../../../shared/store/unreadable.ts';
import { UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { anOperation, aRecord, NOON_MS } from '../../builders.ts';

const ENDED = anOperation({ status: 'finished', updated_at: '2026-01-15T11:59:55Z' });
const SOUND = { ...aRecord({}, ENDED), published: 2 };
/** The state of this record is not that of its last event. */
const DAMAGED: OperationRecord = { ...SOUND, status: 'running', failures_count: 7 };

const withoutEvents = (...sequences: readonly number[]): OperationRecord => ({
  ...SOUND,
  entries: SOUND.entries.filter(({ revision }) => !sequences.includes(revision)),
});

const unreadable = () =>
  Promise.reject(new UnreadableItemError({ key: { pk: 'P', sk: 'OP#1' }, fields: ['status'] }));

interface Answers {
  readonly recorded?: () => Promise<OperationRecord | undefined>;
  readonly broken?: () => Promise<OperationRecord | undefined>;
  readonly write?: (attempt: number) => Promise<RecordResult>;
  readonly reading?: () => Promise<Operation>;
  readonly outcome?: RecordOutcome;
  readonly isHistory?: boolean;
  readonly signal?: AbortSignal;
}

/** Repairs the operation, and returns what came of it and what was called. */
async function repairOnce(answers: Answers) {
  const calls: unknown[][] = [];
  const written: OperationRecord[] = [];
  const deps: RepairOperationDeps = {
    store: {
      readOperation: (projectId, operationId) => {
        calls.push(['read', projectId, operationId]);
        return answers.recorded?.() ?? Promise.resolve(SOUND);
      },
      readBrokenOperation: (projectId, operationId) => {
        calls.push(['read broken', projectId, operationId]);
        return answers.broken?.() ?? Promise.resolve(undefined);
      },
      record: (next, expectedRevision) => {
        calls.push(['write', expectedRevision]);
        written.push(next);
        return answers.write?.(written.length) ?? Promise.resolve('recorded');
      },
    },
    upstream: {
      getOperation: (query, options) => {
        calls.push(['get', query, options]);
        return answers.reading?.() ?? Promise.resolve(ENDED);
      },
    },
    clock: { now: () => NOON_MS, sleep: async () => {} },
    ledger: { forget: (record) => void calls.push(['forget', record]) },
    isHistory: () => answers.isHistory === true,
    signal: answers.signal,
  };
  const recorder = {
    note: (record: OperationRecord) => void calls.push(['note', record]),
    recordReading: async (...args: unknown[]) => {
      calls.push(['record reading', ...args]);
      return answers.outcome ?? { kind: 'unchanged' as const, record: SOUND };
    },
  };
  const outcome = await repairOperation(deps, recorder, ENDED);
  return { outcome, calls, written, namesOf: (name: string) => calls.filter(([each]) => each === name) };
}

describe('the repair of an operation', () => {
  test('reads the table first and the upstream second, and changes nothing that agrees', async () => {
    const { signal } = new AbortController();
    const { outcome, calls } = await repairOnce({ signal });

    expect(outcome).toEqual({ kind: 'sound' });
    expect(calls).toEqual([
      ['read', ENDED.project_id, ENDED.id],
      ['get', { projectId: ENDED.project_id, operationId: ENDED.id }, { signal }],
      ['record reading', SOUND, ENDED, { observedBy: 'sweep', requestedMs: NOON_MS }],
    ]);
  });

  test('notes the restored record, and lets everything that publishes in this process know of it', async () => {
    const { outcome, calls, written } = await repairOnce({ recorded: async () => DAMAGED });

    expect(outcome).toEqual({ kind: 'repaired' });
    expect(written).toEqual([SOUND]);
    expect(calls.slice(2)).toEqual([
      ['write', DAMAGED.revision],
      ['forget', SOUND],
      ['note', SOUND],
      ['record reading', SOUND, ENDED, { observedBy: 'sweep', requestedMs: NOON_MS }],
    ]);
  });

  test('is tried four times against other writers, and is then left to the next step', async () => {
    const { outcome, namesOf } = await repairOnce({
      recorded: async () => DAMAGED,
      write: async () => 'conflict',
    });

    expect(outcome).toEqual({ kind: 'unresolved' });
    expect([namesOf('read').length, namesOf('get').length]).toEqual([4, 4]);
    expect([namesOf('note'), namesOf('forget')]).toEqual([[], []]);
  });

  test('reads again when the reply to its write is lost', async () => {
    const { outcome, namesOf } = await repairOnce({
      recorded: async () => DAMAGED,
      write: async (attempt) => {
        if (attempt === 1) throw new RangeError('the reply is lost');
        return 'recorded';
      },
    });

    expect(outcome).toEqual({ kind: 'repaired' });
    expect([namesOf('read').length, namesOf('note').length]).toEqual([2, 1]);
  });

  test.each<[RecordOutcome, string]>([
    [{ kind: 'unchanged', record: SOUND }, 'sound'],
    [{ kind: 'recorded', record: SOUND }, 'repaired'],
    [{ kind: 'deferred', record: SOUND }, 'sound'],
    [{ kind: 'unresolved' }, 'unresolved'],
    [{ kind: 'unreadable' }, 'lost'],
  ])('ends as what the upstream shows could be recorded: %o is %s', async (outcome, kind) => {
    expect(await repairOnce({ outcome })).toMatchObject({ outcome: { kind } });
  });

  test('names what a person can do when the item became unreadable meanwhile', async () => {
    const { outcome } = await repairOnce({ outcome: { kind: 'unreadable' } });

    expect(outcome).toMatchObject({ reason: expect.stringContaining('cannot read the item') });
  });

  test('records an operation that is gone from the table as the upstream shows it', async () => {
    const { outcome, calls, written } = await repairOnce({
      recorded: async () => undefined,
      outcome: { kind: 'recorded', record: SOUND },
    });

    expect(outcome).toEqual({ kind: 'repaired' });
    expect(written).toEqual([]);
    expect(calls.at(-1)).toEqual([
      'record reading',
      undefined,
      ENDED,
      { observedBy: 'sweep', requestedMs: NOON_MS },
    ]);
  });

  test.each([
    [1, true, 'Event 1 is lost, and nothing that is left says what it was. Restore the item from a backup.'],
    [
      2,
      true,
      'Events 1, 2 are lost, and nothing that is left says what they were. Restore the item from a backup.',
    ],
  ])(
    'says which of %i events are lost, and records nothing on top of them',
    async (count, isHistory, reason) => {
      const gone = Array.from({ length: count }, (_, place) => place + 1);
      const { outcome, namesOf } = await repairOnce({
        recorded: async () => withoutEvents(...gone),
        isHistory,
      });

      expect(outcome).toEqual({ kind: 'lost', reason });
      expect(namesOf('record reading')).toEqual([]);
    },
  );
});

describe('an operation', () => {
  test('whose item no version of this bridge can read is left as it is, and the upstream is not asked', async () => {
    const { outcome, calls } = await repairOnce({ recorded: unreadable });

    expect(outcome).toMatchObject({ kind: 'lost', reason: expect.stringContaining('from a backup') });
    expect(calls.map(([name]) => name)).toEqual(['read', 'read broken']);
  });

  test('whose journal alone cannot be read is restored from what is left of it', async () => {
    const { outcome, written } = await repairOnce({
      recorded: unreadable,
      broken: async () => withoutEvents(2),
    });

    expect(outcome).toEqual({ kind: 'repaired' });
    expect(written[0]?.entries).toHaveLength(2);
  });

  test('waits when the upstream gives no answer', async () => {
    const failure = { kind: 'unavailable', method: 'GET', path: '/', message: 'busy' } as const;
    const { outcome } = await repairOnce({ reading: () => Promise.reject(new UpstreamError(failure)) });

    expect(outcome).toEqual({ kind: 'unresolved' });
  });

  test('ends the step when its item is not answered, or when something else is wrong', async () => {
    const busy = () => Promise.reject(new RangeError('the table is busy'));

    await expect(repairOnce({ recorded: busy })).rejects.toThrow('the table is busy');
    await expect(repairOnce({ reading: busy })).rejects.toThrow('the table is busy');
  });
});
