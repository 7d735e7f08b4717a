/** What a message says of operations about which it has several alerts. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderMail } from '../../../../functions/notifier/channels/email.ts';
import { describe as describeAlert } from '../../../../functions/notifier/channels/pagerduty-events.ts';
import { plainSlack, renderSlack } from '../../../../functions/notifier/channels/slack-message.ts';
import { rankOf } from '../../../../functions/notifier/deciding/policy.ts';
import { latestOfEach } from '../../../../functions/notifier/deciding/waking.ts';
import { aNotice } from '../../channel-under-test.ts';

const failed = (operation_id: string, sequence: number, fields: object = {}) =>
  aNotice({ id: `${operation_id} ${sequence}`, operation_id, sequence, ...fields });
const third = { severity: 'critical', failures_count: 3 };
const recovered = { kind: 'recovered', severity: 'info', status: 'finished' };

/** One operation failed for the third time and recovered; another one fails, and was read twice. */
const MESSAGE = [
  [
    failed('first-op', 5, third),
    failed('second-op', 3, { failures_count: 2 }),
    failed('second-op', 1),
    failed('first-op', 7, { ...recovered, failures_count: 3 }),
  ],
];

function linesAbout(operationId: string, text: string): readonly string[] {
  return text.split('\n').filter((line) => line.includes(operationId) && !line.includes('Open: '));
}

describe('a message with several alerts of one operation', () => {
  const links = { consoleBaseUrl: 'https://bridge.example.com' };
  const texts: readonly (readonly [string, string])[] = [
    ['a mail', renderMail(MESSAGE, links).body],
    ['Slack', textsOf(renderSlack(MESSAGE, links))],
    ['PagerDuty', textsOf(describeAlert(MESSAGE.flat(), links).payload.custom_details['Alerts'])],
  ];

  test.each(texts)('has one line of the operation in %s, with its latest state', (_channel, text) => {
    expect(linesAbout('first-op', text)).toEqual([expect.stringContaining('recovered')]);
    expect(linesAbout('second-op', text)).toEqual([expect.stringContaining('failed')]);
  });

  test('counts operations and not alerts, and is as grave as what still fails', () => {
    expect(renderMail(MESSAGE, {})).toMatchObject({
      subject: expect.stringMatching(
        /^Warning: solitary-cell-58208823: start_compute failed 2 times .*, and 1 more$/,
      ),
      body: expect.stringContaining('1 x Operation failed, 1 x Operation recovered'),
    });
    expect(plainSlack(MESSAGE).text).toMatch(/^2 alerts: /);
  });

  test('is a card of its own when it is about one operation alone', () => {
    const message = [[failed('only-op', 3, third), failed('only-op', 1)]];

    expect(renderMail(message, {}).subject).toMatch(
      /^Critical: solitary-cell-58208823: start_compute failed 3 times/,
    );
    expect(renderSlack(message, {}).text).toMatch(/`start_compute` failed 3 times/);
  });
});

/** Returns all strings of a document, one a line. */
function textsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textsOf).join('\n');
}

describe('the latest of each operation', () => {
  const notice = fc
    .record({
      operation: fc.integer({ min: 1, max: 3 }),
      sequence: fc.integer({ min: 1, max: 9 }),
      severity: fc.constantFrom('critical', 'warning', 'info'),
      project: fc.constantFrom('a', 'b'),
    })
    .map(({ operation, sequence, severity, project }) =>
      failed(`${operation}`, sequence, {
        severity,
        project_id: project,
        id: `${project}${operation}${sequence}`,
      }),
    );
  const message = fc
    .uniqueArray(notice, { selector: ({ id }) => id, maxLength: 12 })
    .map((notices) =>
      notices.toSorted((a, b) => rankOf(b.severity) - rankOf(a.severity)).map((one) => [one]),
    );

  test('is one notice for each operation, the one with the highest sequence, the most severe first', () => {
    fc.assert(
      fc.property(message, (all) => {
        const left = latestOfEach(all).flat();
        const keyOf = ({ project_id, operation_id }: (typeof left)[number]) =>
          `${project_id} ${operation_id}`;
        const highest = new Map<string, number>();
        for (const one of all.flat())
          highest.set(keyOf(one), Math.max(highest.get(keyOf(one)) ?? 0, one.sequence ?? 0));
        expect(new Map(left.map((one) => [keyOf(one), one.sequence]))).toEqual(highest);
        expect(left).toHaveLength(highest.size);
        expect(left).toEqual(left.toSorted((a, b) => rankOf(b.severity) - rankOf(a.severity)));
      }),
    );
  });

  test('leaves what does not say how something stands as it is', () => {
    const about = { operation_id: undefined, kind: 'usage' };
    const all = [[aNotice({ ...about, id: 'a' })], [aNotice({ ...about, id: 'b' })]];

    expect(latestOfEach(all)).toEqual(all);
  });

  test('is one notice of an account that could not be read and can be read again', () => {
    const account = {
      operation_id: undefined,
      project_id: undefined,
      action: undefined,
      sequence: undefined,
    };
    const lost = aNotice({ ...account, kind: 'account_degraded', observed_at: '2026-01-15T12:00:00.000Z' });
    const back = aNotice({ ...account, kind: 'account_recovered', observed_at: '2026-01-15T12:09:00.000Z' });

    expect(latestOfEach([[back], [lost]])).toEqual([[back]]);
  });
});
