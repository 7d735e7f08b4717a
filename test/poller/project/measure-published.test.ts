import { describe, expect, test } from 'vitest';
import { measurePublished } from '../../../functions/poller/project/poll-project.ts';
import type { JournalEntry } from '../../../shared/records/journal-entries.ts';

const CHANGED_AT = '2026-01-15T12:00:00Z';
const NOW_MS = Date.parse(CHANGED_AT) + 2_500;

function entry(fields: Readonly<Record<string, unknown>> = {}): JournalEntry {
  const changed = { type: 'state_changed', observed_by: 'poll', operation_updated_at: CHANGED_AT };
  return { ...changed, ...fields } as unknown as JournalEntry;
}

function measured(published: JournalEntry, nowMs = NOW_MS): readonly (readonly [string, number])[] {
  const values: (readonly [string, number])[] = [];
  const telemetry = {
    log: () => {},
    measure: (name: string, value: number) => void values.push([name, value]),
  };
  const clock = { now: () => nowMs, sleep: () => Promise.resolve() };
  measurePublished({ clock, telemetry })(published);
  return values;
}

describe('the delay of a published event', () => {
  test("runs from the upstream's own time until the bus has accepted it", () => {
    expect(measured(entry())).toEqual([['PublishDelayMs', 2_500]]);
  });

  test('is zero when the clock of the upstream is ahead of ours', () => {
    expect(measured(entry(), NOW_MS - 10_000)).toEqual([['PublishDelayMs', 0]]);
  });

  test.each([
    ['history', { observed_by: 'backfill' }],
    ['an operation that the upstream showed late', { late: true }],
    ['the end of a watch', { type: 'watch_ended' }],
    ['a change without a readable time', { operation_updated_at: 'soon' }],
  ])('is not measured for %s', (_, fields) => {
    expect(measured(entry(fields))).toEqual([]);
  });
});
