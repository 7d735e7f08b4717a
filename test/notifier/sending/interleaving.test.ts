/**
 * Runs several notifiers on one table at once. Every call waits for its turn, and a seed decides whose turn it is,
 * which process dies, when a channel is down, and what the queue repeats or reorders. In the end every notice is
 * reported on every channel, and a death explains each message that was repeated.
 */

import { describe, expect, test } from 'vitest';
import type { NotifierDeps } from '../../../functions/notifier/alert-store.ts';
import { createAlertStore } from '../../../functions/notifier/alert-store.ts';
import { notify } from '../../../functions/notifier/notify.ts';
import { sweep } from '../../../functions/notifier/sweep.ts';
import type { Table } from '../../../shared/store/table.ts';
import { aNotifier, anEvent, idsOf } from '../channel-under-test.ts';

const SEEDS = 60;
const ROUNDS = 6;
const PROCESSES = 3;

describe('notifiers at the same time', () => {
  test('report everything on every channel, and nothing twice, while none dies', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { notifier, sentIds, deathCount } = await run(seed, 0);

      expect(deathCount).toBe(0);
      for (const channel of [notifier.slack, notifier.email]) {
        expect(idsOf(channel).toSorted(), `seed ${seed}`).toEqual(sentIds);
      }
    }
  });

  test('repeat at most one message per death', async () => {
    let deaths = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { notifier, sentIds, deathCount } = await run(seed, 0.01);

      deaths += deathCount;
      for (const { messages, ...channel } of [notifier.slack, notifier.email]) {
        const ids = idsOf({ messages, ...channel });
        const reported = new Set<string>();
        const repeated = messages.filter(({ message }) => {
          const before = reported.size;
          const own = message.flat().map(({ id }) => id);
          for (const id of own) reported.add(id);
          return reported.size - before < own.length;
        });
        expect([...new Set(ids)].toSorted(), `seed ${seed}`).toEqual(sentIds);
        expect(repeated.length, `seed ${seed}`).toBeLessThanOrEqual(deathCount);
      }
    }
    expect(deaths).toBeGreaterThan(SEEDS / 4);
  });
});

async function run(seed: number, deathShare: number) {
  const random = randomOf(seed);
  const notifier = aNotifier();
  const turns = createTurns(random, deathShare);
  const sent: object[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const states = ['up', 'up', 'down'] as const;
    notifier.slack.state = states[Math.floor(random() * 3)] ?? 'up';
    notifier.email.state = states[Math.floor(random() * 3)] ?? 'up';
    const fresh = Array.from({ length: 4 }, () =>
      anEvent({ project_id: `project-${Math.floor(random() * 2)}` }),
    );
    sent.push(...fresh);
    const processes = Array.from({ length: PROCESSES }, (_, index) => {
      const deps = turns.around(notifier);
      // With deaths each process gets all records in its own order, because the queue repeats and reorders.
      const own = deathShare > 0 ? fresh : fresh.filter((_event, part) => part % 2 === index % 2);
      const records = shuffled(own, random).map((event, part) => ({
        messageId: `${index}-${part}`,
        body: JSON.stringify(event),
      }));
      return Promise.race([index === 0 ? sweep(deps.deps) : notify(deps.deps, records), deps.died]);
    });
    await turns.until(Promise.all(processes));
    notifier.wait(60_000);
  }
  notifier.slack.state = 'up';
  notifier.email.state = 'up';
  // The queue offers again what a dead process held. Without deaths, nothing may depend on that.
  if (deathShare > 0) await notifier.deliver(...sent);
  await notifier.pass(15);
  const sentIds = sent.map((event) => (event as { detail: { id: string } }).detail.id).toSorted();
  return { notifier, sentIds, deathCount: turns.deathCount() };
}

function createTurns(random: () => number, deathShare: number) {
  const waiting: (() => void)[] = [];
  let deaths = 0;

  return {
    deathCount: () => deaths,
    around({ deps: original, table, indexes }: ReturnType<typeof aNotifier>) {
      const { promise: died, resolve: die } = Promise.withResolvers<void>();
      let isDead = false;
      const step = async <Result>(perform: () => Promise<Result>): Promise<Result> => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        const result = isDead ? undefined : await perform();
        // The call has had its effect, but this process never gets the answer.
        if (!isDead && random() < deathShare) {
          isDead = true;
          deaths += 1;
          die();
        }
        if (isDead) return new Promise<never>(() => {});
        await new Promise<void>((resolve) => waiting.push(resolve));
        return result as Result;
      };
      const store = createAlertStore(
        {
          get: (key) => step(() => table.get(key)),
          getMany: (keys) => step(() => table.getMany(keys)),
          update: (update) => step(() => table.update(update)),
          queryWork: (query) => step(() => table.queryWork(query)),
          queryWorkPage: (query) => step(() => table.queryWorkPage(query)),
        } satisfies Table,
        { query: (query) => step(() => indexes.query(query)) },
        original,
      );
      const channels = original.channels.map((channel) => ({
        ...channel,
        send: (message: Parameters<typeof channel.send>[0]) => step(() => channel.send(message)),
      }));
      return { deps: { ...original, store, channels } satisfies NotifierDeps, died };
    },
    async until(done: Promise<unknown>): Promise<void> {
      const progress = { isDone: false };
      void done.finally(() => {
        progress.isDone = true;
      });
      while (!progress.isDone) {
        await new Promise((resolve) => setImmediate(resolve));
        waiting.splice(Math.floor(random() * waiting.length), 1)[0]?.();
      }
    },
  };
}

/** Makes Mulberry32, a small generator that gives the same numbers on every machine. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<Value>(values: readonly Value[], random: () => number): readonly Value[] {
  return values
    .map((value) => ({ value, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ value }) => value);
}
