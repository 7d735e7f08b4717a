/** Reads from the address of the page what people have chosen, and writes it back. */

import {
  FILE_FORMS,
  type FileForm,
  isSubscriptionName,
  TARGET_KINDS,
  type TargetKind,
} from '../../../../shared/events/subscription/subscription-order.ts';
import type { Subscription } from '../../../../shared/events/subscription/subscription-pattern.ts';
import {
  SUBJECT_NAMES,
  type SubjectName,
} from '../../../../shared/events/subscription/subscription-subjects.ts';
import { subjectOfFilter } from './subject-of-filter.ts';

export interface SubscriptionChoice {
  readonly subscription: Subscription;
  readonly target: TargetKind;
  readonly form: FileForm;
  /** The rule and the file have this name. */
  readonly name: string;
  /** The rule also takes events with the source of test events. */
  readonly takesTests: boolean;
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
  return {
    subscription: {
      subject,
      projects: values(query.has('project_id') ? 'project_id' : 'project'),
      accounts: query.has('own_account') ? [accountId] : [],
      statuses: isForm ? values('status') : meant.statuses,
      actions: values('action'),
      replays: query.has('no_replays') ? 'left_out' : 'included',
    },
    target: oneOf(TARGET_KINDS, query.get('target'), 'sqs'),
    form: oneOf(FILE_FORMS, query.get('form'), 'cloudformation'),
    name: isSubscriptionName(name) ? name : defaultName(subject),
    // A form without the box ticked leaves the parameter out.
    takesTests: isForm ? query.has('tests') : true,
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

/** The name is that of the subject in words: `ready-branches`. */
function defaultName(subject: SubjectName): string {
  return subject.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
