/** Sets up the production store with a bus that accepts everything, and records and relays operations as pollers do. */

import { relayRecords } from '../../shared/protocol/relay-records.ts';
import { startedWith } from '../../shared/records/derivations.ts';
import { decideNextRecord, type Operation } from '../../shared/records/operation-record.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import type { BridgeStore } from '../../shared/store/bridge-store.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { aStore } from './store-under-test.ts';

const { project_id: PROJECT_ID } = anOperation();

interface Published {
  readonly detailType: string;
  readonly detail: { readonly id: string } & Readonly<Record<string, unknown>>;
}

/** Every call has a table of its own. */
export function aRelay() {
  let nowMs = NOON_MS;
  const { store, table, clock } = aStore(() => nowMs);
  const published: Published[] = [];
  const bus = {
    publish: async (events: readonly { readonly detailType: string; readonly detail: string }[]) => {
      for (const { detailType, detail } of events) published.push({ detailType, detail: JSON.parse(detail) });
      return events.map(() => ({ kind: 'accepted' as const }));
    },
  };
  /** Records the next reading of each operation, as a poll does before it publishes. */
  const record = async (readings: readonly Partial<Operation>[], fields = {}) => {
    for (const fresh of readings) {
      const reading = anOperation(fresh);
      const before = await store.readOperation(PROJECT_ID, reading.id);
      const started_with = startedWith(reading, readings.map(anOperation));
      const next = decideNextRecord(before, reading, aContext({ nowMs, ...fields, started_with }));
      if (next !== undefined) await store.record(next, before?.revision);
    }
  };
  /** Relays whatever the work index shows, as the relay of leftovers does. */
  const relay = async (through: BridgeStore = store, signal?: AbortSignal) => {
    const work = await store.findWork();
    const records = await store.readRecords(work.map(({ key }) => key));
    const operations = records.filter(({ kind }) => kind === 'operation');
    return relayRecords(
      { store: through, bus, clock, telemetry: silentTelemetry },
      records,
      signal,
      operations as never,
    );
  };
  /** Lets time pass, after which the table has forgotten what has expired. */
  const pass = (durationMs: number) => {
    nowMs += durationMs;
    table.sync.expire(nowMs);
  };
  const typesOf = () => published.map(({ detailType }) => detailType);
  const countOf = (type: string) =>
    new Set(published.filter(({ detailType }) => detailType === type).map(({ detail }) => detail.id)).size;
  return { store, table, clock, published, record, relay, pass, typesOf, countOf };
}
