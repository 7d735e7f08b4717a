/**
 * Makes what delivers an event to a target that a caller has added to a rule, which is an API destination, or a queue
 * whose policy lets EventBridge send, and derives what the target gets: the event, a part of it, a constant, or a
 * filled template.
 */

import { z } from 'zod';
import { ruleArn as ruleArnOf, ServiceError } from '../protocol.ts';
import type { StandardQueues } from '../sqs/local-queues.ts';
import type { MessageAttribute, SentMessage } from '../sqs/standard-queue.ts';
import type { ApiDestinations } from './api-destinations.ts';
import {
  createGate,
  type DeliveredEvent,
  DeliveryError,
  type FailedDelivery,
  type Gate,
  type RuleTarget,
} from './deliveries.ts';
import { callDestination, requestOf } from './destination-request.ts';
import type { Connect, StoredRule } from './event-bus.ts';

/** Ends the requests and the repetitions to targets when the signal aborts. */
export function createConnect(
  queues: StandardQueues,
  destinations: ApiDestinations,
  signal: AbortSignal,
): Connect {
  const gates = new Map<string, Gate>();
  const gateOf = (arn: string): Gate => {
    const gate = gates.get(arn) ?? createGate();
    gates.set(arn, gate);
    return gate;
  };

  return (rule, target) => {
    const ruleArn = ruleArnOf(rule.busName, rule.name);
    const deadLetterArn = target.DeadLetterConfig?.Arn;
    const scope = { ruleArn, ruleName: rule.name };
    return {
      arn: target.Arn,
      signal,
      attemptsMax: 1 + (target.RetryPolicy?.MaximumRetryAttempts ?? Number.POSITIVE_INFINITY),
      async deliver(event) {
        const input = inputOf(event, target, scope);
        if (isQueue(target.Arn)) return sendTo(queues, target.Arn, { body: input }, ruleArn);
        const found = destinations.byArn(target.Arn);
        if (found === undefined) throw gone(target.Arn);
        const request = requestOf(found.destination, found.connection, target, input);
        await gateOf(target.Arn).run(() => callDestination(request, signal));
      },
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

/** The names of rule and event that a template can use. */
interface TemplateScope {
  readonly ruleArn: string;
  readonly ruleName: string;
}

/** Returns JSON. */
function inputOf(event: DeliveredEvent, target: RuleTarget, scope: TemplateScope): string {
  const { Input, InputPath, InputTransformer } = target;
  if (Input !== undefined) return Input;
  if (InputPath !== undefined) return JSON.stringify(valueAt(event, InputPath) ?? null);
  if (InputTransformer === undefined) return JSON.stringify(event);
  const { InputPathsMap, InputTemplate } = InputTransformer;
  const values = Object.entries(InputPathsMap).map(([name, path]) => [name, valueAt(event, path)] as const);
  return filled(InputTemplate, new Map([...values, ...reservedValues(event, scope)]));
}

/** Says what EventBridge would find wrong with the input of a target, or returns undefined. */
export function faultOfInput({ Input, InputPath, InputTransformer }: RuleTarget): string | undefined {
  const given = [Input, InputPath, InputTransformer].filter((each) => each !== undefined);
  if (given.length > 1) return 'Only one of Input, InputPath, or InputTransformer must be provided.';
  if (Input !== undefined && !isJson(Input)) return 'Input is not JSON.';
  const { InputPathsMap = {}, InputTemplate } = InputTransformer ?? {};
  const paths = [...(InputPath === undefined ? [] : [InputPath]), ...Object.values(InputPathsMap)];
  const unreadable = paths.find((path) => !PATH_PATTERN.test(path));
  if (unreadable !== undefined)
    return `The path ${unreadable} is not one of names and indexes, such as $.detail.status or $.resources[0].`;
  if (Object.keys(InputPathsMap).length > PATHS_MAX) return `InputPathsMap has more than ${PATHS_MAX} paths.`;
  const reserved = Object.keys(InputPathsMap).find((name) => /^aws\./i.test(name));
  if (reserved !== undefined) return `The variable ${reserved} begins with "aws.".`;
  if (InputTemplate !== undefined && !isJson(filled(InputTemplate, new Map())))
    return 'InputTemplate does not become JSON.';
  return undefined;
}

/** EventBridge API Reference, InputTransformer. */
const PATHS_MAX = 100;

/** Wildcards are not part of the local AWS. */
const PATH_PATTERN = /^\$(\.[A-Za-z0-9_/-]+|\[\d+\])*$/;

function valueAt(event: DeliveredEvent, path: string): unknown {
  const steps = [...path.matchAll(/\.([A-Za-z0-9_/-]+)|\[(\d+)\]/g)].map(
    (match) => match[1] ?? match[2] ?? '',
  );
  return steps.reduce<unknown>((value, step) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
    return isObject ? (value as Record<string, unknown>)[step] : undefined;
  }, event);
}

function reservedValues(event: DeliveredEvent, { ruleArn, ruleName }: TemplateScope) {
  const { detail: _, ...envelope } = event;
  return [
    ['aws.events.rule-arn', ruleArn],
    ['aws.events.rule-name', ruleName],
    ['aws.events.event.ingestion-time', event.time],
    ['aws.events.event', envelope],
    ['aws.events.event.json', event],
  ] as const;
}

/**
 * Within quotes a value becomes text, elsewhere JSON. A variable whose path leads to nothing is absent: an empty text,
 * or null.
 */
function filled(template: string, values: ReadonlyMap<string, unknown>): string {
  return template.replaceAll(/<([A-Za-z0-9_.-]+)>/g, (_whole, name: string, offset: number) => {
    const value = values.get(name);
    if (!isWithinQuotes(template, offset)) return JSON.stringify(value ?? null);
    const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
    return JSON.stringify(text).slice(1, -1);
  });
}

function isWithinQuotes(template: string, offset: number): boolean {
  const quotes = template.slice(0, offset).replaceAll(/\\./g, '').match(/"/g);
  return (quotes?.length ?? 0) % 2 === 1;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
