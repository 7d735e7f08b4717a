/**
 * Defines a subscription: which events people want, where these are delivered, the EventBridge pattern and the
 * policies that follow, and what is wrong with a subscription that cannot work.
 */

import { createHash } from 'node:crypto';
import { DETAIL_TYPES, EVENT_SOURCE } from '../event-names.ts';

/**
 * EventBridge tries again for a day, at most 185 times. These are its own defaults; the files name them so that a
 * subscriber sees them.
 */
export const RETRY_POLICY = { maximumAgeSeconds: 86_400, maximumAttempts: 185 } as const;

/** SQS keeps a message for at most 14 days. */
export const DEAD_LETTER_RETENTION_SECONDS = 1_209_600;

/** The alarm goes off when a message has waited in the dead-letter queue within five minutes. The names are those of CloudFormation. */
export const DEAD_LETTER_ALARM = {
  AlarmDescription: 'A subscriber of the bridge did not get events, which wait in the dead-letter queue.',
  Namespace: 'AWS/SQS',
  MetricName: 'ApproximateNumberOfMessagesVisible',
  Statistic: 'Maximum',
  Period: 300,
  EvaluationPeriods: 1,
  Threshold: 0,
  ComparisonOperator: 'GreaterThanThreshold',
  TreatMissingData: 'notBreaching',
} as const;

/** Returns the settings of the alarm by other names: `metric_name` with an underscore, `metric-name` with a dash. */
export function alarmSettings(separator: '_' | '-'): Readonly<Record<string, string | number>> {
  const renamed = (name: string) => name.replaceAll(/(?<=.)(?=[A-Z])/g, separator).toLowerCase();
  return Object.fromEntries(Object.entries(DEAD_LETTER_ALARM).map(([name, value]) => [renamed(name), value]));
}

/** Stands above the dead-letter queue in every file, where nothing more is to be said of it. */
export const DEAD_LETTERS_COMMENT =
  'Events that could not be delivered wait here for 14 days. An alarm on the topic of the bridge says so.';

/**
 * The bridge tells its own operators by the topic of this name, in the region and the AWS account of its bus. The topic takes alarms
 * whose names begin with that of the bus.
 */
export const ALARM_TOPIC_SUFFIX = '-alarms';

/** A message that the consumer failed to process this many times goes to the dead-letter queue. */
export const RECEIVES_MAX = 5;

/** EventBridge sends at most this many events a second to an HTTPS address; the others wait. */
export const REQUESTS_PER_SECOND_MAX = 10;

interface SubscriptionSubject {
  /** The option of the command that chooses it, without its dashes. */
  readonly flag: string;
  /** Completes the sentence "The subscriber gets ...". */
  readonly meaning: string;
  /** The `detail-type` of the events. An empty list means every event of the bridge. */
  readonly detailTypes: readonly string[];
  /** Conditions on the detail that always hold, as an EventBridge pattern. */
  readonly conditions: Readonly<Record<string, unknown>>;
  /** The field of the detail that a filter by status looks at. Without it, there is no such filter. */
  readonly statusField?: 'status' | 'state' | 'outcome';
  /** The only values that `statusField` has. Without it, the set is open, and any value may be asked for. */
  readonly statuses?: readonly string[];
  readonly hasProject: boolean;
  readonly hasAction: boolean;
}

const aboutOperations = {
  detailTypes: [DETAIL_TYPES.state_changed],
  hasProject: true,
  hasAction: true,
} as const;

const SUBSCRIPTION_SUBJECTS = {
  failures: {
    ...aboutOperations,
    flag: 'failed',
    meaning: 'each failed attempt of an operation, and each operation that was given up with an error',
    // The status `failed` would also match events that repeat no attempt, and miss an attempt that is already running again.
    conditions: { $or: [{ new_failures: [{ numeric: ['>', 0] }] }, { status: ['error'] }] },
  },
  endedOperations: {
    ...aboutOperations,
    flag: 'ended',
    meaning: 'each operation that has ended, well or not',
    conditions: { terminal: [true] },
    statusField: 'status',
    statuses: ['finished', 'skipped', 'cancelled', 'error'],
  },
  operations: {
    ...aboutOperations,
    flag: 'operations',
    meaning: 'each change of an operation',
    conditions: {},
    statusField: 'status',
  },
  stalledOperations: {
    ...aboutOperations,
    flag: 'stalled',
    meaning: 'each operation that is open for longer than its action usually takes',
    detailTypes: [DETAIL_TYPES.operation_stalled],
    conditions: {},
  },
  readyBranches: {
    flag: 'ready-branches',
    meaning: 'each new branch that can be used',
    detailTypes: [DETAIL_TYPES.branch_ready],
    conditions: {},
    hasProject: true,
    hasAction: false,
  },
  failedBranches: {
    flag: 'failed-branches',
    meaning: 'each new branch that did not become ready',
    detailTypes: [DETAIL_TYPES.branch_failed],
    conditions: {},
    hasProject: true,
    hasAction: false,
  },
  computes: {
    flag: 'computes',
    meaning: 'each compute that became active or idle',
    detailTypes: [DETAIL_TYPES.compute_state_changed],
    conditions: {},
    statusField: 'state',
    hasProject: true,
    hasAction: true,
  },
  settledCommands: {
    flag: 'commands',
    meaning: 'each command through the bridge that has come to its end',
    detailTypes: [DETAIL_TYPES.command_settled],
    conditions: {},
    statusField: 'outcome',
    hasProject: true,
    hasAction: false,
  },
  accountHealth: {
    flag: 'account-health',
    meaning: 'each account of which nothing can be read, and each that can be read again',
    detailTypes: [DETAIL_TYPES.account_degraded, DETAIL_TYPES.account_recovered],
    conditions: {},
    hasProject: false,
    hasAction: false,
  },
  everything: {
    flag: 'everything',
    meaning: 'every event of the bridge',
    detailTypes: [],
    conditions: {},
    hasProject: true,
    hasAction: false,
  },
} as const satisfies Record<string, SubscriptionSubject>;

export type SubjectName = keyof typeof SUBSCRIPTION_SUBJECTS;

export const SUBJECT_NAMES = Object.keys(SUBSCRIPTION_SUBJECTS) as SubjectName[];

/** Returns the subject with the type that all subjects share. */
export function subjectOf(name: SubjectName): SubscriptionSubject {
  return SUBSCRIPTION_SUBJECTS[name];
}

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

/** Where the rule delivers, with the words for it that complete the sentence "It is delivered to ...". */
export const TARGET_KINDS = {
  sqs: 'a new SQS queue',
  lambda: 'a Lambda function of yours',
  eventbus: 'an event bus of yours, in this or another AWS account',
  https: 'an HTTPS address, with a key in a header',
  email: 'an e-mail address, through a new SNS topic',
} as const;

export type TargetKind = keyof typeof TARGET_KINDS;

/** How the file is written, with the ending of its name. */
export const FILE_FORMS = {
  cdk: 'ts',
  cloudformation: 'yaml',
  terraform: 'tf',
  cli: 'sh',
} as const;

export type FileForm = keyof typeof FILE_FORMS;

export interface SubscriptionOrder {
  /** Names the rule and what belongs to it: letters, digits and dashes, see `isSubscriptionName`. */
  readonly name: string;
  readonly busName: string;
  readonly pattern: EventPatternJson;
  readonly target: TargetKind;
  /** One sentence on what the subscription delivers, for the head of the file. */
  readonly summary: string;
}

/** A name becomes part of names of IAM roles, queues and TypeScript classes, of which a role's is the shortest. */
export function isSubscriptionName(text: string): boolean {
  return /^[a-z](-?[a-z0-9]){0,39}$/i.test(text);
}

const UNFILTERED = { projects: [], accounts: [], statuses: [], actions: [], replays: 'included' } as const;

/**
 * Names a subscription after its events and its target. A narrower or wider pattern adds its digest, so that teams who want the
 * failures of their own projects do not take over each other's rule.
 */
export function defaultName(subject: SubjectName, pattern: EventPatternJson, target: TargetKind): string {
  const words = `${subject.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}-${target}`;
  const text = JSON.stringify(pattern);
  if (text === JSON.stringify(subscriptionPattern({ subject, ...UNFILTERED }))) return words;
  return `${words}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/** The bridge has alarms of its own for the dead letters of these. */
const OWN_DEAD_LETTERS = ['alerts', 'commands'];

/** The names of the bridge's own stack, rules and queues begin with that of its bus. Returns sentences, as `faultsOf` does. */
export function nameFaults(name: string, busName: string): readonly string[] {
  if (!OWN_DEAD_LETTERS.includes(name) && !`${name}-`.startsWith(`${busName}-`)) return [];
  return [
    `The name "${name}" belongs to the bridge itself, whose alarm, rule or stack the file would take over; choose another name.`,
  ];
}

/** EventBridge allows these names of a bus (API Reference, CreateEventBus). */
export function isBusName(text: string): boolean {
  return /^[\w./-]{1,256}$/.test(text);
}

export function subscriptionSummary(subscription: Subscription, target: TargetKind): string {
  const { subject, projects, accounts, actions, statuses, replays } = subscription;
  const { meaning, statusField = 'status' } = subjectOf(subject);
  const limits = [
    limit('project', projects),
    limit('account', accounts),
    limit('action', actions),
    limit(statusField, statuses),
  ].filter((text) => text !== '');
  const where = limits.length === 0 ? '' : `, where ${limits.join(' and ')}`;
  const copies = replays === 'left_out' ? ' Replays are left out.' : '';
  return `Delivers ${meaning}${where}, to ${TARGET_KINDS[target]}.${copies}`;
}

function limit(name: string, values: readonly string[]): string {
  if (values.length <= 1) return values.length === 0 ? '' : `${name} is ${values[0]}`;
  return `${name} is ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}

const EVENTBRIDGE = { Service: 'events.amazonaws.com' };

type Policy<Reference> = Readonly<Record<string, Reference | object | string>>;

/** Lets only this rule send to the queue or topic (EventBridge User Guide, "Using resource-based policies"). */
export function deliveryPolicy<Reference>(delivery: {
  readonly action: 'sqs:SendMessage' | 'sns:Publish';
  readonly to: Reference;
  readonly from: Reference;
}): Policy<Reference> {
  const { action, to, from } = delivery;
  const statement = {
    Effect: 'Allow',
    Principal: EVENTBRIDGE,
    Action: action,
    Resource: to,
    Condition: { ArnEquals: { 'aws:SourceArn': from } },
  };
  return { Version: '2012-10-17', Statement: [statement] };
}

/**
 * Lets EventBridge use the role, for rules of this account only (IAM User Guide, "The confused deputy problem"). The
 * rule itself cannot be named, because it names the role.
 */
export function trustPolicy<Reference>(accountId: Reference): Policy<Reference> {
  const statement = {
    Effect: 'Allow',
    Principal: EVENTBRIDGE,
    Action: 'sts:AssumeRole',
    Condition: { StringEquals: { 'aws:SourceAccount': accountId } },
  };
  return { Version: '2012-10-17', Statement: [statement] };
}

/** Is the policy of that role. */
export function rolePolicy<Reference>(
  action: 'events:PutEvents' | 'events:InvokeApiDestination',
  resource: Reference,
): Policy<Reference> {
  return { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: action, Resource: resource }] };
}
