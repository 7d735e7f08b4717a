/** Tests the promise of PagerDuty's alerts for any order of news: one is open exactly while something fails. */

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pagerDutyEvents } from '../../../functions/notifier/channels/pagerduty-events.ts';
import { noteOperations } from '../../../functions/notifier/deciding/incident-record.ts';
import { incidentOf } from '../../../shared/alerts/alert-items.ts';
import type { Operations } from '../../../shared/alerts/incidents.ts';
import { NOON_MS } from '../../builders.ts';
import { aNotice } from '../channel-under-test.ts';
import { createPagerDuty, ROUTING_KEY } from './pagerduty-stand-in.ts';

const INCIDENT = incidentOf(aNotice());

const kinds = fc.constantFrom(
  ['failed', 'warning'],
  ['failed', 'critical'],
  ['attempt_failed', 'warning'],
  ['recovered', 'info'],
  ['cancelled', 'info'],
  ['given_up', 'critical'],
  ['stalled', 'warning'],
  ['stall_ended', 'info'],
);

const news = fc
  .record({
    kind: kinds,
    operation: fc.integer({ min: 1, max: 3 }),
    sequence: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ kind: [kind, severity], operation, sequence }) =>
    aNotice({
      id: `${operation} ${sequence} ${kind}`,
      kind,
      severity,
      operation_id: `${operation}`,
      sequence,
    }),
  );

/** A message that was taken without an answer is followed by copies. */
const messages = fc.array(
  fc.record({
    notices: fc.array(news, { minLength: 1, maxLength: 4 }),
    copies: fc.integer({ min: 1, max: 3 }),
  }),
  { maxLength: 12 },
);

describe('the alerts at PagerDuty', () => {
  test('about failures and stalls are open exactly while an operation of the incident fails or has stalled, whatever the order and the copies', async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (all) => {
        let nowMs = NOON_MS;
        const service = createPagerDuty({ now: () => (nowMs += 60_000) });
        let operations: Operations = {};
        for (const { notices, copies } of all) {
          for (let copy = 0; copy < copies; copy++) {
            for (const event of pagerDutyEvents([notices], new Map([[INCIDENT, operations]]), {})) {
              const body = JSON.stringify({ routing_key: ROUTING_KEY, ...event });
              const url = 'https://events.pagerduty.com/v2/enqueue';
              expect((await service.fetch(url, { method: 'POST', body })).status).toBe(202);
            }
          }
          operations = noteOperations(operations, notices);
          const open = new Set(service.openAlerts().map(({ key }) => key.split('|').at(-1)));
          const states = new Set(Object.values(operations).map(({ state }) => state));
          expect(open.has('failing') || open.has('failing-critical')).toBe(states.has('failing'));
          expect(open.has('stalled')).toBe(states.has('stalled'));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('about what was given up stay open until a person resolves them', async () => {
    const service = createPagerDuty({ now: () => NOON_MS });
    const send = async (...notices: readonly ReturnType<typeof aNotice>[]) => {
      for (const event of pagerDutyEvents([notices], new Map(), {})) {
        const body = JSON.stringify({ routing_key: ROUTING_KEY, ...event });
        await service.fetch('https://events.pagerduty.com/v2/enqueue', { method: 'POST', body });
      }
    };
    await send(aNotice({ kind: 'given_up', severity: 'critical' }));
    await send(aNotice({ kind: 'recovered', severity: 'info', operation_id: 'another' }));

    expect(service.openAlerts().map(({ key }) => key.split('|').at(-1))).toEqual(['person']);
  });
});
