import { describe, expect, test } from 'vitest';
import {
  incidentCountOf,
  type Notice,
  parsePending,
} from '../../../../functions/notifier/deciding/notice.ts';
import { rankOf } from '../../../../functions/notifier/deciding/policy.ts';
import { planMessages } from '../../../../functions/notifier/sending/plan-messages.ts';
import { incidentOf, keyPart, pendingOrderOf } from '../../../../shared/alerts/incidents.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';
import { aNotice } from '../../channel-under-test.ts';

const SEVERITIES = ['info', 'warning', 'critical'] as const;

function drawnNotices(seed: number): readonly Notice[] {
  const random = seededRandom(seed);
  const draw = (count: number) => Math.floor(random.next() * count);
  return Array.from({ length: draw(400) }, (_, index) =>
    aNotice({
      id: `event-${index}`,
      severity: SEVERITIES[draw(3)],
      project_id: `project-${draw(1 + draw(60))}`,
      observed_at: new Date(draw(1_000_000)).toISOString(),
    }),
  );
}

describe('a plan of messages', () => {
  test('keeps every limit, repeats nothing, and puts the most severe first', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed + 5_000);
      const notices = drawnNotices(seed);
      const limits = {
        messageCountMax: 5,
        perMs: 60_000,
        noticesPerMessageMax: 1 + Math.floor(random.next() * 100),
        sizeMax: 100 + Math.floor(random.next() * 900),
        sizeOf: (_notice: Notice, before: Notice | undefined) => (before === undefined ? 50 : 20),
      };
      const slotCount = Math.floor(random.next() * 6);
      const messages = planMessages([...Map.groupBy(notices, incidentOf).values()], slotCount, limits);
      const planned = messages.map((message) => message.flat());

      const what = `seed ${seed}`;
      expect(messages.length, what).toBeLessThanOrEqual(slotCount);
      expect(new Set(planned.flat()).size, what).toBe(planned.flat().length);
      for (const flat of planned) {
        expect(flat.length, what).toBeLessThanOrEqual(limits.noticesPerMessageMax);
        expect(50 + 20 * (flat.length - 1), what).toBeLessThanOrEqual(limits.sizeMax);
        const ranks = flat.map(({ severity }) => rankOf(severity));
        expect(ranks, what).toEqual(ranks.toSorted((a, b) => b - a));
      }
      // No notice that is left out is more severe than one that is sent.
      const left = notices.filter((notice) => !planned.flat().includes(notice));
      const worstLeft = Math.max(-1, ...left.map(({ severity }) => rankOf(severity)));
      const leastSent = Math.min(9, ...planned.flat().map(({ severity }) => rankOf(severity)));
      if (slotCount > 0) expect(worstLeft, what).toBeLessThanOrEqual(leastSent);
    }
  });

  test('puts what waits for a person before what may still be retried, also when that is older', () => {
    const retried = Array.from({ length: 5 }, (_, index) =>
      aNotice({
        id: `retried-${index}`,
        kind: 'failed',
        severity: 'critical',
        project_id: `project-${index}`,
        observed_at: '2026-01-15T12:00:00.000Z',
      }),
    );
    const givenUp = aNotice({
      id: 'given-up',
      kind: 'given_up',
      severity: 'critical',
      project_id: 'another',
      observed_at: '2026-01-15T13:00:00.000Z',
    });
    const limits = { messageCountMax: 5, perMs: 60_000, noticesPerMessageMax: 50 };

    const [message] = planMessages([...retried.map((notice) => [notice]), [givenUp]], 1, limits);

    expect(message?.flat()[0]?.id).toBe('given-up');
  });

  test('counts incidents by what they are about, and not by how the lines are grouped', () => {
    const [critical, warning] = [aNotice({ severity: 'critical' }), aNotice({ severity: 'warning' })];

    expect(incidentCountOf([[critical], [aNotice({ action: 'other' })], [warning]])).toBe(2);
  });
});

describe('the key of a waiting notice', () => {
  test('says what planning needs, and fits into a key whatever stands in the event', () => {
    const texts = ['plain-id', '', 'a|b', 'ü'.repeat(2_000), '"\\\u0000\n', 'x'.repeat(5_000)];
    for (const text of texts) {
      const notice = aNotice({ id: text, account_id: text, project_id: text, action: text });
      const order = pendingOrderOf(notice, 1_000);
      const pending = parsePending('NOTICE#x', order, 'warning');

      expect(Buffer.byteLength(order)).toBeLessThan(1_024);
      expect(Buffer.byteLength(incidentOf(notice))).toBeLessThan(1_000);
      expect(pending).toMatchObject({ stored_at_ms: 1_000, kind: 'failed', project_id: keyPart(text) });
    }
  });

  test('sorts by age', () => {
    const orders = [5, 1, 3].map((atMs) => pendingOrderOf(aNotice(), atMs));

    expect(orders.toSorted()).toEqual([orders[1], orders[2], orders[0]]);
  });

  test.each([
    '',
    'nonsense',
    '2026-01-15T12:00:00.000Z {}',
    '2026-01-15T12:00:00.000Z ["a","b","c","none","e"]',
  ])('that somebody else wrote is not one: %s', (order) => {
    expect(parsePending('NOTICE#x', order, 'info')).toBeUndefined();
  });
});
