import { describe, expect, test } from 'vitest';
import { alertRulePattern, noticeOf } from '../../../../functions/notifier/deciding/notice-of-event.ts';
import { eventCatalog } from '../../../../shared/events/catalog.ts';
import { REPLAY_RESOURCE } from '../../../../shared/events/event-names.ts';
import { matchesEventPattern, parseEventPattern } from '../../../../shared/events/event-pattern.ts';
import { anEvent } from '../../channel-under-test.ts';

const pattern = parseEventPattern(JSON.stringify(alertRulePattern));
const STATUSES = [
  'scheduling',
  'running',
  'finished',
  'failed',
  'error',
  'cancelling',
  'cancelled',
  'skipped',
  'new',
];

/** It makes a notice of each operation that fails at that time, and often none. */
const ENDS_INCIDENTS = 'Project Transferred';

describe('the rule that feeds the notifier', () => {
  test('lets pass exactly what the policy makes a notice of', () => {
    const states = STATUSES.flatMap((status) =>
      [0, 1, 5].flatMap((failures_count) =>
        [0, 1].flatMap((new_failures) =>
          [{}, { was_stalled: true }, { previous_status: 'failed' }].map((end) =>
            anEvent({ status, failures_count, new_failures, ...end }),
          ),
        ),
      ),
    );
    const others = eventCatalog.map(({ detailType, example }) =>
      anEvent(example, { 'detail-type': detailType }),
    );

    for (const event of [...states, ...others]) {
      const detailType = (event as unknown as Record<string, string>)['detail-type'] ?? '';
      const isTold = noticeOf(detailType, event.detail) !== undefined || detailType === ENDS_INCIDENTS;
      expect(matchesEventPattern(pattern, event), JSON.stringify(event)).toBe(isTold);
    }
  });

  test.each([
    ['finished', 'recovered'],
    ['cancelled', 'cancelled'],
    ['skipped', 'cancelled'],
  ])('lets an operation end that failed although no failure was counted (%s)', (status, kind) => {
    const counts = { failures_count: 0, new_failures: 0 };
    const event = anEvent({ status, previous_status: 'failed', terminal: true, ...counts });

    expect(matchesEventPattern(pattern, event)).toBe(true);
    expect(noticeOf('Operation State Changed', event.detail)?.kind).toBe(kind);
  });

  test('keeps replayed events out', () => {
    expect(matchesEventPattern(pattern, anEvent())).toBe(true);
    expect(matchesEventPattern(pattern, anEvent({}, { resources: [] }))).toBe(true);
    expect(matchesEventPattern(pattern, anEvent({}, { 'replay-name': 'again' }))).toBe(false);
    const resources = [`${REPLAY_RESOURCE}a-replay`];
    expect(matchesEventPattern(pattern, anEvent({}, { resources }))).toBe(false);
  });
});
