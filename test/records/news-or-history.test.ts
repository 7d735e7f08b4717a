import { describe, expect, test } from 'vitest';
import {
  endedBefore,
  HISTORY_AFTER_MS,
  isOlderThanTable,
  sinceAfterSecondEdition,
  sinceOf,
} from '../../shared/records/project-record.ts';
import { DAY_MS, earlierBy, epochMsOf, type Timestamp } from '../../shared/records/time.ts';

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
    expect(sinceOf({ bootAt: BOOT_AT, seenAt, projectCreatedAt })).toBe(expected);
  });

  test('is never before the bridge, whatever its clock said', () => {
    const early = earlierBy(BOOT_AT, DAY_MS);

    expect(sinceOf({ bootAt: BOOT_AT, seenAt: early, projectCreatedAt: undefined })).toBe(BOOT_AT);
    expect(sinceOf({ bootAt: BOOT_AT, seenAt: BOOT_AT, projectCreatedAt: undefined })).toBe(BOOT_AT);
  });

  test.each([
    ['the bridge was at work: what ended 45 days ago', '2026-06-01T00:00:00Z', '2026-04-17T00:00:00Z'],
    [
      'the bridge slept for months: a day above what it had recorded',
      '2026-03-01T00:00:00Z',
      '2026-03-02T00:00:00Z',
    ],
  ])('of the second edition is, when %s', (_when, watermark, expected) => {
    const time = (text: string) => text.replace('Z', '.000000000Z') as Timestamp;

    expect(sinceAfterSecondEdition(BOOT_AT, time(watermark), time('2026-06-01T00:00:00Z'))).toBe(
      time(expected),
    );
  });

  test('of the second edition is never before its own', () => {
    const [watermark, now] = [later(BOOT_AT, DAY_MS), later(BOOT_AT, 2 * DAY_MS)];

    expect(sinceAfterSecondEdition(BOOT_AT, watermark, now)).toBe(BOOT_AT);
    expect(sinceAfterSecondEdition(undefined, watermark, now)).toBe(earlierBy(now, 45 * DAY_MS));
  });
});

describe('a row that the table does not know', () => {
  const [before, after] = ['2026-01-09T23:59:59Z', '2026-01-10T00:00:00Z'];

  test.each([
    ['ended before the first sight', 'finished', before, before, true],
    ['was open at first sight and has ended since', 'finished', before, after, false],
    ['is open', 'running', before, before, false],
    ['has failed and may be retried', 'failed', before, before, false],
    ['began after the first sight, whatever its end says', 'finished', after, before, false],
    ['shows no readable time', 'finished', 'long ago', before, false],
  ])('is history or not when it %s', (_what, status, created_at, updated_at, isHistory) => {
    expect(endedBefore({ status, created_at, updated_at }, BOOT_AT)).toBe(isHistory);
  });

  test('is history beyond the age that the table keeps for certain', () => {
    const row = {
      status: 'finished',
      created_at: '2026-01-10T00:00:00Z',
      updated_at: '2026-01-10T00:00:00Z',
    };
    const ripeMs = epochMsOf(BOOT_AT) + HISTORY_AFTER_MS;

    expect(isOlderThanTable(row, ripeMs)).toBe(false);
    expect(isOlderThanTable(row, ripeMs + 1)).toBe(true);
    expect(isOlderThanTable({ ...row, created_at: 'long ago' }, ripeMs + 1)).toBe(false);
  });
});
