/** A row whose time lies in the future is told like any other, and hides nothing that begins before that time. */

import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, secondOf } from '../../../shared/records/time.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import { aBridge, type Bridge, MINUTE_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID, timeOf } from './rows.ts';

const random = seededRandom(41);
const between = (low: number, high: number) => low + Math.floor(random.next() * (high - low));

const DRAWS = [10 * MINUTE_MS, HOUR_MS, 2 * DAY_MS, 30 * DAY_MS].flatMap((usualMs) =>
  ['stays', 'is gone after an hour'].map((end) => ({
    aheadMs: between(0.7 * usualMs, 1.3 * usualMs),
    end,
  })),
);

const FUTURE_ROW = 999;

/** Runs a bridge that has read a project with one operation, some minutes old. */
async function aWatchedProject(): Promise<Bridge> {
  const bridge = aBridge();
  bridge.service.addProject(PROJECT_ID);
  bridge.service.put(anOperationRow(0, bridge.nowMs() - 10 * MINUTE_MS));
  await bridge.run(MINUTE_MS);
  return bridge;
}

/** Lets an operation begin and fail between two polls, after each of these pauses, and returns what nobody was told in time. */
async function failAfterEach(bridge: Bridge, pausesMs: readonly number[]): Promise<readonly string[]> {
  const untold: string[] = [];
  for (const [index, pauseMs] of pausesMs.entries()) {
    await bridge.rest(pauseMs);
    const failed = { status: 'failed', failures_count: 1 };
    const row = anOperationRow(index + 1, bridge.nowMs() - between(1_000, 4_000), failed);
    bridge.service.put(row);
    await bridge.run(MINUTE_MS / 2);
    const isTold = bridge.copies().some(({ detail }) => detail.operation_id === row.id);
    if (!isTold) untold.push(`operation ${index + 1}, after ${pauseMs} ms`);
  }
  return untold;
}

describe('a row from the future', () => {
  test.each(DRAWS)('hides nothing when it is $aheadMs ms ahead and $end', async ({ aheadMs, end }) => {
    const bridge = await aWatchedProject();
    const { service } = bridge;
    const future = anOperationRow(FUTURE_ROW, bridge.nowMs() + aheadMs, { status: 'finished' });
    service.put(future);
    // So many new rows move the watermark.
    for (let number = 100; number < 130; number++)
      service.put(anOperationRow(number, bridge.nowMs() - 1_000));
    await bridge.run(MINUTE_MS);
    if (end !== 'stays') bridge.at(HOUR_MS, () => service.remove(future.id));
    const pausesMs = [0, ...Array.from({ length: 5 }, () => between(1_000, 40 * MINUTE_MS))];
    expect(await failAfterEach(bridge, pausesMs)).toEqual([]);
    expect(bridge.brokenPromises()).toEqual([]);
    const ofFuture = bridge
      .events('Operation State Changed')
      .filter(({ detail }) => detail.operation_id === future.id);
    expect(ofFuture).toHaveLength(1);
  });

  test('hides nothing when the clock of one side is wrong, too', async () => {
    for (const wrong of ['the service', 'the bridge'] as const) {
      for (let draw = 0; draw < 3; draw++) {
        const bridge = await aWatchedProject();
        const { service, dials } = bridge;
        const offsetMs = between(HOUR_MS, 60 * DAY_MS);
        if (wrong === 'the service') service.dials.dateOffsetMs = offsetMs;
        else dials.clockOffsetMs = offsetMs;
        bridge.restart();
        service.put(anOperationRow(FUTURE_ROW, bridge.nowMs() + between(10 * MINUTE_MS, offsetMs)));
        await bridge.run(MINUTE_MS);
        const untold = await failAfterEach(bridge, [0, between(MINUTE_MS, HOUR_MS)]);
        expect(untold, `${wrong} is ${offsetMs} ms ahead`).toEqual([]);
        expect(bridge.brokenPromises(), `${wrong} is ${offsetMs} ms ahead`).toEqual([]);
      }
    }
  });

  test('is told once, however long the service shows it', async () => {
    const bridge = await aWatchedProject();
    const row = anOperationRow(FUTURE_ROW, bridge.nowMs() + between(50, 70) * DAY_MS, { status: 'finished' });
    bridge.service.put(row);
    await bridge.run(MINUTE_MS);
    for (let month = 0; month < 4; month++) {
      await bridge.rest(between(46, 50) * DAY_MS);
      bridge.table.sync.expire(bridge.nowMs());
      bridge.restart();
      await bridge.run(MINUTE_MS);
    }
    expect(bridge.brokenPromises()).toEqual([]);
  });
});

describe('a watermark from the future, which an earlier version has stored', () => {
  test.each(DRAWS)('is replaced when it is $aheadMs ms ahead', async ({ aheadMs, end }) => {
    const bridge = await aWatchedProject();
    const head = secondOf(bridge.nowMs() + aheadMs);
    const resume = { head, cursor: timeOf(bridge.nowMs() - 20 * MINUTE_MS) };
    bridge.restart();
    bridge.table.sync.update({
      key: projectKey('main', PROJECT_ID),
      set: { watermark: head, ...(end !== 'stays' && { resume }) },
    });
    // Meanwhile the earlier version reads nothing below its watermark.
    const hiddenMs = Math.min(2 * DAY_MS, aheadMs - 6 * MINUTE_MS);
    for (let number = 100; number < 130; number++) {
      const afterMs = between(0, hiddenMs);
      const row = anOperationRow(number, bridge.nowMs() + afterMs, { status: 'finished' });
      bridge.at(afterMs, () => bridge.service.put(row));
    }
    await bridge.rest(hiddenMs);
    await bridge.run(MINUTE_MS);
    expect(await failAfterEach(bridge, [0, between(1_000, HOUR_MS)])).toEqual([]);
    expect(bridge.brokenPromises()).toEqual([]);
    const item = bridge.table.sync.peek(projectKey('main', PROJECT_ID));
    const { watermark } = { ...item } as { readonly watermark?: string };
    expect(watermark).toBeDefined();
    expect((watermark ?? '') <= secondOf(bridge.nowMs())).toBe(true);
  });
});
