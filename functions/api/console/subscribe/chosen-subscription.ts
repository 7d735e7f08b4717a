/** Derives from a choice what the page shows: the pattern, the faults, the file, and how the rule would have done. */

import { EVENT_SOURCE, TEST_EVENT_SOURCE } from '../../../../shared/events/event-names.ts';
import { matchesEventPattern, parseEventPattern } from '../../../../shared/events/pattern/event-pattern.ts';
import {
  type SubscriptionFile,
  subscriptionFile,
} from '../../../../shared/events/subscription/files/subscription-file.ts';
import {
  type EventPatternJson,
  faultsOf,
  PATTERN_CHARACTERS_MAX,
  subscriptionPattern,
} from '../../../../shared/events/subscription/subscription-pattern.ts';
import { subscriptionSummary } from '../../../../shared/events/subscription/subscription-summary.ts';
import type { FeedEvent } from '../../read-model/feed-event.ts';
import type { SubscriptionChoice } from './subscription-choice.ts';

export type ChosenSubscription =
  | {
      readonly kind: 'usable';
      readonly summary: string;
      readonly pattern: EventPatternJson;
      readonly file: SubscriptionFile;
    }
  /** Each fault is a sentence that says what to change. */
  | { readonly kind: 'faulty'; readonly faults: readonly string[] };

const TOO_LONG_WITH_TESTS = `With test events the pattern has more than the ${PATTERN_CHARACTERS_MAX} characters that EventBridge accepts by default; leave test events out, or name fewer projects.`;

export function chosenSubscription(choice: SubscriptionChoice, busName: string): ChosenSubscription {
  const { subscription, target, form, name, takesTests } = choice;
  const faults = faultsOf(subscription);
  if (faults.length > 0) return { kind: 'faulty', faults };
  const summary = subscriptionSummary(subscription, target);
  const pattern = {
    ...subscriptionPattern(subscription),
    source: takesTests ? [EVENT_SOURCE, TEST_EVENT_SOURCE] : [EVENT_SOURCE],
  };
  if (JSON.stringify(pattern).length > PATTERN_CHARACTERS_MAX)
    return { kind: 'faulty', faults: [TOO_LONG_WITH_TESTS] };
  return {
    kind: 'usable',
    summary,
    pattern,
    file: subscriptionFile({ name, busName, pattern, target, summary }, form),
  };
}

/** Returns the events that a rule with the pattern would have delivered. */
export function matchedBy(pattern: EventPatternJson, events: readonly FeedEvent[]): readonly FeedEvent[] {
  const parsed = parseEventPattern(pattern);
  return events.filter(({ source, detail_type, detail }) =>
    matchesEventPattern(parsed, { source, 'detail-type': detail_type, detail }),
  );
}
