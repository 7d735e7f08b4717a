/**
 * Mixes polls, repairs, crashes and damage in random order. In the end the chain must be whole, every event of it must
 * have been published, and nothing else may have been.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { repairProject } from '../../../functions/poller/repair/repair-project.ts';
import type { StateChangedEntry } from '../../../shared/core/journal/journal-entries.ts';
import { decideTransition } from '../../../shared/core/records/transition.ts';
import { normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { relayRecords } from '../../../shared/protocol/relay-records.ts';
import { createBridgeStore } from '../../../shared/store/adapters/bridge-store.ts';
import { operationKey } from '../../../shared/store/keys.ts';
import type { Attribute } from '../../../shared/store/table.ts';
import { anOperation, NOON_MS } from '../../builders.ts';
import { aProject, atMs, BOOT_AT, MINUTE_MS, PROJECT_ID } from '../project/project-under-test.ts';

const SINCE = normaliseTimestamp(atMs(NOON_MS - 3_600_000)) as Timestamp;
const ID = anOperation().id;
const KEY = operationKey('main', PROJECT_ID, ID);
const STATUSES = ['scheduling', 'running', 'failed', 'cancelling', 'finished'] as const;

type Step =
  | { readonly kind: 'advance'; readonly status: (typeof STATUSES)[number] }
  | { readonly kind: 'poll' | 'poll of a new process' | 'relay' }
  | { readonly kind: 'delete event'; readonly place: number }
  | { readonly kind: 'change row'; readonly status: (typeof STATUSES)[number] }
  /** The process ends before the write of this number, or after the last one. */
  | { readonly kind: 'repair'; readonly crashesAt: number }
  | { readonly kind: 'two repairs and a poll' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), status: fc.constantFrom(...STATUSES) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('poll', 'poll of a new process', 'relay') }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('delete event' as const), place: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('change row' as const), status: fc.constantFrom(...STATUSES) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('repair' as const), crashesAt: fc.integer({ min: 1, max: 7 }) }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'two repairs and a poll' as const }) },
);

async function aWorld() {
  const project = aProject();
  const { table, deps, script } = project;
  const signal = new AbortController().signal;
  let failures_count = 0;
  let updatedMs = NOON_MS - 100_000;
  /** A second damage before the first is repaired can destroy what the first repair needs. */
  let damage: 'none' | 'journal' | 'row' = 'none';
  const operation = () => script.rows[0] ?? anOperation();
  const advance = (status: string) => {
    const next = { status, failures_count: failures_count + (status === 'failed' ? 1 : 0) };
    // After a change that should not happen, the state before cannot always be derived, and stays lost.
    const isIrregular = script.rows.length > 0 && decideTransition(operation(), next)?.irregular;
    if (isIrregular) return;
    // A change that goes back is believed after the longest lag of a replica.
    project.pass(2 * MINUTE_MS);
    failures_count = next.failures_count;
    updatedMs += 1_000;
    const created_at = atMs(NOON_MS - 100_000);
    script.rows = [anOperation({ status, failures_count, created_at, updated_at: atMs(updatedMs) })];
  };
  const storeUntil = (crashesAt: number) => {
    let writes = 0;
    const update: typeof table.update = async (request) => {
      writes += 1;
      if (writes >= crashesAt) throw new Error('the process is gone');
      return table.update(request);
    };
    return createBridgeStore({ ...table, update }, 'main', deps.clock);
  };
  const repairUntil = async (store: typeof deps.store) => {
    for (let steps = 0; steps < 5; steps++) {
      const repair = await store.readRepair(PROJECT_ID);
      if (repair === undefined || repair.ended_at !== undefined) return;
      await repairProject({ ...deps, store, signal }, repair, BOOT_AT);
    }
  };
  const ask = () => deps.store.requestRepair({ projectId: PROJECT_ID, repairId: 'a-repair', since: SINCE });
  const relay = async () => {
    const records = await deps.store.readRecords((await deps.store.findWork()).map(({ key }) => key));
    await relayRecords(deps, records);
  };
  const repairWholly = async () => {
    await ask();
    await repairUntil(deps.store);
    damage = 'none';
  };
  advance('scheduling');
  await project.poll();

  return {
    project,
    operation,
    repairWholly,
    relay,
    take: async (taken: Step): Promise<void> => {
      // A poll that meets a changed row before its repair publishes from it, and no repair can take that back.
      const isPollSafe = damage !== 'row';
      if (taken.kind === 'advance') advance(taken.status);
      else if (taken.kind === 'relay') await relay();
      else if (taken.kind === 'poll' && isPollSafe) await project.poll();
      else if (taken.kind === 'poll of a new process' && isPollSafe) {
        project.restart();
        await project.poll();
      } else if (taken.kind === 'delete event' && damage === 'none') {
        const entries = (table.sync.peek(KEY)?.['entries'] ?? []) as readonly Attribute[];
        const place = taken.place % Math.max(1, entries.length);
        table.sync.update({ key: KEY, set: { entries: entries.filter((_, index) => index !== place) } });
        damage = 'journal';
      } else if (taken.kind === 'change row' && damage === 'none') {
        table.sync.update({ key: KEY, set: { status: taken.status } });
        damage = 'row';
      } else if (taken.kind === 'repair') {
        await ask();
        await repairUntil(storeUntil(taken.crashesAt)).catch(() => {});
      } else if (taken.kind === 'two repairs and a poll') {
        await ask();
        const poll = isPollSafe ? [project.poll()] : [];
        await Promise.all([repairUntil(deps.store), repairUntil(deps.store), ...poll]);
        damage = 'none';
      }
    },
  };
}

test('a repair brings the chain back, whatever crashes and whatever polls run beside it', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const { project, operation, take, repairWholly, relay } = await aWorld();
      for (const each of steps) await take(each);
      // A repair that was interrupted is asked for already, so it is ended first.
      await repairWholly();
      await repairWholly();
      await relay();
      project.restart();
      await project.poll();
      await relay();

      const record = await project.store.readOperation(PROJECT_ID, ID);
      const { status, failures_count } = operation();
      expect(record).toMatchObject({ status, failures_count });
      expect(record?.published).toBe(record?.revision);
      const chain = (record?.entries ?? []) as readonly StateChangedEntry[];
      expect(chain.map(({ sequence }) => sequence)).toEqual(chain.map((_, index) => index + 1));
      for (const [index, entry] of chain.entries())
        expect(entry.previous_status).toBe(chain[index - 1]?.status ?? null);
      const published = project.takeEvents().filter(({ operation_id }) => operation_id === ID);
      expect(new Set(published.map(({ id }) => id))).toEqual(new Set(chain.map(({ id }) => id)));
    }),
    { numRuns: 400 },
  );
});
