/**
 * Puts secrets into every text of the upstream that an alert repeats. None is in any message, and none in a stored
 * notice's error.
 */

import { describe, expect, test } from 'vitest';
import { renderMail } from '../../../functions/notifier/channels/email.ts';
import { pagerDutyEvents } from '../../../functions/notifier/channels/pagerduty-events.ts';
import { renderSlackIncident } from '../../../functions/notifier/channels/slack-incident.ts';
import { plainSlack, renderSlack } from '../../../functions/notifier/channels/slack-message.ts';
import { webhookPayload } from '../../../functions/notifier/channels/webhook.ts';
import type { Notice } from '../../../functions/notifier/deciding/notice.ts';
import { noticeOf } from '../../../functions/notifier/deciding/notice-of-event.ts';
import { anEvent } from '../channel-under-test.ts';

const CANARY = 'canary0123456789abcd';

const SECRETS: readonly (readonly [string, string])[] = [
  [
    'the password of a connection string',
    `postgresql://role:${CANARY}@ep-quiet-1.example:5432/db?sslmode=require`,
  ],
  ['a password without a user', `redis://:${CANARY}@host`],
  ['a connection string that is cut off', `postgres://role:${CANARY}`],
  ['a password in a keyword string', `host=h user=u password=${CANARY} dbname=d`],
  ['a quoted password in a keyword string', `host=h password='${CANARY} ${CANARY}' dbname=d`],
  ['a password in JSON', `{"user":"u","password":"${CANARY}"}`],
  ['a password in JSON within JSON', `{\\"user\\":\\"u\\",\\"password\\":\\"${CANARY}\\"}`],
  ['a client secret in JSON', `{"clientSecret" : "${CANARY}"}`],
  ['an API key in a query', `GET /x?a=b&api_key=${CANARY}`],
  ['a key of the upstream', `napi_${CANARY}`],
  ['a password of the upstream', `npg_${CANARY}`],
  ['a token of the bridge', `opb_0123456789abcdef_${CANARY}`],
  ['an authorization header', `Authorization: Bearer ${CANARY}`],
  ['basic credentials', `authorization: basic ${CANARY}`],
  ['a JSON Web Token', `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.${CANARY}`],
  ['a private key', `-----BEGIN RSA PRIVATE KEY-----\n${CANARY}\n-----END RSA PRIVATE KEY-----`],
  ['half a private key', `-----BEGIN PRIVATE KEY-----\n${CANARY}`],
  ['an AWS secret key', `aws_secret_access_key = ${CANARY}`],
  ['a Slack token', `xoxb-12345-${CANARY}`],
  ['a GitHub token', `github_pat_${CANARY}`],
];

const FIELDS = [
  'error',
  'project_id',
  'operation_id',
  'action',
  'branch_id',
  'endpoint_id',
  'client_id',
] as const;
type Field = (typeof FIELDS)[number];

/** A secret stands alone, within a sentence, and where an error is cut off. */
const PLACES: readonly (readonly [string, (secret: string) => string])[] = [
  ['alone', (secret) => secret],
  ['in a sentence', (secret) => `could not connect with ${secret} after 3 attempts`],
  ['behind many words', (secret) => `${'word '.repeat(22)}${secret}`],
  ['at the end of what is shown', (secret) => `${'x'.repeat(575)} ${secret}`],
  ['at the end of what is stored', (secret) => `${'x'.repeat(675)} ${secret}`],
];

const LINKS = { consoleBaseUrl: 'https://bridge.example', runbookUrl: 'https://bridge.example/runbook' };

function noticeWith(field: Field, text: string, id = 'a'): Notice {
  const fields =
    field === 'client_id' ? { command: { client_id: text, request_id: 'r' } } : { [field]: text };
  const notice = noticeOf('Operation State Changed', anEvent({ id, ...fields }).detail);
  if (notice === undefined) throw new Error('A failure is reported');
  return notice;
}

/** Returns everything that reaches people, by the channel that brings it. */
function messagesWith(field: Field, text: string): Readonly<Record<string, string>> {
  const of = (count: number) =>
    Array.from({ length: count }, (_, place) => noticeWith(field, text, `event-${place}`));
  const [first] = of(1);
  if (first === undefined) throw new Error('There is one');
  const by = { client_id: text, reason: text };
  const care = { acknowledged: { ...by, at: first.observed_at }, muted: { ...by, until: first.observed_at } };
  const thread = { channel: 'C1', ts: '1', first, toldCount: 2, isOver: false, has_replies: true, care };
  const head = (state: 'failing' | 'given_up' | 'recovered') => {
    const standing = { state, observed_at: first.observed_at };
    return renderSlackIncident(thread, { one: standing, [text]: standing }, LINKS);
  };
  const texts: Record<string, unknown> = {
    'a card on Slack': renderSlack([of(1)], LINKS),
    'a list on Slack': renderSlack([of(2)], LINKS),
    'a storm on Slack': renderSlack([of(30)], LINKS),
    'a plain message on Slack': plainSlack([of(2)]),
    'a storm as a plain message on Slack': plainSlack([of(250)]),
    'the head of an incident': [head('failing'), head('given_up'), head('recovered')],
    'an e-mail': renderMail([of(1)], LINKS),
    'an e-mail of many': renderMail([of(3)], LINKS),
    'an alert at PagerDuty': pagerDutyEvents([of(1)], [], { links: LINKS, nowMs: 0 }),
    'an alert of many at PagerDuty': pagerDutyEvents([of(3)], [], { links: LINKS, nowMs: 0 }),
    'a webhook': webhookPayload([of(3)], LINKS),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, JSON.stringify(value)]));
}

/** A part of a secret is one as well. */
const holdsCanary = (text: string) => text.includes(CANARY.slice(0, 12));

describe.each(SECRETS)('%s', (_name, secret) => {
  test.each(PLACES)('is in no alert, %s in any field', (_place, placed) => {
    for (const field of FIELDS) {
      const shown = Object.entries(messagesWith(field, placed(secret)));
      const found = shown.filter(([, text]) => holdsCanary(text)).map(([name]) => name);

      expect({ field, found }).toEqual({ field, found: [] });
    }
  });

  test.each(PLACES)('is in no error that is stored for an alert, %s', (_place, placed) => {
    expect(JSON.stringify(noticeWith('error', placed(secret)))).not.toContain(CANARY.slice(0, 12));
  });
});

test('what is no secret stays as it was', () => {
  const error =
    'FATAL: password authentication failed for user "app" at postgres://ep-1.example:5432/db?sslmode=require (attempt=3, timeout=10s), see https://status.example/a?b=c#d: e@f.example';

  expect(noticeWith('error', error).error).toBe(error);
  expect(messagesWith('error', error)['a card on Slack']).toContain(
    'password authentication failed for user',
  );
});
