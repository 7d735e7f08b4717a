/** Has a channel of alerts tried: one alert that says of itself that nothing has happened. */

import * as z from 'zod';
import { waitingNotice } from '../../../shared/alerts/incidents.ts';
import { HOUR_MS, isoTimeOf } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Table } from '../../../shared/store/table.ts';
import { notFound } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { BRIDGE_MOUNT } from './bridge-route-ids.ts';

export interface ChannelRouteDeps {
  readonly table: Table;
  readonly alertChannels: readonly string[];
  readonly newId: () => string;
  readonly clock: Clock;
}

/** A channel that is not set up never takes it, and should not get it when it is set up later. */
const TEST_KEPT_MS = HOUR_MS;

export function channelRoutes({ table, alertChannels, newId, clock }: ChannelRouteDeps): readonly Route[] {
  return [
    {
      id: 'testChannel',
      method: 'POST',
      path: `${BRIDGE_MOUNT}/channels/{channel}/test`,
      summary: 'Send a test alert on a channel',
      description:
        'The notifier sends it within a minute, as critical and marked as a test: people are rung. It tests the whole way, and no incident begins. A mute of everything holds it back.',
      group: 'Bridge',
      access: 'alerts:mute',
      isAccountWide: true,
      status: 202,
      answer: z.object({ alert_id: z.string() }),
      async handle({ caller, ids }) {
        const { channel = '' } = ids;
        if (!alertChannels.includes(channel)) throw notFound();
        const nowMs = clock.now();
        const id = `test-${newId()}`;
        const notice = {
          id,
          kind: 'given_up',
          severity: 'critical',
          account_id: caller.account_id,
          action: 'channel_test',
          observed_at: isoTimeOf(nowMs),
          client_id: caller.client_id,
          is_test: true,
        } as const;
        const { key, set, condition } = waitingNotice(channel, notice, nowMs);
        const expires_at = Math.ceil((nowMs + TEST_KEPT_MS) / 1_000);
        await table.update({ key, set: { ...set, expires_at }, condition });
        return { status: 202, body: { alert_id: id } };
      },
    },
  ];
}
