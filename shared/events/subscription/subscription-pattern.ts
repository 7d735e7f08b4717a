/** Derives the EventBridge pattern of a subscription, and says what is wrong with a subscription that cannot work. */

import { EVENT_SOURCE } from '../event-names.ts';
import { type SubjectName, type SubscriptionSubject, subjectOf } from './subscription-subjects.ts';

/** An empty list of a filter leaves it out, so that it limits nothing. */
export interface Subscription {
  readonly subject: SubjectName;
  readonly projects: readonly string[];
  readonly accounts: readonly string[];
  readonly statuses: readonly string[];
  readonly actions: readonly string[];
  /**
   * A replay publishes copies of past events. EventBridge marks those from its archive with `replay-name`, and the
   * bridge marks those from its table with an entry in `resources`.
   */
  readonly replays: 'included' | 'left_out';
}

export type EventPatternJson = Readonly<Record<string, unknown>>;

/** EventBridge accepts a pattern of at most this many characters by default (User Guide, "EventBridge quotas"). */
export const PATTERN_CHARACTERS_MAX = 2_048;

/** Returns the pattern as EventBridge reads it. It is that of a usable subscription only if `faultsOf` is empty. */
export function subscriptionPattern(subscription: Subscription): EventPatternJson {
  const { detailTypes } = subjectOf(subscription.subject);
  const detail = detailPattern(subscription);
  return {
    source: [EVENT_SOURCE],
    ...(detailTypes.length > 0 && { 'detail-type': detailTypes }),
    ...(subscription.replays === 'left_out' && {
      'replay-name': [{ exists: false }],
      resources: [{ exists: false }],
    }),
    ...(Object.keys(detail).length > 0 && { detail }),
  };
}

function detailPattern({ subject, accounts, projects, actions, statuses }: Subscription): EventPatternJson {
  const { conditions, statusField = 'status' } = subjectOf(subject);
  return {
    ...anyOf('account_id', accounts),
    ...anyOf('project_id', projects),
    ...anyOf('action', actions),
    ...anyOf(statusField, statuses),
    ...conditions,
  };
}

function anyOf(field: string, values: readonly string[]): EventPatternJson {
  return values.length === 0 ? {} : { [field]: values };
}

/** Returns one sentence for each fault: what is wrong, and what to do. */
export function faultsOf(subscription: Subscription): readonly string[] {
  const { subject, projects, statuses, actions } = subscription;
  const definition = subjectOf(subject);
  return [
    ...valueFaults(subscription),
    ...(projects.length > 0 && !definition.hasProject ? [noField(subject, 'project')] : []),
    ...(actions.length > 0 && !definition.hasAction ? [noField(subject, 'action')] : []),
    ...(statuses.length > 0 ? statusFaults(subject, definition, statuses) : []),
    ...sizeFaults(subscription),
  ];
}

/** Project ids and the like are far shorter; a comment of one line has to hold them. */
const VALUE_CHARACTERS_MAX = 200;

function valueFaults({ projects, accounts, statuses, actions }: Subscription): readonly string[] {
  const values = [...projects, ...accounts, ...statuses, ...actions];
  const unusable = values.filter(
    (value) => value.length === 0 || value.length > VALUE_CHARACTERS_MAX || !/^[ -~]*$/.test(value),
  );
  return unusable.map(
    (value) =>
      `${JSON.stringify(value)} is no value of a field; it takes 1 to ${VALUE_CHARACTERS_MAX} printable characters of ASCII.`,
  );
}

function noField(subject: SubjectName, filter: string): string {
  return `The events of "${subjectOf(subject).flag}" have no ${filter}; leave the filter by ${filter} out.`;
}

function statusFaults(
  subject: SubjectName,
  { statusField, statuses: known, flag }: SubscriptionSubject,
  statuses: readonly string[],
): readonly string[] {
  if (subject === 'failures')
    return [
      `"${flag}" decides by itself which changes are failures; leave the filter by status out, or choose "operations".`,
    ];
  if (statusField === undefined) return [noField(subject, 'status')];
  const never = known === undefined ? [] : statuses.filter((status) => !known.includes(status));
  return never.map(
    (status) =>
      `No event of "${flag}" has the status "${status}"; its events have ${known?.join(', ')}. "operations" has every status.`,
  );
}

function sizeFaults(subscription: Subscription): readonly string[] {
  const characters = JSON.stringify(subscriptionPattern(subscription)).length;
  if (characters <= PATTERN_CHARACTERS_MAX) return [];
  return [
    `The pattern has ${characters} characters, and EventBridge accepts ${PATTERN_CHARACTERS_MAX} by default; name fewer projects, or divide them between two subscriptions.`,
  ];
}
