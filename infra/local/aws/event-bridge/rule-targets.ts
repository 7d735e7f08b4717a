/**
 * Makes what delivers an event to a target that a caller has added to a rule: a queue whose policy lets EventBridge send.
 */

import { z } from 'zod';
import { ruleArn as ruleArnOf, ServiceError } from '../protocol.ts';
import type { StandardQueues } from '../sqs/local-queues.ts';
import type { MessageAttribute, SentMessage } from '../sqs/standard-queue.ts';
import { DeliveryError, type FailedDelivery, type RuleTarget } from './deliveries.ts';
import type { Connect, StoredRule } from './event-bus.ts';

/** Ends the repetitions to targets when the signal aborts. */
export function createConnect(queues: StandardQueues, signal: AbortSignal): Connect {
  return (rule, target) => {
    const ruleArn = ruleArnOf(rule.busName, rule.name);
    const deadLetterArn = target.DeadLetterConfig?.Arn;
    return {
      arn: target.Arn,
      signal,
      attemptsMax: 1 + (target.RetryPolicy?.MaximumRetryAttempts ?? Number.POSITIVE_INFINITY),
      deliver: (event) => sendTo(queues, target.Arn, { body: JSON.stringify(event) }, ruleArn),
      ...(deadLetterArn !== undefined && {
        deadLetter: (event, failure) =>
          sendTo(queues, deadLetterArn, deadLetterOf(JSON.stringify(event), rule, target, failure), ruleArn),
      }),
    };
  };
}

export function isQueue(arn: string): boolean {
  return /^arn:[^:]*:sqs:/.test(arn);
}

/** Throws a `DeliveryError` as EventBridge would report it. */
function sendTo(queues: StandardQueues, arn: string, message: SentMessage, ruleArn: string): void {
  const queue = queues.byArn(arn);
  if (queue === undefined) throw gone(arn);
  if (!letsRuleSend(queue.attributes()['Policy'], { queueArn: arn, ruleArn })) {
    const reason = `The policy of the queue ${arn} does not allow sqs:SendMessage for events.amazonaws.com with ${ruleArn} as aws:SourceArn.`;
    throw new DeliveryError('NO_PERMISSIONS', reason, false);
  }
  try {
    queue.send(message);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const isFull = error.name === 'OverLimit';
    throw new DeliveryError(isFull ? 'THROTTLING' : 'INVALID_PARAMETER', error.message, isFull);
  }
}

function gone(arn: string): DeliveryError {
  return new DeliveryError('NO_RESOURCE', `The target ${arn} does not exist.`, false);
}

/** EventBridge User Guide, "Using dead-letter queues": the event as it was, with attributes that say what happened. */
function deadLetterOf(
  body: string,
  rule: StoredRule,
  target: RuleTarget,
  { error, attemptCount, isExhausted }: FailedDelivery,
): SentMessage {
  const attributes = {
    RULE_ARN: textOf(ruleArnOf(rule.busName, rule.name)),
    TARGET_ARN: textOf(target.Arn),
    ERROR_CODE: textOf(error instanceof DeliveryError ? error.code : 'SDK_CLIENT_ERROR'),
    ERROR_MESSAGE: textOf(error.message),
    RETRY_ATTEMPTS: { DataType: 'Number', StringValue: String(attemptCount - 1) },
    ...(isExhausted && { EXHAUSTED_RETRY_CONDITION: textOf('MaximumRetryAttempts') }),
  };
  return { body, attributes };
}

function textOf(StringValue: string): MessageAttribute {
  return { DataType: 'String', StringValue };
}

const texts = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());

const statement = z.object({
  Effect: z.enum(['Allow', 'Deny']),
  Principal: z.union([z.literal('*'), z.looseObject({ Service: texts.optional(), AWS: texts.optional() })]),
  Action: texts,
  Resource: texts,
  Condition: z.record(z.string(), z.record(z.string(), texts)).default({}),
});

const policy = z.object({
  Statement: z.union([statement, z.array(statement)]).transform((value) => [value].flat()),
});

type Statement = z.output<typeof statement>;

/** What a statement is compared with. */
interface Sending {
  readonly queueArn: string;
  readonly ruleArn: string;
}

const SENDER = 'events.amazonaws.com';
const ACTION = 'sqs:sendmessage';

/** A policy that cannot be read allows nothing. A condition that is not known here is not met. */
function letsRuleSend(policyText: string | undefined, sending: Sending): boolean {
  if (policyText === undefined) return false;
  const { data } = policy.safeParse(JSON.parse(policyText));
  const applying = (data?.Statement ?? []).filter((each) => appliesTo(each, sending));
  return (
    applying.some(({ Effect }) => Effect === 'Allow') && !applying.some(({ Effect }) => Effect === 'Deny')
  );
}

function appliesTo({ Principal, Action, Resource, Condition }: Statement, sending: Sending): boolean {
  const services = Principal === '*' ? ['*'] : [...(Principal.Service ?? []), ...(Principal.AWS ?? [])];
  return (
    services.some((service) => service === SENDER || service === '*') &&
    Action.some((action) => matches(action.toLowerCase(), ACTION)) &&
    Resource.some((resource) => matches(resource, sending.queueArn)) &&
    Object.entries(Condition).every(([operator, keys]) => isMet(operator, keys, sending))
  );
}

const EXACT = ['StringEquals'];
const WITH_WILDCARDS = ['ArnEquals', 'ArnLike', 'StringLike'];

function isMet(
  operator: string,
  keys: Readonly<Record<string, readonly string[]>>,
  { ruleArn }: Sending,
): boolean {
  return Object.entries(keys).every(([key, expected]) => {
    const actual = { 'aws:sourcearn': ruleArn, 'aws:sourceaccount': ruleArn.split(':')[4] }[
      key.toLowerCase()
    ];
    if (actual === undefined) return false;
    if (EXACT.includes(operator)) return expected.includes(actual);
    return WITH_WILDCARDS.includes(operator) && expected.some((pattern) => matches(pattern, actual));
  });
}

/** An asterisk stands for any text, and a question mark for one character. */
function matches(pattern: string, text: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(text);
}
