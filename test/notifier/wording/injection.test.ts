/** Puts eighty hostile texts into every field of an alert and parses what is sent: none of them has any effect. */

import { describe, expect, test } from 'vitest';
import { renderMail } from '../../../functions/notifier/channels/email.ts';
import { pagerDutyEvents } from '../../../functions/notifier/channels/pagerduty-events.ts';
import { renderSlack } from '../../../functions/notifier/channels/slack-message.ts';
import { webhookPayload } from '../../../functions/notifier/channels/webhook.ts';
import { noticeOf } from '../../../functions/notifier/deciding/notice-of-event.ts';
import { anEvent } from '../channel-under-test.ts';

const CORES = [
  '<!channel>',
  '<!here|x>',
  '<!everyone>',
  '<@U012AB3CD>',
  '<#C012AB3CD|general>',
  '<!subteam^S012AB3CD>',
  '<https://evil.example|Open the operation>',
  '<!date^1392734382^{date}^https://evil.example|x>',
  '&lt;!channel&gt;',
  '`*bold*`',
  '```\n<!channel>\n```',
  '\r\nBcc: victim@example.com',
  '\u2028Subject: paid',
  '\u202Egpj.exe\u202C',
  '\u0000\u0007\u001B[31mred\u001B[0m',
  'https://evil.example/login www.evil.example mailto:x@evil.example',
];
/** Each text stands alone, inside words, twice, behind many words, and behind an escaped beginning: 16 x 5 = 80. */
const WRAPPERS: readonly ((core: string) => string)[] = [
  (core) => core,
  (core) => `disk ${core} full`,
  (core) => `${core}${core}`,
  (core) => `${'word '.repeat(300)}${core}`,
  (core) => `\`\\&<${core}>`,
];
const PAYLOADS = CORES.flatMap((core) => WRAPPERS.map((wrap) => wrap(core)));
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** A time of the bridge's own consists of a number and fixed words. */
const OWN_TIME = /<!date\^\d+\^\{date_short_pretty\} \{time_secs\}\|[\d: -]+ UTC>/g;
const LINKS = { consoleBaseUrl: 'https://bridge.example', runbookUrl: 'https://bridge.example/runbook' };

function noticeWith(payload: string, id = 'a') {
  const texts = {
    project_id: payload,
    operation_id: payload,
    action: payload,
    branch_id: payload,
    endpoint_id: payload,
    error: payload,
    command: { client_id: payload, request_id: payload },
  };
  const notice = noticeOf('Operation State Changed', anEvent({ id, ...texts }).detail);
  if (notice === undefined) throw new Error('a failure makes no notice');
  return notice;
}

/** Returns all texts of the message that Slack interprets. */
function slackTexts(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = 'text' in value && typeof value.text === 'string' ? [value.text] : [];
  return [...own, ...Object.values(value).flatMap(slackTexts)];
}

/** Returns every text in the value, wherever it stands. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

describe('text from outside', () => {
  test('there are eighty payloads', () => {
    expect(new Set(PAYLOADS).size).toBe(80);
  });

  test.each([1, 2])('cannot mention, link or format in a Slack message of %i notices', (count) => {
    for (const payload of PAYLOADS) {
      const notices = Array.from({ length: count }, (_, index) => noticeWith(payload, `event-${index}`));
      const texts = slackTexts(renderSlack([notices], LINKS));

      expect(texts.length).toBeGreaterThan(3);
      for (const text of texts) {
        const controls = [...text.replaceAll(OWN_TIME, '').matchAll(/<([^>]*)>/g)].map(
          (match) => match[1] ?? '',
        );
        expect(controls.filter((control) => !control.startsWith('https://bridge.example/'))).toEqual([]);
        // Slack interprets control sequences in code spans as well.
        for (const [span] of text.matchAll(/`[^`]*`/g)) expect(span).not.toMatch(/[<>]/);
        // Outside of code spans no part of the payload is left that Slack or a reader could mistake for our text.
        const outside = text.replaceAll(/`[^`]*`/g, '').replaceAll(/<[^>]*>/g, '');
        expect(outside).not.toMatch(/evil|channel|U012|C012|S012|victim|`|&/);
        expect(text.replaceAll('\n', '')).not.toMatch(INVISIBLE);
        expect(text.length).toBeLessThanOrEqual(3_000);
      }
    }
  });

  test.each([1, 2])('cannot add headers, lines or links to an e-mail of %i notices', (count) => {
    const plain = Array.from({ length: count }, (_, index) => noticeWith('x y', `event-${index}`));
    const lineCount = renderMail([plain], LINKS).body.split('\n').length;
    for (const payload of PAYLOADS) {
      const notices = Array.from({ length: count }, (_, index) => noticeWith(payload, `event-${index}`));
      const { subject, body } = renderMail([notices], LINKS);

      expect(subject).toMatch(/^[A-Za-z0-9][\x20-\x7e]{0,98}$/);
      expect(body.split('\n').length).toBe(lineCount);
      expect(
        body.match(/https?:\/\/[^/\s]*/g)?.filter((origin) => origin !== 'https://bridge.example') ?? [],
      ).toEqual([]);
      expect(body).not.toMatch(/www\.|mailto:/);
      expect(body.replaceAll('\n', '')).not.toMatch(INVISIBLE);
    }
  });

  test.each([1, 2])(
    'cannot add lines or invisible characters at PagerDuty or by webhook, in %i notices',
    (count) => {
      for (const payload of PAYLOADS) {
        const notices = Array.from({ length: count }, (_, index) => noticeWith(payload, `event-${index}`));
        const { events } = pagerDutyEvents([notices], [], { links: LINKS, nowMs: 0 });

        for (const text of [...textsOf(events), ...textsOf(webhookPayload([notices], LINKS))]) {
          expect(text).not.toMatch(INVISIBLE);
          expect(text.length).toBeLessThanOrEqual(1_024);
        }
      }
    },
  );

  test('only ids of the usual shape become a link', () => {
    expect(renderMail([[noticeWith('quiet-sky-24665057')]], LINKS).body).toContain(
      'https://bridge.example/console/accounts/main/projects/quiet-sky-24665057/operations/quiet-sky-24665057',
    );
    expect(renderMail([[noticeWith('../../other')]], LINKS).body).not.toContain('/console/');
  });

  test('is cut on a word, and the cut is said', () => {
    const { body } = renderMail([[noticeWith('word '.repeat(300))]], {});

    expect(body).toContain('word ... (cut)');
    expect(body).not.toMatch(/wor \.\.\.|wo \.\.\.|w \.\.\./);
  });
});
