/** Serves what becomes of events after the bus has taken them: its rules, their targets, and whether these get anything. */

import type { BusReader } from '../read-model/bus-reader.ts';
import { isRuleVisibleTo, subscriptionsAnswer, subscriptionsOf } from '../read-model/subscriptions.ts';
import type { Route } from '../serving/route.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';

export interface SubscriptionRouteDeps {
  readonly busName: string;
  /** Resolves to a reading that is at most a minute old. */
  readonly readBus: BusReader['read'];
  /** Whether the bridge serves one account. */
  readonly hasOneAccount: () => boolean;
}

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
  ];
}
