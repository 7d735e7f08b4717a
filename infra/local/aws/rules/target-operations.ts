/** Serves the operations of EventBridge on the targets of a rule. */

import { z } from 'zod';
import { busNameOf } from '../services/arns.ts';
import type { BusRules } from '../services/bus-rules.ts';
import { type RuleTarget, ruleTarget } from '../services/rule-target.ts';
import { defineOperation, type Service, ServiceError } from '../services/service.ts';
import { isQueue } from './connect-target.ts';
import { checkMayChange, ruleOf } from './rule-operations.ts';
import { faultOfInput } from './target-input.ts';

/** EventBridge User Guide, "Amazon EventBridge quotas". */
const TARGETS_MAX = 5;

const rule = { Rule: z.string(), EventBusName: z.string().default('default').transform(busNameOf) };
const put = z.object({ ...rule, Targets: z.array(ruleTarget).min(1).max(100) });
const removed = z.object({ ...rule, Ids: z.array(z.string()).min(1).max(100) });

/** A rule has at most five targets, so one page holds them. */
const listed = z.object(rule);

export function createTargetOperations(rules: BusRules): Service {
  return new Map([
    ['PutTargets', defineOperation(put, (input) => putTargets(rules, input))],
    [
      'ListTargetsByRule',
      defineOperation(listed, ({ EventBusName, Rule }) => {
        const { routes } = ruleOf(rules, EventBusName, Rule);
        return { Targets: [...routes.values()] };
      }),
    ],
    ['RemoveTargets', defineOperation(removed, (input) => removeTargets(rules, input))],
  ]);
}

function putTargets(rules: BusRules, { EventBusName, Rule, Targets }: z.output<typeof put>): object {
  const found = ruleOf(rules, EventBusName, Rule);
  checkMayChange(found);
  for (const target of Targets) checkTarget(target);
  const routes = new Map([...found.routes, ...Targets.map((target) => [target.Id, target] as const)]);
  if (routes.size > TARGETS_MAX)
    throw new ServiceError(
      'LimitExceededException',
      `The requested resource exceeds the maximum number allowed: ${TARGETS_MAX} targets of a rule.`,
    );
  rules.route(found, routes);
  return { FailedEntryCount: 0, FailedEntries: [] };
}

/** A target that does not exist is removed without an error, as on AWS. */
function removeTargets(rules: BusRules, { EventBusName, Rule, Ids }: z.output<typeof removed>): object {
  const found = ruleOf(rules, EventBusName, Rule);
  checkMayChange(found);
  rules.route(found, new Map([...found.routes].filter(([id]) => !Ids.includes(id))));
  return { FailedEntryCount: 0, FailedEntries: [] };
}

/** Whether the queue or the destination exists is found out by the first delivery, as on AWS. */
function checkTarget(target: RuleTarget): void {
  const { Id, Arn, RoleArn, DeadLetterConfig } = target;
  if (!isQueue(Arn) && !isApiDestination(Arn)) throw invalid(Arn, REACHABLE);
  if (Arn.endsWith('.fifo')) throw invalid(Arn, 'a FIFO queue cannot be a target in the local AWS');
  // There are no roles here. The rule would be refused on AWS without one, so it is refused here, too.
  if (isApiDestination(Arn) && RoleArn === undefined)
    throw new ServiceError('ValidationException', `RoleArn is required for target ${Arn}.`);
  const deadLetters = DeadLetterConfig?.Arn;
  if (deadLetters !== undefined && !isQueue(deadLetters)) throw invalid(deadLetters, 'it is not a queue');
  const fault = faultOfInput(target);
  if (fault !== undefined)
    throw new ServiceError(
      'ValidationException',
      `The input of the target ${Id} is not valid. Reason: ${fault}`,
    );
}

const REACHABLE = 'the local AWS delivers to SQS queues and to API destinations only';

function isApiDestination(arn: string): boolean {
  return /^arn:[^:]*:events:[^:]*:[^:]*:api-destination\//.test(arn);
}

function invalid(arn: string, reason: string): ServiceError {
  return new ServiceError('ValidationException', `Parameter ${arn} is not valid. Reason: ${reason}.`);
}
