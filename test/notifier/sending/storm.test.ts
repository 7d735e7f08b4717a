/**
 * Tests a storm within the limits of the real channels: how soon all of it is reported, how much is read, and how
 * large messages get.
 */

import { describe, expect, test } from 'vitest';
import type { NotifierDeps } from '../../../functions/notifier/alert-store.ts';
import { createAlertStore } from '../../../functions/notifier/alert-store.ts';
import { MAIL_PACE, renderMail } from '../../../functions/notifier/channels/email.ts';
import { createPagerDutyChannel } from '../../../functions/notifier/channels/pagerduty.ts';
import { SLACK_PACE } from '../../../functions/notifier/channels/slack.ts';
import { renderSlack } from '../../../functions/notifier/channels/slack-message.ts';
import { createWebhookChannel } from '../../../functions/notifier/channels/webhook.ts';
import { notify } from '../../../functions/notifier/notify.ts';
import { sweep } from '../../../functions/notifier/sweep.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import type { Table } from '../../../shared/store/table.ts';
import { aNotifier, anEvent, idsOf } from '../channel-under-test.ts';
import { createPagerDuty, ROUTING_KEY } from '../channels/pagerduty-stand-in.ts';
import { createReceiver, RECEIVER_URL, SIGNING_KEY } from '../channels/webhook-stand-in.ts';

const FAILURES = 5_000;
const PROJECTS = 500;
const READS_MAX = 22_000;
const TOLD_WITHIN_MS = 400_000;

/** Counts the items that are asked for by key, whether or not they exist. */
function counting(table: Table): { readonly table: Table; readonly readCount: () => number } {
  let count = 0;
  return {
    readCount: () => count,
    table: {
      ...table,
      get: (key) => {
        count += 1;
        return table.get(key);
      },
      getMany: (keys) => {
        count += keys.length;
        return table.getMany(keys);
      },
    },
  };
}

function aRealNotifier() {
  const notifier = aNotifier();
  const { table, readCount } = counting(notifier.table);
  const [slack, email] = [notifier.slack, notifier.email];
  const deps: NotifierDeps = {
    ...notifier.deps,
    store: createAlertStore(table, notifier.indexes, notifier.deps),
    channels: [
      { ...slack.channel, pace: SLACK_PACE },
      { ...email.channel, pace: MAIL_PACE },
    ],
  };
  return { ...notifier, deps, readCount };
}

/** Makes an id in the form that the upstream gives its operations. */
function uuid(random: { next(): number }): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random.next() * 16).toString(16)).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

describe('a storm of 5,000 failures of 500 projects', () => {
  test.each([0, 60, 200])(
    'that comes within %i s is reported within 400 s, for at most 22,000 reads',
    async (seconds) => {
      const random = seededRandom(seconds + 1);
      const { deps, slack, email, clock, wait, readCount } = aRealNotifier();
      const events = Array.from({ length: FAILURES }, () =>
        anEvent({
          project_id: `quiet-pond-${10_000_000 + Math.floor(random.next() * PROJECTS)}`,
          operation_id: uuid(random),
        }),
      );
      const startMs = clock.now();
      let sweptMs = startMs;
      for (let start = 0; start < FAILURES; start += 10) {
        const records = events.slice(start, start + 10).map((event, part) => ({
          messageId: `${start}-${part}`,
          body: JSON.stringify(event),
        }));
        expect((await notify(deps, records)).batchItemFailures).toEqual([]);
        wait((seconds * 1_000) / (FAILURES / 10));
        if (clock.now() - sweptMs < 60_000) continue;
        sweptMs = clock.now();
        await sweep(deps);
      }
      while (clock.now() < startMs + TOLD_WITHIN_MS - 60_000) {
        wait(60_000);
        await sweep(deps);
      }

      const expected = events.map(({ detail }) => detail.id).toSorted();
      expect(idsOf(slack).toSorted()).toEqual(expected);
      expect(idsOf(email).toSorted()).toEqual(expected);
      expect(readCount()).toBeLessThanOrEqual(READS_MAX);
      for (const { message } of slack.messages) {
        const [{ blocks }] = renderSlack(message, {}).attachments;
        expect(JSON.stringify(blocks).length).toBeLessThan(14_000);
        const sections = blocks.map((block) => (block as { text?: { text: string } }).text?.text ?? '');
        const lines = sections.slice(1).join('\n').split('\n');
        expect(lines.length).toBeLessThanOrEqual(21);
        if (message.flat().length > 20) expect(lines.at(-1)).toBe(`and ${message.flat().length - 20} more`);
        expect(Math.max(...sections.map((text) => text.length))).toBeLessThanOrEqual(3_000);
      }
      for (const { message } of email.messages)
        expect(Buffer.byteLength(renderMail(message, {}).body)).toBeLessThan(256 * 1_024);
    },
  );
});

describe('a storm at PagerDuty and the webhook', () => {
  test('is reported within 400 s without a refusal: on three pages at most, and every failure signed', async () => {
    const policy = { channels: { pagerduty: { severity_min: 'warning' } } };
    const { deps, clock, wait } = aNotifier(policy);
    const [service, receiver] = [createPagerDuty(clock), createReceiver()];
    const statuses = new Set<number>();
    const options = { links: {}, clock };
    const pager = createPagerDutyChannel({
      ...options,
      credentials: { current: async () => createSecret(ROUTING_KEY) },
      fetch: async (url, init) => {
        const response = await service.fetch(url, init);
        statuses.add(response.status);
        return response;
      },
    });
    const secret = JSON.stringify({ url: RECEIVER_URL, secret: SIGNING_KEY });
    const webhook = createWebhookChannel({
      ...options,
      credentials: { current: async () => createSecret(secret) },
      fetch: receiver.fetch,
    });
    const channels = [
      { name: 'pagerduty', ...pager },
      { name: 'webhook', ...webhook },
    ];
    const events = Array.from({ length: FAILURES }, (_, index) =>
      anEvent({
        project_id: `quiet-pond-${10_000_000 + (index % PROJECTS)}`,
        operation_id: `operation-${index}`,
      }),
    );
    const startMs = clock.now();
    for (let start = 0; start < FAILURES; start += 10) {
      const batch = events.slice(start, start + 10);
      await notify(
        { ...deps, channels },
        batch.map((event, part) => ({ messageId: `${part}`, body: JSON.stringify(event) })),
      );
    }
    while (clock.now() < startMs + TOLD_WITHIN_MS - 60_000) {
      wait(60_000);
      await sweep({ ...deps, channels });
    }

    expect(service.notificationCount()).toBeLessThanOrEqual(3);
    expect([...statuses]).toEqual([202]);
    expect(receiver.alertIds.size).toBe(FAILURES);
    const named = JSON.stringify(service.alerts);
    expect(
      events.filter(
        ({ detail }) => !named.includes(`[${(detail as { operation_id?: string }).operation_id}]`),
      ),
    ).toEqual([]);
  }, 60_000);
});
