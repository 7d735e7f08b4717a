/** Builds values so that tests read aloud: `anOperation({ status: 'failed' })`. */

import type { CommandRecord } from '../shared/records/command-record.ts';
import { EMPTY_JOURNAL } from '../shared/records/journal.ts';
import {
  decideNextRecord,
  type Operation,
  type OperationRecord,
  type ReadingContext,
} from '../shared/records/operation-record.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import type { Telemetry } from '../shared/runtime/telemetry.ts';

export const NOON_MS = Date.UTC(2026, 0, 15, 12, 0, 0);

/** A clock that shows this time, and on which every sleep is over at once. */
export function aClock(now: () => number = () => NOON_MS): Clock {
  return { now, sleep: async () => {} };
}

/** Stands for a port of which a test uses only these parts. */
export function only<Port extends object>(parts: Partial<NoInfer<Port>>): Port {
  return parts as Port;
}

/** Takes log lines, and measures nothing unless a test says otherwise. */
export function aTelemetry(parts: Partial<Telemetry>): Telemetry {
  return { log: () => {}, measure: () => {}, ...parts };
}

export function anOperation(fields: Partial<Operation> = {}): Operation {
  return {
    id: '11111111-1111-4111-8111-111111111111',
    project_id: 'quiet-pond-12345678',
    branch_id: 'br-quiet-pond-a1234567',
    endpoint_id: 'ep-quiet-pond-a1234567',
    action: 'apply_config',
    status: 'running',
    failures_count: 0,
    created_at: '2026-01-15T11:59:50Z',
    updated_at: '2026-01-15T11:59:51Z',
    ...fields,
  };
}

/** A reading that was requested so much later is believed, also when it goes back. */
const LATER_MS = NOON_MS + 3_600_000;

export function aContext(fields: Partial<ReadingContext> = {}): ReadingContext {
  return { account_id: 'main', nowMs: NOON_MS, requestedMs: LATER_MS, observed_by: 'poll', ...fields };
}

/** Builds the record of an operation as it is in the table after these readings, one after the other. */
export function aRecord(...readings: readonly Partial<Operation>[]): OperationRecord {
  let record: OperationRecord | undefined;
  for (const reading of readings.length === 0 ? [{}] : readings) {
    record = decideNextRecord(record, anOperation(reading), aContext()) ?? record;
  }
  if (record === undefined) throw new Error('None of the readings changed anything');
  return record;
}

/** Builds the record of a command whose only operation has not ended. */
export function commandRecord(project_id: string, request_id: string): CommandRecord {
  return {
    kind: 'command',
    ...EMPTY_JOURNAL,
    account_id: 'main',
    project_id,
    request_id,
    client_id: 'an-app',
    call: 'startEndpoint',
    operation_ids: ['11111111-1111-4111-8111-111111111111'],
    sent_at: new Date(NOON_MS).toISOString(),
    deadline_at_ms: NOON_MS + 900_000,
    is_settled: false,
  };
}
