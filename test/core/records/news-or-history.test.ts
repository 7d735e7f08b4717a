import { describe, expect, test } from 'vitest';
import { FORGOTTEN_AFTER_MS, historyEndOf, mayBeForgotten } from '../../../shared/core/records/history.ts';
import { DAY_MS } from '../../../shared/core/time/durations.ts';
import { earlierBy, epochMsOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';

const BOOT_AT = '2026-01-10T00:00:00.000000000Z' as Timestamp;
const later = (time: Timestamp, durationMs: number) => earlierBy(time, -durationMs);

describe('the end of the history of a project', () => {
  const seenAt = later(BOOT_AT, DAY_MS);

  test.each([
    ['it is older than the bridge', '2026-01-09T23:59:59Z', seenAt],
    ['the list does not say when it was created', undefined, seenAt],
    ['the list names a time that cannot be read', 'long ago', seenAt],
    ['it was created when the bridge came', '2026-01-10T00:00:00Z', BOOT_AT],
    ['it is younger than the bridge', '2026-01-10T12:00:00Z', BOOT_AT],
  ])('is right when %s', (_when, projectCreatedAt, expected) => {
    expect(historyEndOf({ bootAt: BOOT_AT, seenAt, projectCreatedAt })).toBe(expected);
  });

  test('is never before the bridge, whatever its clock said', () => {
    const early = earlierBy(BOOT_AT, DAY_MS);

    expect(historyEndOf({ bootAt: BOOT_AT, seenAt: early, projectCreatedAt: undefined })).toBe(BOOT_AT);
    expect(historyEndOf({ bootAt: BOOT_AT, seenAt: BOOT_AT, projectCreatedAt: undefined })).toBe(BOOT_AT);
  });
});

describe('a row that the table does not know', () => {
  const ROW = '2026-02-01T00:00:00.000000000Z' as Timestamp;
  const RIPE_MS = epochMsOf(ROW) + FORGOTTEN_AFTER_MS;
  const mayBe = (reach: Parameters<typeof mayBeForgotten>[1], nowMs = RIPE_MS) =>
    mayBeForgotten({ id: 'op-1', createdAt: ROW }, reach, nowMs);

  test('is news for thirty days', () => {
    expect(mayBe({ watermark: ROW }, RIPE_MS - 1)).toBe(false);
    expect(mayBe({ watermark: ROW })).toBe(true);
  });

  test('is news when nothing was ever recorded', () => {
    expect(mayBe({})).toBe(false);
  });

  test('is news when it is more than a day newer than the watermark, which may lag by a day', () => {
    expect(mayBe({ watermark: earlierBy(ROW, DAY_MS) })).toBe(true);
    expect(mayBe({ watermark: earlierBy(ROW, DAY_MS + 1_000) })).toBe(false);
  });

  test('is news exactly above what is known to be recorded, where that is known', () => {
    const watermark = later(ROW, DAY_MS);

    expect(mayBe({ watermark, recorded_until: ROW })).toBe(true);
    expect(mayBe({ watermark, recorded_until: earlierBy(ROW, 1_000) })).toBe(false);
  });

  test('of an unordered list that an earlier version has read may always be forgotten', () => {
    expect(mayBe({ is_unordered: true })).toBe(true);
    expect(mayBe({ is_unordered: false })).toBe(false);
  });

  test('may be forgotten where an interrupted walk has read: down to its lowest row', () => {
    const resume = { head: ROW, lowest: ROW };

    expect(mayBe({ resume })).toBe(true);
    expect(mayBe({ resume: { ...resume, lowest: later(ROW, 1_000) } })).toBe(false);
    expect(mayBe({ resume: { head: ROW } })).toBe(false);
    expect(mayBe({ resume, is_unordered: true, recorded_until: earlierBy(ROW, 1_000) })).toBe(false);
  });

  test('may be forgotten up to a day above the head of an interrupted walk, or up to the newest that is known', () => {
    const lowest = earlierBy(ROW, DAY_MS);

    expect(mayBe({ resume: { head: earlierBy(ROW, DAY_MS), lowest } })).toBe(true);
    expect(mayBe({ resume: { head: earlierBy(ROW, DAY_MS + 1_000), lowest } })).toBe(false);
    expect(mayBe({ resume: { head: lowest, lowest, newest: ROW } })).toBe(true);
    expect(mayBe({ resume: { head: ROW, lowest, newest: earlierBy(ROW, 1_000) } })).toBe(false);
    expect(mayBe({ watermark: ROW, resume: { head: lowest, newest: ROW } })).toBe(true);
  });
});
