/**
 * The poller of the second edition is replaced in the middle of its work, rolled back, and replaced again. No state is
 * lost or told twice, whatever each version finds in the table.
 */

import { beforeAll, expect, test } from 'vitest';
import { createAccount } from '../../../functions/poller/create-account.ts';
import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { aBridge, type Bridge, DAY_MS, MINUTE_MS, type Poller } from './bridge.ts';
import { anOperationRow, idOf, timeOf } from './rows.ts';
import type { Row } from './service.ts';
import { pollerOfSecondEdition } from './versions.ts';

const [LONG_LIST, FAILING, NEW_BRANCHES] = [
  'quiet-pond-12345678',
  'loud-river-23456789',
  'still-lake-34567890',
];
const SEEDS = Array.from({ length: 8 }, (_, place) => place + 1);
/** A page of the list holds this many rows, so a backlog takes longer to read than an invocation has left. */
const PAGE_ROWS = 4;
const BACKLOG_ROWS = 100;
const POISON_ROW = 1;

let secondEdition: Poller;
beforeAll(async () => {
  secondEdition = await pollerOfSecondEdition();
});

test('a table of the second edition is taken over in mid-work, rolled back and taken over again', async () => {
  const found = new Set<string>();
  for (const seed of SEEDS) {
    const random = seededRandom(seed);
    const bridge = aBridge({ seed, poller: secondEdition });
    const operations = startOperations(bridge, random);
    await bridge.run(MINUTE_MS);
    operations.poison();
    for (const version of [createAccount, secondEdition, createAccount]) {
      const lastsMs = drawn(random, 20_000, 2 * MINUTE_MS);
      operations.draw(lastsMs);
      await bridge.run(lastsMs);
      // A day later each list is swept, too.
      await bridge.rest(random.next() < 0.5 ? DAY_MS : 0);
      operations.holdBack(true);
      bridge.killAt({ call: Math.ceil(drawn(random, 0, 300)), when: 'after' });
      await bridge.run(20_000);
      operations.holdBack(false);
      for (const kind of workIn(bridge)) found.add(kind);
      bridge.restart(version);
    }
    bridge.service.dials.pageRowsMax = Number.POSITIVE_INFINITY;
    await bridge.run(4 * MINUTE_MS);

    expect(bridge.brokenPromises({ exceptFor: [idOf(POISON_ROW)] }), `seed ${seed}`).toEqual([]);
    expect(workIn(bridge), `seed ${seed}`).toEqual(['parked']);
  }
  expect([...found].toSorted()).toEqual([
    'open',
    'parked',
    'resumed',
    'swept',
    'unpublished branch',
    'unpublished operation',
  ]);
}, 300_000);

test('what the second edition has forgotten by its age is told no second time', async () => {
  const bridge = aBridge({ poller: secondEdition });
  bridge.service.addProject(LONG_LIST);
  await bridge.run(10 * MINUTE_MS);
  const rows = Array.from({ length: 40 }, (_, place) =>
    anOperationRow(place + 1, bridge.nowMs(), { status: 'finished' }),
  );
  for (const row of rows) bridge.service.put(row);
  await bridge.run(2 * MINUTE_MS);
  const toldBefore = bridge.events('Operation State Changed');
  expect(toldBefore).toHaveLength(rows.length);

  await bridge.rest(60 * DAY_MS);
  bridge.restart(createAccount);
  await bridge.run(2 * MINUTE_MS);

  expect(bridge.table.sync.items().filter(({ kind }) => kind === 'operation')).toEqual([]);
  expect(bridge.events('Operation State Changed')).toEqual(toldBefore);
});

/** Begins operations of three projects, of which one has long lists, one fails often, and one gets new branches. */
function startOperations(bridge: Bridge, random: Random) {
  const { service, dials } = bridge;
  let number = POISON_ROW;
  for (const projectId of [LONG_LIST, FAILING, NEW_BRANCHES]) service.addProject(projectId);
  service.dials.pageRowsMax = PAGE_ROWS;
  let isHeldBack = false;
  dials.bus = (events) =>
    events.map(({ detail, detailType }) => {
      if (detail.includes(idOf(POISON_ROW))) return { kind: 'refused', code: 'MalformedDetail' };
      const isRefusedNow = isHeldBack && detailType.startsWith('Branch');
      return isRefusedNow ? { kind: 'retry', code: 'ThrottlingException' } : { kind: 'accepted' };
    });
  const begin = (project_id: string, afterMs: number, fields: Partial<Row> = {}) => {
    number += 1;
    const row = anOperationRow(number, bridge.nowMs() + afterMs, { project_id, ...fields });
    bridge.at(afterMs, () => service.put(row));
    return (laterMs: number, status: string, failures_count = row.failures_count) =>
      bridge.at(afterMs + laterMs, () =>
        service.put({ ...row, status, failures_count, updated_at: timeOf(bridge.nowMs()) }),
      );
  };
  return {
    /** The bus refuses all events of branches for now. */
    holdBack(isHeld: boolean): void {
      isHeldBack = isHeld;
    },
    /** The bus refuses what is told of this operation for good. */
    poison: () =>
      service.put(anOperationRow(POISON_ROW, bridge.nowMs(), { project_id: FAILING, status: 'finished' })),
    /** Draws what begins within this time. The backlog is there shortly before the time is over. */
    draw(lastsMs: number): void {
      for (let place = 0; place < 15; place++) {
        const change = begin(FAILING, drawn(random, 0, lastsMs));
        const fails = random.next() < 0.3;
        if (fails) change(drawn(random, 1_000, 9_000), 'failed', 1);
        change(drawn(random, 10_000, 90_000), random.next() < 0.1 ? 'cancelled' : 'finished', Number(fails));
      }
      const backlogMs = Math.max(0, lastsMs - drawn(random, 3_000, 9_000));
      for (let place = 0; place < BACKLOG_ROWS; place++)
        begin(LONG_LIST, backlogMs + place * 10, { status: 'finished' });
      for (let place = 0; place < 3; place++) {
        const afterMs = drawn(random, 0, lastsMs);
        const branch = { branch_id: `br-new-${number}`, endpoint_id: `ep-new-${number}` };
        begin(NEW_BRANCHES, afterMs, { ...branch, action: 'create_branch' })(5_000, 'finished');
        begin(NEW_BRANCHES, afterMs, { ...branch, action: 'start_compute' })(lastsMs - afterMs, 'finished');
      }
    },
  };
}

function drawn(random: Random, leastMs: number, mostMs: number): number {
  return leastMs + random.next() * (mostMs - leastMs);
}

/** Names the kinds of unfinished work that the table holds now, by the attributes of the second edition. */
function workIn({ table }: Bridge): readonly string[] {
  const kinds = table.sync.items().flatMap((item) => {
    const { kind, work, revision, published, resume, sweep } = item;
    if (resume !== undefined || sweep !== undefined)
      return [...(resume === undefined ? [] : ['resumed']), ...(sweep === undefined ? [] : ['swept'])];
    if (kind === 'parked') return ['parked'];
    if (Number(published) < Number(revision))
      return [kind === 'operation' ? 'unpublished operation' : 'unpublished branch'];
    return work === undefined ? [] : ['open'];
  });
  return [...new Set(kinds)].toSorted();
}
