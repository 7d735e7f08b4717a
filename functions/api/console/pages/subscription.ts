/**
 * Derives a subscription from what people have chosen in the address of a page: its pattern, its faults, its file,
 * how its rule would have done, and an event that it takes.
 */

import { eventCatalog } from '../../../../shared/events/catalog.ts';
import type { EventDefinition } from '../../../../shared/events/define-event.ts';
import { EVENT_SOURCE, TEST_EVENT_SOURCE } from '../../../../shared/events/event-names.ts';
import { matchesEventPattern, parseEventPattern } from '../../../../shared/events/event-pattern.ts';
import {
  defaultName,
  type EventPatternJson,
  FILE_FORMS,
  type FileForm,
  faultsOf,
  isSubscriptionName,
  nameFaults,
  PATTERN_CHARACTERS_MAX,
  SUBJECT_NAMES,
  type SubjectName,
  type Subscription,
  subjectOf,
  subscriptionPattern,
  subscriptionSummary,
  TARGET_KINDS,
  type TargetKind,
} from '../../../../shared/events/subscription/subscription.ts';
import {
  type SubscriptionFile,
  subscriptionFile,
} from '../../../../shared/events/subscription/subscription-file.ts';
import { isTerminal } from '../../../../shared/records/operation-record.ts';
import { isoTimeOf } from '../../../../shared/records/time.ts';
import type { FeedEvent, FeedFilter } from '../../read-model/event-feed.ts';
import type { ShownRule } from '../../read-model/subscriptions.ts';

interface ChosenRule {
  readonly subscription: Subscription;
  readonly target: TargetKind;
  /** The rule also takes events with the source of test events. */
  readonly takesTests: boolean;
}

export interface SubscriptionChoice extends ChosenRule {
  readonly form: FileForm;
  /** The rule and the file have this name. */
  readonly name: string;
  /** The page came from a filter that no subject has exactly, and shows the subscription to every event. */
  readonly isWider: boolean;
}

/** `accountId` is the visitor's account. Whatever cannot be read becomes the default. */
export function choiceOf(query: URLSearchParams, accountId: string): SubscriptionChoice {
  const values = (name: string) => listIn(query.get(name) ?? '');
  const asked = SUBJECT_NAMES.find((name) => name === query.get('subject'));
  const isForm = asked !== undefined;
  const meant = subjectOfFilter({
    detail_type: query.get('detail_type') || undefined,
    status: query.get('status') || undefined,
  });
  const subject = asked ?? meant.subject;
  const name = query.get('name') ?? '';
  const rule: ChosenRule = {
    subscription: {
      subject,
      projects: values(query.has('project_id') ? 'project_id' : 'project'),
      accounts: query.has('own_account') ? [accountId] : [],
      statuses: isForm ? values('status') : meant.statuses,
      actions: values('action'),
      replays: query.has('no_replays') ? 'left_out' : 'included',
    },
    target: oneOf(TARGET_KINDS, query.get('target'), 'sqs'),
    // A form without the box ticked leaves the parameter out.
    takesTests: isForm ? query.has('tests') : true,
  };
  return {
    ...rule,
    form: oneOf(FILE_FORMS, query.get('form'), 'cloudformation'),
    name: isSubscriptionName(name) ? name : defaultNameOf(rule),
    isWider: !isForm && meant.isWider,
  };
}

/** Returns the query string, without a question mark, from which `choiceOf` reads the same choice. */
export function queryOfChoice({ subscription, target, form, name, takesTests }: SubscriptionChoice): string {
  const { subject, projects, accounts, statuses, actions, replays } = subscription;
  const query = new URLSearchParams({ subject, target, form, name });
  for (const [field, values] of Object.entries({ project: projects, action: actions, status: statuses }))
    if (values.length > 0) query.set(field, values.join(','));
  if (accounts.length > 0) query.set('own_account', 'on');
  if (replays === 'left_out') query.set('no_replays', 'on');
  if (takesTests) query.set('tests', 'on');
  return query.toString();
}

/**
 * People separate values by commas or spaces. No value of a field has either. The front door bounds the address, and a
 * pattern that becomes too long is a fault that the page shows.
 */
function listIn(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((value) => value !== ''))];
}

function oneOf<Names extends object>(
  known: Names,
  asked: string | null,
  otherwise: keyof Names,
): keyof Names {
  return asked !== null && Object.hasOwn(known, asked) ? (asked as keyof Names) : otherwise;
}

export function defaultNameOf(rule: ChosenRule): string {
  return defaultName(rule.subscription.subject, patternOf(rule), rule.target);
}

function patternOf({ subscription, takesTests }: ChosenRule): EventPatternJson {
  return {
    ...subscriptionPattern(subscription),
    source: takesTests ? [EVENT_SOURCE, TEST_EVENT_SOURCE] : [EVENT_SOURCE],
  };
}

export interface MeantSubject {
  readonly subject: SubjectName;
  /** These statuses are left to filter by. The subject itself may already say it. */
  readonly statuses: readonly string[];
  /** No subject has exactly these events, so that of every event is taken. */
  readonly isWider: boolean;
}

/** A filter of the list compares fields, and people who filter by `failed` mean every failed attempt. */
export function subjectOfFilter({ detail_type: detailType, status }: FeedFilter): MeantSubject {
  const isOfOperations = detailType === undefined || detailType === 'Operation State Changed';
  if (isOfOperations && status === 'failed') return { subject: 'failures', statuses: [], isWider: false };
  if (isOfOperations && (status !== undefined || detailType !== undefined))
    return { subject: 'operations', statuses: status === undefined ? [] : [status], isWider: false };
  if (detailType === undefined) return { subject: 'failures', statuses: [], isWider: false };
  const subject = SUBJECT_NAMES.find((name) => subjectOf(name).detailTypes.includes(detailType));
  return { subject: subject ?? 'everything', statuses: [], isWider: subject === undefined };
}

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
  const { subscription, target, form, name } = choice;
  const faults = [...faultsOf(subscription), ...nameFaults(name, busName)];
  if (faults.length > 0) return { kind: 'faulty', faults };
  const summary = subscriptionSummary(subscription, target);
  const pattern = patternOf(choice);
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

export interface TestEvent {
  readonly detail_type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** `id` has the form of an event's id: 32 hex digits. `observedAt` is ISO 8601. */
export function testEventFor(
  subscription: Subscription,
  { id, observedAt }: { readonly id: string; readonly observedAt: string },
): TestEvent {
  const { detailTypes } = subjectOf(subscription.subject);
  const catalog: readonly EventDefinition[] = eventCatalog;
  const definition = catalog.find(({ detailType }) => detailTypes.includes(detailType)) ?? catalog[0];
  if (definition === undefined) throw new Error('The catalog has no event');
  const detail = { ...definition.example, id, observed_at: observedAt, ...wantedFields(subscription) };
  return { detail_type: definition.detailType, detail: definition.detail.parse(detail) };
}

/** Returns the enabled rules whose pattern takes a test event of the subscription. */
export function rulesTaking(
  rules: readonly ShownRule[],
  subscription: Subscription,
  accountId: string,
): readonly ShownRule[] {
  const { detail_type, detail } = testEventFor(subscription, {
    id: '0'.repeat(32),
    observedAt: isoTimeOf(0),
  });
  const event = {
    source: TEST_EVENT_SOURCE,
    'detail-type': detail_type,
    detail: { ...detail, account_id: accountId },
  };
  return rules.filter(
    ({ pattern, verdict }) =>
      verdict !== 'disabled' && matchesEventPattern(parseEventPattern(pattern), event),
  );
}

/** Returns the fields without which the filters of the subscription would leave the event out. */
function wantedFields({ subject, projects, actions, statuses }: Subscription): Record<string, unknown> {
  const { statusField } = subjectOf(subject);
  const [project] = projects;
  const [action] = actions;
  const [status] = statuses;
  return {
    ...(project !== undefined && { project_id: project }),
    ...(action !== undefined && { action }),
    ...(subject === 'failures' && failedAttempt('failed')),
    ...(status !== undefined && statusField !== undefined && { [statusField]: status }),
    ...(status !== undefined && statusField === 'status' && consistentWith(status)),
  };
}

function consistentWith(status: string): Record<string, unknown> {
  return status === 'failed' || status === 'error' ? failedAttempt(status) : { terminal: isTerminal(status) };
}

function failedAttempt(status: string): Record<string, unknown> {
  return {
    status,
    previous_status: 'running',
    terminal: isTerminal(status),
    failures_count: 1,
    new_failures: 1,
    error: 'This is a test event; no operation failed.',
  };
}
