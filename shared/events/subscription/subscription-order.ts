/** Defines what a file with a subscription is made of: the rule, where it delivers, and how the file is written. */

import type { EventPatternJson } from './subscription-pattern.ts';

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

/** EventBridge allows these names of a bus (API Reference, CreateEventBus). */
export function isBusName(text: string): boolean {
  return /^[\w./-]{1,256}$/.test(text);
}
