import { describe, expect, test } from 'vitest';
import { createPagerDutyChannel } from '../../../functions/notifier/channels/pagerduty.ts';
import { noteOperations } from '../../../functions/notifier/deciding/incident-record.ts';
import type { Notice } from '../../../functions/notifier/deciding/notice.ts';
import { incidentOf } from '../../../shared/alerts/alert-items.ts';
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
  aNotice({ kind: 'failed', severity: 'warning', sequence: 1, ...fields });
const recovered = (fields: object = {}) =>
  aNotice({ kind: 'recovered', severity: 'info', status: 'finished', sequence: 9, ...fields });
const acknowledgedAs = (fields: object) =>
  aNotice({ kind: 'acknowledged', severity: 'info', acknowledged_by: 'slack:marta', ...fields });
const memoryOf = (...notices: readonly Notice[]) =>
  new Map([[incidentOf(notices[0] ?? aNotice()), noteOperations({}, notices)]]);
const open = (service: ReturnType<typeof createPagerDuty>) =>
  service.openAlerts().map(({ key, severity }) => `${key.split('|').at(-1)} ${severity}`);

describe('PagerDuty', () => {
  test('gets an alert of what fails, with its details and links, and has it resolved by the end', async () => {
    const { service, channel } = aPagerDuty();
    const first = failed();

    expect(await channel.send([[first]])).toEqual({ kind: 'sent' });
    const [alert] = service.openAlerts();
    expect(await channel.send([[recovered()]], undefined, memoryOf(first))).toEqual({ kind: 'sent' });

    expect(alert?.summary).toBe('Operation failed: start_compute in solitary-cell-58208823');
    expect(alert?.key).toBe('bridge.example.com|main|solitary-cell-58208823|start_compute|failing');
    expect(alert?.log[0]).toMatchObject({
      client: 'Operations Bridge',
      payload: {
        source: 'solitary-cell-58208823',
        component: 'start_compute',
        custom_details: { Operation: first.operation_id, Status: 'failed' },
      },
      links: [{ text: 'Open the operation' }, { text: 'Runbook' }],
    });
    expect(service.openAlerts()).toEqual([]);
  });

  test('keeps the alert open while another operation of the incident still fails', async () => {
    const { service, channel } = aPagerDuty();
    const both = [failed({ operation_id: 'one' }), failed({ operation_id: 'two' })];
    await channel.send([both]);

    await channel.send([[recovered({ operation_id: 'one' })]], undefined, memoryOf(...both));
    const afterOne = open(service);
    const standing = memoryOf(...both, recovered({ operation_id: 'one' }));
    await channel.send([[recovered({ operation_id: 'two' })]], undefined, standing);

    expect([afterOne, open(service)]).toEqual([['failing warning'], []]);
  });

  test('gets an alert of what has stalled, which the end of the operation resolves', async () => {
    const { service, channel } = aPagerDuty();
    const stalled = aNotice({ kind: 'stalled', severity: 'warning', sequence: undefined });
    await channel.send([[stalled]]);
    const begun = open(service);

    const ended = aNotice({ kind: 'stall_ended', severity: 'info', sequence: 3 });
    await channel.send([[ended]], undefined, memoryOf(stalled));

    expect([begun, open(service)]).toEqual([['stalled warning'], []]);
  });

  test('recognises a copy: one alert is open, and people are notified once', async () => {
    const { service, channel } = aPagerDuty();
    const message = [[failed()]];

    for (let copy = 0; copy < 3; copy++) await channel.send(message);

    expect([service.openAlerts().length, service.notificationCount()]).toEqual([1, 1]);
  });

  test('notifies people of the third failure although they have acknowledged the first', async () => {
    const { service, channel } = aPagerDuty();
    const first = failed();
    await channel.send([[first]]);
    service.acknowledge(service.alerts[0]?.key ?? '');

    const third = failed({ severity: 'critical', failures_count: 3, sequence: 3 });
    await channel.send([[third]], undefined, memoryOf(first));
    const escalated = [open(service), service.notificationCount()];
    await channel.send([[recovered()]], undefined, memoryOf(first, third));

    expect(escalated).toEqual([['failing warning', 'failing-critical critical'], 2]);
    expect(open(service)).toEqual([]);
  });

  test.each([
    ['failing', ['triggered', 'triggered', 'acknowledged']],
    ['repeated', ['triggered', 'acknowledged', 'acknowledged']],
    ['given_up', ['acknowledged', 'acknowledged', 'acknowledged']],
  ])(
    'has acknowledged what was known when a person did so at the bridge, and nothing worse (%s)',
    async (acknowledged_gravity, statuses) => {
      const { service, channel } = aPagerDuty();
      const first = failed();
      const third = failed({ severity: 'critical', failures_count: 3, operation_id: 'third' });
      const givenUp = aNotice({ kind: 'given_up', severity: 'critical', operation_id: 'given-up' });
      await channel.send([[first]]);
      await channel.send([[third]], undefined, memoryOf(first));
      await channel.send([[givenUp]], undefined, memoryOf(first, third));

      const acknowledged = acknowledgedAs({ acknowledged_gravity });
      await channel.send([[acknowledged]], undefined, memoryOf(first, third, givenUp));

      const order = ['person', 'failing-critical', 'failing'];
      const statusOf = (matter: string) =>
        service.alerts.find(({ key }) => key.endsWith(`|${matter}`))?.status;
      expect(order.map(statusOf)).toEqual(statuses);
    },
  );

  test('has acknowledged what was given up although nothing of the incident fails any more', async () => {
    const { service, channel } = aPagerDuty();
    const givenUp = aNotice({ kind: 'given_up', severity: 'critical' });
    await channel.send([[givenUp]]);

    await channel.send(
      [[acknowledgedAs({ acknowledged_gravity: 'given_up' })]],
      undefined,
      memoryOf(givenUp),
    );

    expect(service.alerts.map(({ status }) => status)).toEqual(['acknowledged']);
  });

  test('has acknowledged that an account cannot be read', async () => {
    const { service, channel } = aPagerDuty();
    const account = { project_id: undefined, action: undefined, operation_id: undefined };
    const degraded = aNotice({ kind: 'account_degraded', severity: 'critical', ...account });
    await channel.send([[degraded]]);

    const acknowledged = acknowledgedAs({ acknowledged_gravity: 'failing', ...account });
    await channel.send([[acknowledged]], undefined, memoryOf(degraded));

    expect(service.alerts.map(({ status }) => status)).toEqual(['acknowledged']);
  });

  test('leaves what was given up to a person, and resolves that it is failing', async () => {
    const { service, channel } = aPagerDuty();
    const first = failed();
    await channel.send([[first]]);
    const givenUp = aNotice({ kind: 'given_up', severity: 'critical', status: 'error', sequence: 2 });

    await channel.send([[givenUp]], undefined, memoryOf(first));
    const other = recovered({ operation_id: 'another' });
    await channel.send([[other]], undefined, memoryOf(first, givenUp));

    expect(open(service)).toEqual(['person critical']);
  });

  test('gets one alert for each incident of a message, and each operation is named in it', async () => {
    const { service, channel } = aPagerDuty();
    const one = Array.from({ length: 40 }, (_, index) => failed({ operation_id: `operation-${index}-end` }));
    const other = failed({ project_id: 'another-project' });

    await channel.send([one, [other]]);

    expect(service.alerts.map(({ summary }) => summary)).toEqual([
      'Operation failed: start_compute in solitary-cell-58208823 (40 alerts)',
      'Operation failed: start_compute in another-project',
    ]);
    const details = JSON.stringify(service.alerts[0]?.log);
    expect(one.filter(({ operation_id = '' }) => !details.includes(operation_id))).toEqual([]);
  });

  test('opens no alert for what ended before PagerDuty could take it', async () => {
    const { service, channel } = aPagerDuty();

    expect(await channel.send([[failed(), recovered()]])).toEqual({ kind: 'sent' });
    expect(service.alerts).toEqual([]);
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

    expect(await channel.send([notices])).toEqual({ kind: 'sent' });
    expect(service.alerts[0]?.key.length).toBeLessThanOrEqual(255);
  });

  test('two bridges that share a key do not resolve the alerts of each other', async () => {
    const clock = createVirtualClock(NOON_MS);
    const service = createPagerDuty(clock);
    const bridgeAt = (consoleBaseUrl: string) =>
      createPagerDutyChannel({
        credentials: { current: async () => createSecret(ROUTING_KEY) },
        links: { consoleBaseUrl },
        clock,
        fetch: service.fetch,
      });
    await bridgeAt('https://one.example.com').send([[failed()]]);

    await bridgeAt('https://two.example.com').send([[recovered()]], undefined, memoryOf(failed()));

    expect(service.openAlerts().length).toBe(1);
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

  test('more events than an integration takes in a minute end with 429, and the rest goes out later', async () => {
    const { service, channel, clock } = aPagerDuty();
    const messages = Array.from({ length: 7 }, (_, place) =>
      Array.from({ length: 20 }, (__, index) => [failed({ project_id: `project-${place}-${index}` })]),
    );

    const results = [];
    for (const message of messages) results.push((await channel.send(message)).kind);
    await clock.runUntil(NOON_MS + 60_000);
    const again = await channel.send(messages[6] ?? []);

    expect([results.at(-1), again.kind]).toEqual(['failed', 'sent']);
    expect([service.openAlerts().length, service.notificationCount()]).toEqual([140, 140]);
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
