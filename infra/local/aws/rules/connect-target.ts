/** Makes what delivers an event to a target that a caller has added to a rule: a queue or an API destination. */

import type { StandardQueues } from '../queues/local-queues.ts';
import { letsRuleSend } from '../queues/queue-policy.ts';
import type { MessageAttribute, SentMessage } from '../queues/stored-messages.ts';
import { ruleArn as ruleArnOf } from '../services/arns.ts';
import type { Connect, StoredRule } from '../services/bus-rules.ts';
import { DeliveryError, type FailedDelivery } from '../services/deliveries.ts';
import type { RuleTarget } from '../services/rule-target.ts';
import { ServiceError } from '../services/service.ts';
import type { ApiDestinations } from './api-destinations.ts';
import { callDestination } from './call-destination.ts';
import { requestOf } from './destination-request.ts';
import { createGate, type Gate } from './gate.ts';
import { inputOf } from './target-input.ts';

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
    RULE_ARN: text(ruleArnOf(rule.busName, rule.name)),
    TARGET_ARN: text(target.Arn),
    ERROR_CODE: text(error instanceof DeliveryError ? error.code : 'SDK_CLIENT_ERROR'),
    ERROR_MESSAGE: text(error.message),
    RETRY_ATTEMPTS: { DataType: 'Number', StringValue: String(attemptCount - 1) },
    ...(isExhausted && { EXHAUSTED_RETRY_CONDITION: text('MaximumRetryAttempts') }),
  };
  return { body, attributes };
}

function text(StringValue: string): MessageAttribute {
  return { DataType: 'String', StringValue };
}
