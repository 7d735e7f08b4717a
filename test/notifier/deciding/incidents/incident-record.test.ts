/** How the record of an incident follows from the notices of its operations. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FAILURES_KEPT_MAX, incidentAfter } from '../../../../functions/notifier/deciding/incident-record.ts';
import type { Notice } from '../../../../functions/notifier/deciding/notice.ts';
import { acknowledge, type IncidentRecord, isOpen } from '../../../../shared/alerts/incidents.ts';
import { NOON_MS } from '../../../builders.ts';

const MINUTE_MS = 60_000;
const by = { at: '2026-01-15T12:00:00.000Z', client_id: 'an-operator' };

/** The sequence is the minute before noon at which the operation changed, unless the fields say otherwise. */
function aNotice(sequence: number, fields: Partial<Notice> = {}): Notice {
  return {
    id: `event-${fields.operation_id ?? 'a'}-${sequence}`,
    kind: 'failed',
    severity: 'warning',
    account_id: 'main',
    project_id: 'quiet-pond-12345678',
    action: 'start_compute',
    operation_id: 'a',
    sequence,
    failures_count: 1,
    new_failures: 1,
    observed_at: '2026-01-15T11:30:00.000Z',
    changed_at: new Date(NOON_MS - (60 - sequence) * MINUTE_MS).toISOString(),
    ...fields,
  };
}

function recordOf(...notices: readonly Notice[]): IncidentRecord | undefined {
  return notices.reduce<IncidentRecord | undefined>(
    (record, notice) => incidentAfter(record, notice, NOON_MS),
    undefined,
  );
}

const end: Partial<Notice> = { kind: 'recovered', severity: 'info', new_failures: 0 };
const stall: Partial<Notice> = {
  kind: 'stalled',
  sequence: undefined,
  failures_count: 0,
  new_failures: undefined,
  changed_at: undefined,
};
const stallEnd: Partial<Notice> = {
  ...end,
  kind: 'stall_ended',
  failures_count: 0,
  observed_at: '2026-01-15T11:40:00.000Z',
};
const givenUp: Partial<Notice> = { kind: 'given_up', severity: 'critical' };

describe('the record of an incident', () => {
  test("begins with the first failure, at the upstream's time", () => {
    expect(recordOf(aNotice(2))).toMatchObject({
      project_id: 'quiet-pond-12345678',
      action: 'start_compute',
      state: 'failing',
      gravity: 'failing',
      began_at: '2026-01-15T11:02:00.000Z',
      failures: [{ id: 'event-a-2', attempt_count: 1 }],
    });
  });

  test('ends when every operation has recovered, and not before', () => {
    const failing = [aNotice(2), aNotice(3, { operation_id: 'b' })];

    expect(recordOf(...failing, aNotice(4, end))).toMatchObject({ state: 'failing' });
    expect(recordOf(...failing, aNotice(4, end), aNotice(5, { ...end, operation_id: 'b' }))).toMatchObject({
      state: 'recovered',
      ended_at: '2026-01-15T11:05:00.000Z',
    });
  });

  test('that has ended with its acknowledgement is not opened by a copy', () => {
    const [first, second] = [aNotice(3, givenUp), aNotice(4, { ...givenUp, operation_id: 'b' })];
    const record = recordOf(first, second);
    const acknowledged = record && acknowledge(record, by);

    expect(acknowledged?.ended_at).toBe(by.at);
    expect(incidentAfter(acknowledged, first, NOON_MS)).toBe(acknowledged);
    expect(acknowledged && incidentAfter({ ...acknowledged, failures: [] }, first, NOON_MS)).toMatchObject({
      ended_at: by.at,
      acknowledged: by,
    });
  });

  test('is not opened by a copy of a failure that many others have followed', () => {
    const first = aNotice(1);
    const others = Array.from({ length: 25 }, (_, place) => `other-${place}`);
    const record = recordOf(
      first,
      aNotice(2, end),
      ...others.flatMap((operation_id) => [
        aNotice(3, { operation_id }),
        aNotice(4, { ...end, operation_id, observed_at: '2026-01-15T11:31:00.000Z' }),
      ]),
    );

    expect(record).toMatchObject({ state: 'recovered' });
    expect(incidentAfter(record, first, NOON_MS)).toBe(record);
  });

  test('stays open when an operation was given up, until a person acknowledges it', () => {
    const record = recordOf(aNotice(2), aNotice(3, givenUp));

    expect(record).toMatchObject({ state: 'given_up', gravity: 'given_up' });
    expect(record && isOpen(record)).toBe(true);
    expect(record && acknowledge(record, by)).toMatchObject({ ended_at: by.at });
  });

  test('begins anew with a failure after its end, without what was said of it before', () => {
    const before = recordOf(aNotice(2), aNotice(3, givenUp));
    const ended = before && acknowledge(before, by);

    const again = incidentAfter(ended, aNotice(4, { operation_id: 'b' }), NOON_MS);

    expect(again).toMatchObject({
      state: 'failing',
      gravity: 'failing',
      began_at: '2026-01-15T11:04:00.000Z',
    });
    expect(again).not.toHaveProperty('acknowledged');
    expect(again).not.toHaveProperty('ended_at');
    expect(incidentAfter(again, aNotice(5, { ...end, operation_id: 'b' }), NOON_MS)).toMatchObject({
      state: 'recovered',
    });
  });

  test.each([
    ['a further failure', aNotice(4)],
    ['a failure of another operation', aNotice(4, { operation_id: 'b' })],
    ['the end of another operation', aNotice(4, { ...end, operation_id: 'b' })],
  ])('stays acknowledged after %s', (_what, notice) => {
    const record = recordOf(aNotice(2));
    const acknowledged = record && acknowledge(record, by);

    expect(incidentAfter(acknowledged, notice, NOON_MS)).toMatchObject({ acknowledged: by });
  });

  test.each([
    ['the third failure of an operation', aNotice(4, { failures_count: 3, severity: 'critical' })],
    ['an operation that was given up', aNotice(4, givenUp)],
    ['an operation that vanished', aNotice(4, { kind: 'vanished' })],
  ])('is no longer acknowledged after %s, because that is worse', (_what, notice) => {
    const record = recordOf(aNotice(2));
    const acknowledged = record && acknowledge(record, by);

    expect(incidentAfter(acknowledged, notice, NOON_MS)).not.toHaveProperty('acknowledged');
  });

  test('is no longer acknowledged when it begins anew', () => {
    const record = recordOf(aNotice(2));
    const acknowledged = record && acknowledge(record, by);
    const ended = incidentAfter(acknowledged, aNotice(3, end), NOON_MS);

    expect(incidentAfter(ended, aNotice(4, { operation_id: 'b' }), NOON_MS)).not.toHaveProperty(
      'acknowledged',
    );
  });

  test('is not begun by a failure that comes late, after the end of its operation', () => {
    const ended = recordOf(aNotice(2), aNotice(4, end));

    expect(incidentAfter(ended, aNotice(3), NOON_MS)).toMatchObject({ state: 'recovered' });
  });

  test('counts failed attempts of the last hour, which may have come and gone between two reads', () => {
    const long = aNotice(0, { id: 'long-ago', changed_at: '2026-01-15T10:00:00Z' });
    const missed = aNotice(3, { ...end, new_failures: 2 });

    expect(recordOf(long, aNotice(2), missed)?.failures.map(({ attempt_count }) => attempt_count)).toEqual([
      1, 2,
    ]);
  });

  test('keeps a bounded number of failures, the newest', () => {
    const notices = Array.from({ length: FAILURES_KEPT_MAX + 5 }, (_, place) =>
      aNotice(2, { id: `event-${place}`, operation_id: `operation-${place}` }),
    );

    const kept = recordOf(...notices)?.failures.map(({ id }) => id);

    expect(kept).toHaveLength(FAILURES_KEPT_MAX);
    expect(kept?.at(-1)).toBe(`event-${FAILURES_KEPT_MAX + 4}`);
  });

  test('is not changed by what says nothing of how an operation stands', () => {
    expect(recordOf(aNotice(2, { kind: 'first_sight' }))).toBeUndefined();
  });

  test('begins with a stall, and ends when the operation does', () => {
    const stalled = aNotice(2, stall);

    expect(recordOf(stalled)).toMatchObject({
      state: 'stalled',
      gravity: 'stalled',
      began_at: '2026-01-15T11:30:00.000Z',
      failures: [],
    });
    expect(recordOf(stalled, aNotice(4, stallEnd))).toMatchObject({
      state: 'recovered',
      ended_at: '2026-01-15T11:04:00.000Z',
    });
    expect(recordOf(stalled, aNotice(4, stallEnd), stalled)).toMatchObject({ state: 'recovered' });
  });

  test('that was acknowledged because of a failure is not when another operation stalls, and the other way round it is', () => {
    const other = { operation_id: 'b' };
    const acknowledgedAfter = (notice: Notice) => {
      const record = recordOf(notice);
      return record && acknowledge(record, by);
    };
    const failing = acknowledgedAfter(aNotice(2));
    const stalled = acknowledgedAfter(aNotice(2, stall));

    expect(incidentAfter(failing, aNotice(3, { ...stall, ...other }), NOON_MS)).not.toHaveProperty(
      'acknowledged',
    );
    expect(incidentAfter(stalled, aNotice(3, other), NOON_MS)).toMatchObject({ acknowledged: by });
  });

  test('of the account itself has neither project nor action', () => {
    const degraded: Notice = {
      id: 'an-event',
      kind: 'account_degraded',
      severity: 'critical',
      account_id: 'main',
      observed_at: '2026-01-15T11:30:00.000Z',
    };
    const record = recordOf(degraded);

    expect(record).toMatchObject({ state: 'failing', began_at: '2026-01-15T11:30:00.000Z' });
    expect(record).not.toHaveProperty('project_id');
    expect(incidentAfter(record, { ...degraded, kind: 'account_recovered', id: 'b' }, NOON_MS)).toMatchObject(
      {
        state: 'recovered',
      },
    );
  });

  test('is the same when copies of its notices come in, in any order after the first', () => {
    const notices = [aNotice(2), aNotice(3, { operation_id: 'b' }), aNotice(4, end), aNotice(5, givenUp)];
    fc.assert(
      fc.property(fc.array(fc.nat(3), { maxLength: 12 }), (copies) => {
        const whole = recordOf(...notices);
        const again = copies.reduce(
          (record, place) => incidentAfter(record, notices[place] ?? aNotice(2), NOON_MS),
          whole,
        );
        expect(again).toEqual(whole);
      }),
    );
  });
});
