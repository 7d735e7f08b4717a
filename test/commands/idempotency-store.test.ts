import { describe, expect, test } from 'vitest';
import {
  createIdempotencyStore,
  type FirstOutcome,
  IDEMPOTENCY_ATTRIBUTES,
  KEPT_MS,
} from '../../shared/commands/idempotency-store.ts';
import { idempotencyKey } from '../../shared/store/keys.ts';
import type { UnreadableItem } from '../../shared/store/unreadable.ts';
import { NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const RUNNING_MS = 30_000;
const attempt = (holder: string, fingerprint = 'the-request') => ({
  keyHash: 'the-key',
  fingerprint,
  holder,
});
const OUTCOME: FirstOutcome = {
  status: 201,
  content_type: 'application/json',
  body: 'sealed',
  request_id: 'first',
};

function setUp() {
  let nowMs = NOON_MS;
  const table = createMemoryTable();
  const unreadable: UnreadableItem[] = [];
  const clock = { now: () => nowMs, sleep: async () => {} };
  const store = createIdempotencyStore(table, clock, (item) => void unreadable.push(item));
  const key = idempotencyKey('the-key');
  return {
    store,
    table,
    clock,
    unreadable,
    claim: (holder: string, fingerprint?: string) => store.claim(attempt(holder, fingerprint), RUNNING_MS),
    stored: () => table.sync.peek(key),
    damage: (set: Readonly<Record<string, string | number>>) => void table.sync.update({ key, set }),
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
  };
}

describe('an Idempotency-Key', () => {
  test('belongs to the first attempt, for as long as that may run', async () => {
    const { claim, stored } = setUp();

    expect(await claim('first')).toEqual({ kind: 'claimed' });
    expect(stored()).toMatchObject({
      kind: 'idempotency',
      fingerprint: 'the-request',
      holder: 'first',
      state: 'running',
      running_until_ms: NOON_MS + RUNNING_MS,
      kept_until_ms: NOON_MS + KEPT_MS,
    });
  });

  test('is deleted an hour after it is free by the clock, not before', async () => {
    const { claim, stored, table } = setUp();
    await claim('first');

    expect(stored()?.['expires_at']).toBe((NOON_MS + KEPT_MS) / 1_000 + 3_600);
    table.sync.expire(NOON_MS + KEPT_MS);
    expect(stored()).toBeDefined();
  });

  test('is running for every other attempt, until the attempt must be dead: then it is unknown how far it came', async () => {
    const { claim, pass } = setUp();
    await claim('first');
    pass(RUNNING_MS - 1);
    expect(await claim('second')).toEqual({ kind: 'running' });
    pass(1);

    expect(await claim('second')).toEqual({ kind: 'unknown' });
    pass(KEPT_MS - RUNNING_MS);
    expect(await claim('second')).toEqual({ kind: 'unknown' });
  });

  test('is claimed once, also by an attempt whose reply was lost and that asks again', async () => {
    const { claim } = setUp();
    await claim('first');

    expect(await claim('first')).toEqual({ kind: 'claimed' });
  });

  test('is not claimed by an attempt that asks again after it has ended', async () => {
    const { store, claim } = setUp();
    await claim('first');
    await store.complete(attempt('first'), OUTCOME);

    expect(await claim('first')).toEqual({ kind: 'done', outcome: OUTCOME });
  });

  test('is refused to another request while it is kept, whatever became of the first', async () => {
    const { store, claim } = setUp();
    await claim('first');
    expect(await claim('second', 'another-request')).toEqual({ kind: 'key_reused' });
    await store.complete(attempt('first'), OUTCOME);

    expect(await claim('second', 'another-request')).toEqual({ kind: 'key_reused' });
  });

  test('can be used anew a day after its first use, with nothing left of the first outcome', async () => {
    const { store, claim, pass, stored } = setUp();
    await claim('first');
    await store.complete(attempt('first'), OUTCOME);
    pass(KEPT_MS);
    expect(await claim('second', 'another-request')).toEqual({ kind: 'key_reused' });
    pass(1);

    expect(await claim('second', 'another-request')).toEqual({ kind: 'claimed' });
    const names = ['status', 'content_type', 'body', 'request_id'];
    expect(Object.keys(stored() ?? {}).filter((name) => names.includes(name))).toEqual([]);
  });
});

describe('an attempt that has ended', () => {
  test('is answered as the first one was', async () => {
    const { store, claim } = setUp();
    await claim('first');
    await store.complete(attempt('first'), OUTCOME);

    expect(await claim('second')).toEqual({ kind: 'done', outcome: OUTCOME });
  });

  test('is answered without what was not kept', async () => {
    const { store, claim } = setUp();
    await claim('first');
    await store.complete(attempt('first'), { ...OUTCOME, body: undefined, content_type: undefined });

    expect(await claim('second')).toEqual({
      kind: 'done',
      outcome: { ...OUTCOME, body: undefined, content_type: undefined },
    });
  });

  test('of which everything but its end is lost is answered all the same', async () => {
    const { claim, damage } = setUp();
    await claim('first');
    damage({ state: 'done' });

    expect(await claim('second')).toEqual({
      kind: 'done',
      outcome: { status: 0, content_type: undefined, body: undefined, request_id: '' },
    });
  });

  test('with a lost track is unknown for ever: it may have been carried out', async () => {
    const { store, claim, pass } = setUp();
    await claim('first');
    await store.loseTrack(attempt('first'));
    expect(await claim('second')).toEqual({ kind: 'unknown' });
    pass(RUNNING_MS * 10);

    expect(await claim('second')).toEqual({ kind: 'unknown' });
  });

  test.each(['complete', 'loseTrack', 'release'] as const)(
    'ends once: a late %s of another attempt changes nothing',
    async (how) => {
      const { store, claim, stored } = setUp();
      await claim('first');
      const end = (holder: string) =>
        how === 'complete' ? store.complete(attempt(holder), OUTCOME) : store[how](attempt(holder));
      const before = stored();
      await end('another-attempt');
      expect(stored()).toEqual(before);
      await store.loseTrack(attempt('first'));
      const after = stored();
      await end('first');

      expect(stored()).toEqual(after);
    },
  );
});

describe('a key that was given back because the upstream did no work', () => {
  test('is free at once, also for a corrected request: nothing was done under it', async () => {
    const { store, claim, stored } = setUp();
    await claim('first');
    await store.release(attempt('first'));

    expect(await claim('second', 'a-corrected-request')).toEqual({ kind: 'claimed' });
    expect(stored()).toMatchObject({
      holder: 'second',
      fingerprint: 'a-corrected-request',
      state: 'running',
    });
    expect(await claim('third')).toEqual({ kind: 'key_reused' });
  });

  test('while another attempt asks is running for that attempt, and free for the next one', async () => {
    const { store, table, clock, claim } = setUp();
    await claim('first');
    const update = table.update.bind(table);
    const late = createIdempotencyStore(
      {
        ...table,
        update: async (change) => {
          const result = await update(change);
          await store.release(attempt('first'));
          return result;
        },
      },
      clock,
    );

    expect(await late.claim(attempt('second', 'another-request'), RUNNING_MS)).toEqual({ kind: 'running' });
  });

  test('and deleted while another attempt asks is running for that attempt, too', async () => {
    const { table, clock, claim } = setUp();
    await claim('first');
    const update = table.update.bind(table);
    const late = createIdempotencyStore(
      {
        ...table,
        update: async (change) => {
          const result = await update(change);
          table.sync.remove(change.key);
          return result;
        },
      },
      clock,
    );

    expect(await late.claim(attempt('second'), RUNNING_MS)).toEqual({ kind: 'running' });
  });
});

describe('an item that cannot be read', () => {
  test('is unknown: the command may have been carried out, so it is never sent again', async () => {
    const { claim, damage, unreadable } = setUp();
    await claim('first');
    damage({ state: 'of a newer version', running_until_ms: 'soon' });

    expect(await claim('first')).toEqual({ kind: 'unknown' });
    expect(await claim('second', 'another-request')).toEqual({ kind: 'unknown' });
    expect(unreadable[0]).toEqual({ key: idempotencyKey('the-key'), fields: ['state', 'running_until_ms'] });
  });

  test('is not taken for one that is not there, however little is left of it', async () => {
    const { claim, table, stored } = setUp();
    const key = idempotencyKey('the-key');
    table.sync.update({ key, set: { kind: 'idempotency' } });

    expect(await claim('first')).toEqual({ kind: 'unknown' });
    expect(stored()).toEqual({ ...key, kind: 'idempotency' });
  });
});

test('the attributes that it owns are those of its items', async () => {
  const { store, claim, stored } = setUp();
  await claim('first');
  const named = { project_id: 'bold-sound-12345678', branch_id: 'br-1', operation_ids: ['op-1'] };
  await store.complete(attempt('first'), { ...OUTCOME, ...named, is_withheld: true });
  const shared = ['pk', 'sk', 'kind', 'expires_at'];

  expect(
    Object.keys(stored() ?? {})
      .filter((name) => !shared.includes(name))
      .toSorted(),
  ).toEqual([...IDEMPOTENCY_ATTRIBUTES].toSorted());
});
