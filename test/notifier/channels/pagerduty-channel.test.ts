import { describe, expect, test } from 'vitest';
import { createPagerDutyChannel } from '../../../functions/notifier/channels/pagerduty.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { NOON_MS } from '../../builders.ts';
import { aNotice } from '../channel-under-test.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { createPagerDuty, ROUTING_KEY } from './pagerduty-stand-in.ts';

const LINKS = {
  consoleBaseUrl: 'https://bridge.example.com',
  runbookUrl: 'https://bridge.example.com/runbook',
};

function aPagerDuty({
  secret = ROUTING_KEY,
  links = LINKS,
  answer,
}: {
  readonly secret?: string;
  readonly links?: typeof LINKS;
  readonly answer?: (init: RequestInit | undefined) => Promise<Response>;
} = {}) {
  const clock = createVirtualClock(NOON_MS);
  const service = createPagerDuty(clock);
  const channel = createPagerDutyChannel({
    credentials: { current: async () => createSecret(secret) },
    links,
    clock,
    fetch: (url, init) => answer?.(init) ?? service.fetch(url, init),
  });
  return { service, channel, clock };
}

const failed = (fields: object = {}) =>
  aNotice({ kind: 'failed', severity: 'critical', failures_count: 3, sequence: 1, ...fields });

describe('PagerDuty', () => {
  test('gets a page of what fails, with its details and links', async () => {
    const { service, channel } = aPagerDuty();

    expect(await channel.send([[failed()]])).toMatchObject({
      kind: 'sent',
      pages: [{ gravity: 'repeated' }],
    });

    const [alert] = service.openAlerts();
    expect(alert?.key).toMatch(
      /^bridge\.example\.com\|main\|solitary-cell-58208823\|start_compute\|repeated\|2026-/,
    );
    expect(alert?.log[0]).toMatchObject({
      client: 'Operations Bridge',
      payload: {
        source: 'solitary-cell-58208823',
        component: 'start_compute',
        custom_details: { Operation: failed().operation_id, Status: 'failed' },
      },
      links: [{ text: 'Open in the console' }, { text: 'Runbook' }],
    });
  });

  test('recognises a copy: one page is open, and people are notified once', async () => {
    const { service, channel } = aPagerDuty();
    const message = [[failed()]];

    for (let copy = 0; copy < 3; copy++) await channel.send(message);

    expect([service.openAlerts().length, service.notificationCount()]).toEqual([1, 1]);
  });

  test('opens no page for what ended before PagerDuty could take it', async () => {
    const { service, channel } = aPagerDuty();
    const recovered = aNotice({ kind: 'recovered', severity: 'info', status: 'finished', sequence: 9 });

    expect(await channel.send([[failed(), recovered]])).toMatchObject({ kind: 'sent', pages: [] });
    expect(service.hosts).toEqual([]);
  });

  test('takes 250 alerts with the longest texts, and hostile ones', async () => {
    const { service, channel } = aPagerDuty();
    const notices = Array.from({ length: 250 }, (_, index) =>
      failed({
        operation_id: `${index}`.padEnd(400, 'é'),
        project_id: '\u{1f600}'.repeat(300),
        action: '\u0000'.repeat(300),
        error: 'x\n'.repeat(2_000),
        since: 'yesterday',
        observed_at: '',
      }),
    );

    expect(await channel.send([notices])).toMatchObject({ kind: 'sent' });
    expect(service.alerts[0]?.key.length).toBeLessThanOrEqual(255);
  });

  test('is reached in the region that the secret names', async () => {
    const secret = JSON.stringify({ routing_key: ROUTING_KEY, region: 'eu' });
    const { service, channel } = aPagerDuty({ secret });

    await channel.send([[failed()]]);

    expect(service.hosts).toEqual(['events.eu.pagerduty.com']);
  });

  test.each([
    ['a key that PagerDuty does not know', 'f'.repeat(32), 'PagerDuty answered 400: Invalid routing key'],
    ['a secret that is no key', 'u+not-a-key', 'the secret is no routing key'],
    ['JSON with a key too many', '{"routing_key": "0", "tenant": 1}', 'the secret is no routing key'],
  ])('%s is a failure of the channel, and the alert is not given up', async (_what, secret, reason) => {
    const { channel } = aPagerDuty({ secret });

    expect(await channel.send([[failed()]])).toMatchObject({ kind: 'failed', reason });
  });

  test('an event that PagerDuty finds invalid is refused, with its words and without the key', async () => {
    const errors = [`'payload.source' is wrong for ${ROUTING_KEY}`];
    const { channel } = aPagerDuty({
      answer: async () =>
        Response.json({ status: 'invalid event', message: 'Invalid', errors }, { status: 400 }),
    });

    const result = await channel.send([[failed()]]);

    expect(result).toEqual({
      kind: 'refused',
      reason: "PagerDuty answered 400: Invalid; 'payload.source' is wrong for [hidden]",
    });
  });

  test.each([
    [429, 'Too many'],
    [500, ''],
    [400, '<html>a page of a proxy</html>'],
    [404, ''],
    [302, ''],
  ])('an answer with %i is a failure, after which the message is sent again', async (status, body) => {
    const { channel } = aPagerDuty({ answer: async () => new Response(body, { status }) });

    expect(await channel.send([[failed()]])).toMatchObject({
      kind: 'failed',
      reason: `PagerDuty answered ${status}`,
    });
  });

  test('an answer that does not come is a failure of unknown outcome, which does not name the key', async () => {
    const { channel, clock } = aPagerDuty({
      answer: (init) => clock.sleep(60_000, init?.signal ?? undefined).then(() => new Response()),
    });

    const result = channel.send([[failed()]]);
    await clock.runUntil(NOON_MS + 60_000);

    expect(await result).toEqual({ kind: 'failed', reason: 'TimeoutError', isUncertain: true });
  });
});
