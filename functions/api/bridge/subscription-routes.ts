/** Serves what becomes of events after the bus has taken them: its rules, their targets, and whether these get anything. */

import * as z from 'zod';
import { eventIdOfBus, followedDelivery } from '../read-model/bus-log.ts';
import type { BusReader } from '../read-model/bus-reader.ts';
import {
  isRuleVisibleTo,
  seesAllRules,
  subscriptionsAnswer,
  subscriptionsOf,
} from '../read-model/subscriptions.ts';
import { notFound } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';

export interface SubscriptionRouteDeps {
  readonly busName: string;
  /** Resolves to a reading that is at most a minute old. */
  readonly readBus: BusReader['read'];
  readonly followEvent: BusReader['follow'];
  /** Whether the bridge serves one account. */
  readonly hasOneAccount: () => boolean;
}

const followedAnswer = z.object({
  log: z
    .enum(['on', 'off', 'unread'])
    .describe(
      'off: EventBridge writes no log of the bus (`bus_log`), so nobody can say what became of one event.',
    ),
  reason: z.string().optional().describe('Why the log could not be read.'),
  received: z.boolean().optional().describe('Whether the log has the event. It can be a minute late.'),
  deliveries: z.array(followedDelivery).optional(),
});

export type FollowedAnswer = z.output<typeof followedAnswer>;

export function subscriptionRoutes(modelOf: ModelOf, deps: SubscriptionRouteDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'listSubscriptions',
        path: '/subscriptions',
        summary: 'Who subscribes, and whether they get their events',
        description:
          "The rules of the bus with their targets, EventBridge's own figures of the last 24 hours, and how many messages lie in the dead-letter queues that the configuration lets the bridge see. An answer can be a minute old. A bridge of several accounts shows a caller without `accounts:read` only rules for the caller's own account.",
        access: 'operations:read',
        isAccountWide: true,
        answer: subscriptionsAnswer,
      },
      async ({ caller }) => {
        const isVisible = isRuleVisibleTo(caller, deps.hasOneAccount());
        return { status: 200, body: subscriptionsOf(deps.busName, await deps.readBus(), isVisible) };
      },
    ),
    readRoute(
      modelOf,
      {
        id: 'followTestEvent',
        path: '/events/test/{event_id}',
        summary: 'Follow a test event to the targets of the bus',
        description:
          'Says by the log of the bus which rules have taken the event with this id of EventBridge in the last hour, and what became of it at each target. Rules that the caller does not see are left out.',
        access: 'operations:read',
        isAccountWide: true,
        answer: followedAnswer,
      },
      async ({ caller, ids }) => {
        const { data: eventId } = eventIdOfBus.safeParse(ids['event_id']);
        if (eventId === undefined) throw notFound();
        const trail = await deps.followEvent(eventId);
        if (trail.kind === 'off') return { status: 200, body: { log: 'off' } };
        if (trail.kind === 'unread') return { status: 200, body: { log: 'unread', reason: trail.reason } };
        const { received, deliveries } = trail;
        if (seesAllRules(caller, deps.hasOneAccount()))
          return { status: 200, body: { log: 'on', received, deliveries } };
        const { rules } = await deps.readBus();
        const seen = new Set(rules.filter(isRuleVisibleTo(caller, false)).map(({ name }) => name));
        const own = deliveries.filter(({ rule }) => seen.has(rule));
        return { status: 200, body: { log: 'on', received, deliveries: own } };
      },
    ),
  ];
}
