/** A process that derived from what it had read earlier may crash: what it recorded is published all the same. */

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordDerived } from '../../shared/protocol/record-derived.ts';
import type { OperationRecord } from '../../shared/records/operation-record.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { anOperation } from '../builders.ts';
import { aRelay } from './relay-under-test.ts';

const { project_id: PROJECT_ID } = anOperation();
const noon = Date.parse('2026-01-15T12:00:00Z');
const at = (second: number) => `${new Date(noon + second * 1_000).toISOString().slice(0, 19)}Z`;

/** Sets up two processes: `relay` belongs to one, and the other one can hold what it read, derive from it and crash. */
function twoProcesses() {
  const one = aRelay();
  const { store, table, clock } = one;
  const read = async (id: string): Promise<readonly OperationRecord[]> => {
    const record = await store.readOperation(PROJECT_ID, id);
    return record === undefined ? [] : [record];
  };
  const deriveAndCrash = (held: readonly OperationRecord[]) =>
    recordDerived({ store, clock, telemetry: silentTelemetry }, held);
  /** Returns the items of branches and computes with events that the bus has not taken. */
  const unpublished = () =>
    table.sync
      .items()
      .filter(({ kind }) => kind === 'branch' || kind === 'compute')
      .filter(({ published, revision }) => Number(published) < Number(revision))
      .map(({ sk }) => sk);
  return { ...one, read, deriveAndCrash, unpublished };
}

const operation = (id: string, action: string, [created, updated]: readonly [number, number]) => ({
  id,
  action,
  created_at: at(created),
  updated_at: at(updated),
  status: 'finished',
});

describe('nothing that a crashed process derived stays unpublished', () => {
  test('when an operation of a creation has left the end that the process knew', async () => {
    const { record, read, relay, deriveAndCrash, unpublished, countOf } = twoProcesses();
    const create = { ...operation('create', 'create_branch', [0, 2]), endpoint_id: undefined };
    await record([create]);
    const held = await read('create');
    await record([{ ...create, status: 'running' }]);
    await relay();
    await deriveAndCrash(held);
    await relay();

    expect(unpublished()).toEqual([]);
    expect(countOf('Branch Ready')).toBe(1);
  });

  test('when the start of a compute has left the end that the process knew', async () => {
    const { record, read, relay, deriveAndCrash, unpublished, countOf } = twoProcesses();
    const start = operation('start', 'start_compute', [0, 2]);
    await record([start]);
    const held = await read('start');
    await record([{ ...start, status: 'running' }]);
    await record([{ ...start, status: 'cancelled' }]);
    await relay();
    await deriveAndCrash(held);
    await relay();

    expect(unpublished()).toEqual([]);
    expect(countOf('Compute State Changed')).toBe(1);
  });

  test('when operations of one compute overlap', async () => {
    const { record, read, relay, deriveAndCrash, unpublished } = twoProcesses();
    await record([operation('suspend', 'suspend_compute', [2, 10])]);
    await relay();
    await record([operation('start', 'start_compute', [1, 5])]);
    const held = await read('start');
    await relay();
    await record([operation('again', 'suspend_compute', [3, 4])]);
    await relay();
    await deriveAndCrash(held);
    await relay();

    expect(unpublished()).toEqual([]);
  });

  test('when a configuration changed nothing before an older suspend was recorded', async () => {
    const { record, read, relay, deriveAndCrash, unpublished, countOf } = twoProcesses();
    await record([operation('start', 'start_compute', [0, 2])]);
    await relay();
    await record([operation('configure', 'apply_config', [60, 62])]);
    const held = await read('configure');
    await relay();
    await record([operation('suspend', 'suspend_compute', [50, 55])]);
    await relay();
    await deriveAndCrash(held);
    await relay();

    expect(unpublished()).toEqual([]);
    expect(countOf('Compute State Changed')).toBe(3);
  });

  // The creation is known from the beginning. An end that was acknowledged before it waits for the end of the creation.
  test('whatever the operations do, whenever processes read them, and in whichever order they derive', async () => {
    const operations = [
      { ...operation('create', 'create_branch', [0, 2]), endpoint_id: undefined },
      operation('start', 'start_compute', [0, 3]),
      operation('stop', 'suspend_compute', [2, 9]),
      operation('configure', 'apply_config', [4, 5]),
    ];
    const step = fc.record({
      kind: fc.constantFrom('record', 'record', 'relay', 'read', 'derive'),
      reading: fc.constantFrom(...operations),
      status: fc.constantFrom('running', 'finished', 'finished', 'error', 'cancelled', 'skipped'),
      second: fc.integer({ min: 2, max: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 16, maxLength: 32 }), async (steps) => {
        const { record, read, relay, deriveAndCrash, unpublished } = twoProcesses();
        await record(operations.slice(0, 2).map((reading) => ({ ...reading, status: 'running' })));
        await relay();
        const held: OperationRecord[] = [];
        for (const { kind, reading, status, second } of steps) {
          if (kind === 'record') await record([{ ...reading, status, updated_at: at(second) }]);
          if (kind === 'relay') await relay();
          if (kind === 'read') held.push(...(await read(reading.id)));
          if (kind === 'derive') await deriveAndCrash(held.splice(0));
        }
        await relay();
        await deriveAndCrash(held);
        await relay();

        expect(unpublished()).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });
});
