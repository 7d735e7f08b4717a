/** Builds subscriptions and their files for tests: with readable defaults, and every kind of them at random. */

import * as fc from 'fast-check';
import {
  type FileForm,
  faultsOf,
  SUBJECT_NAMES,
  type Subscription,
  subjectOf,
  subscriptionPattern,
  TARGET_KINDS,
  type TargetKind,
} from '../../shared/events/subscription/subscription.ts';
import {
  type SubscriptionFile,
  subscriptionFile,
} from '../../shared/events/subscription/subscription-file.ts';

export const TARGETS = Object.keys(TARGET_KINDS) as TargetKind[];

export function aSubscription(fields: Partial<Subscription> = {}): Subscription {
  return {
    subject: 'failures',
    projects: [],
    accounts: [],
    statuses: [],
    actions: [],
    replays: 'included',
    ...fields,
  };
}

export function fileOf(
  subscription: Subscription,
  { target, form }: { readonly target: TargetKind; readonly form: FileForm },
): SubscriptionFile {
  const pattern = subscriptionPattern(subscription);
  const summary = 'Delivers what a test asks for.';
  return subscriptionFile({ name: 'my-Rule2', busName: 'the-bus', pattern, target, summary }, form);
}

/** Texts that shells, YAML, HCL and TypeScript each read as something else when they are not quoted. */
const nastyTexts = fc.constantFrom(
  "it's",
  '"quoted"',
  `$\{var.x}`,
  '%{if}',
  '$(exit)',
  '`exit`',
  'back\\slash',
  'JSON',
  ': x',
  '- x',
  'a: b',
  'a #b',
  'null',
  'no',
  '12',
  '{}',
  '*/',
  ' ',
);
const values = fc.array(fc.oneof(fc.stringMatching(/^[a-z0-9_-]{1,20}$/), nastyTexts), { maxLength: 3 });

/** Every usable subscription, with few values in each filter. */
export const subscriptions: fc.Arbitrary<Subscription> = fc
  .record({
    subject: fc.constantFrom(...SUBJECT_NAMES),
    projects: values,
    accounts: values,
    actions: values,
    statuses: values,
    replays: fc.constantFrom('included' as const, 'left_out' as const),
  })
  .map(onlyWhatItsEventsHave)
  .filter((subscription) => faultsOf(subscription).length === 0);

function onlyWhatItsEventsHave(subscription: Subscription): Subscription {
  const { hasProject, hasAction, statusField, statuses } = subjectOf(subscription.subject);
  return {
    ...subscription,
    projects: hasProject ? subscription.projects : [],
    actions: hasAction ? subscription.actions : [],
    statuses: statusField === undefined ? [] : (statuses?.slice(1) ?? subscription.statuses),
  };
}
