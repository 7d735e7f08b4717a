/** A record is in the work index while something of it is left to read or to publish. */

import { describe, expect, test } from 'vitest';
import { decideComputeStates } from '../../shared/records/compute-state.ts';
import { decideReadiness, joinCreation } from '../../shared/records/derivations.ts';
import { hasWork } from '../../shared/records/journal-record.ts';
import { aRecord, NOON_MS } from '../builders.ts';

describe('a record that derives from operations', () => {
  test('is not in the work index although its event waits: the operations that it rests on are there', () => {
    const creation = { ...aRecord({ action: 'create_branch', status: 'finished' }), started_with: [] };
    const start = aRecord({ action: 'start_compute', status: 'finished' });
    const joined = joinCreation(undefined, [creation]);
    const branch = joined && decideReadiness(joined, new Map([[creation.operation_id, creation]]), NOON_MS);
    const compute = decideComputeStates(undefined, [start], [start], NOON_MS);

    for (const record of [branch, compute]) {
      expect(record).toMatchObject({ revision: 1, published: 0 });
      expect(record && hasWork(record)).toBe(false);
    }
    expect([creation, start].map(hasWork)).toEqual([true, true]);
  });

  test('is there for a change by a configuration, because another process may have acknowledged that without one', () => {
    const suspended = aRecord({ id: 'a', action: 'suspend_compute', status: 'finished' });
    const configured = aRecord({
      id: 'b',
      action: 'apply_config',
      status: 'finished',
      created_at: '2026-01-15T12:05:00Z',
    });
    const idle = decideComputeStates(undefined, [suspended], [suspended], NOON_MS);
    const active = decideComputeStates(idle, [configured], [configured], NOON_MS);

    expect(active).toMatchObject({ state: 'active', revision: 2, published: 0 });
    expect(active && hasWork(active)).toBe(true);
    expect(active && hasWork({ ...active, published: 2 })).toBe(false);
  });
});
