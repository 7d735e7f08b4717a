/** Serves the operations of EventBridge on rules. */

import { z } from 'zod';
import { InvalidEventPatternError } from '../../../../shared/events/pattern/event-pattern.ts';
import { busNameOf, ruleArn } from '../services/arns.ts';
import type { BusRules, StoredRule } from '../services/bus-rules.ts';
import { defineOperation, type Service, ServiceError } from '../services/service.ts';

/** EventBridge User Guide, "Amazon EventBridge quotas". */
const RULES_MAX = 300;

const bus = z.string().default('default').transform(busNameOf);
const named = z.object({ Name: z.string(), EventBusName: bus });
const put = z.object({
  Name: z.string(),
  EventBusName: bus,
  EventPattern: z.string().optional(),
  ScheduleExpression: z.string().optional(),
  Description: z.string().max(512).optional(),
  State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
});
const listed = z.object({
  EventBusName: bus,
  NamePrefix: z.string().default(''),
  Limit: z.number().int().min(1).max(100).default(100),
  NextToken: z.string().default(''),
});

export function createRuleOperations(rules: BusRules): Service {
  return new Map([
    ['PutRule', defineOperation(put, (input) => putRule(rules, input))],
    [
      'DescribeRule',
      defineOperation(named, (input) => {
        const rule = ruleOf(rules, input.EventBusName, input.Name);
        return shown(rule);
      }),
    ],
    ['ListRules', defineOperation(listed, (input) => rulePage(rules, input))],
    ['EnableRule', defineOperation(named, (input) => setState(rules, input, 'ENABLED'))],
    ['DisableRule', defineOperation(named, (input) => setState(rules, input, 'DISABLED'))],
    ['DeleteRule', defineOperation(named, (input) => deleteRule(rules, input))],
    ['ListTagsForResource', defineOperation(z.object({ ResourceARN: z.string() }), () => ({ Tags: [] }))],
  ]);
}

/** Throws a `ServiceError` when the bus or the rule does not exist. */
export function ruleOf(rules: BusRules, busName: string, name: string): StoredRule {
  checkBus(rules, busName);
  const rule = rules.find(busName, name);
  if (rule !== undefined) return rule;
  const place = busName === 'default' ? '' : ` on EventBus ${busName}`;
  throw new ServiceError('ResourceNotFoundException', `Rule ${name} does not exist${place}.`);
}

/** Throws a `ServiceError` for a rule of the bridge itself, as AWS does for rules of its services. */
export function checkMayChange({ name, managedBy }: StoredRule): void {
  if (managedBy === undefined) return;
  const reason = `The rule ${name} belongs to ${managedBy}, which alone changes it.`;
  throw new ServiceError('ManagedRuleException', reason);
}

function checkBus(rules: BusRules, busName: string): void {
  if (rules.hasBus(busName)) return;
  throw new ServiceError('ResourceNotFoundException', `Event bus ${busName} does not exist.`);
}

function putRule(rules: BusRules, input: z.output<typeof put>): object {
  const { Name: name, EventBusName: busName, EventPattern: pattern, State: state, Description } = input;
  checkBus(rules, busName);
  const known = rules.find(busName, name);
  if (known !== undefined) checkMayChange(known);
  if (!/^[.\-_A-Za-z0-9]{1,64}$/.test(name))
    throw new ServiceError('ValidationException', `Parameter Name is not valid: ${name}`);
  if (pattern === undefined || input.ScheduleExpression !== undefined)
    throw new ServiceError('ValidationException', 'EventPattern must be specified; there are no schedules.');
  if (known === undefined && rules.list(busName).length >= RULES_MAX)
    throw new ServiceError(
      'LimitExceededException',
      `The requested resource exceeds the maximum number allowed: ${RULES_MAX} rules on a bus.`,
    );
  try {
    rules.put({ name, busName, pattern, state, description: Description });
  } catch (error) {
    if (error instanceof InvalidEventPatternError) throw new ServiceError(error.name, error.message);
    throw error;
  }
  return { RuleArn: ruleArn(busName, name) };
}

/** The token is the last name of the page before. */
function rulePage(
  rules: BusRules,
  { EventBusName, NamePrefix, Limit, NextToken }: z.output<typeof listed>,
): object {
  checkBus(rules, EventBusName);
  const found = rules.list(EventBusName);
  const rest = found.filter(({ name }) => name.startsWith(NamePrefix) && name > NextToken);
  const page = rest.slice(0, Limit);
  return { Rules: page.map(shown), ...(rest.length > page.length && { NextToken: page.at(-1)?.name }) };
}

function shown(rule: StoredRule): object {
  const { name, busName, patternText, state, description, managedBy } = rule;
  return {
    Name: name,
    Arn: ruleArn(busName, name),
    EventPattern: patternText,
    State: state,
    EventBusName: busName,
    ...(description !== undefined && { Description: description }),
    ...(managedBy !== undefined && { ManagedBy: managedBy }),
  };
}

function setState(
  rules: BusRules,
  { EventBusName, Name }: z.output<typeof named>,
  state: StoredRule['state'],
): object {
  const rule = ruleOf(rules, EventBusName, Name);
  checkMayChange(rule);
  const { name, busName, patternText: pattern, description } = rule;
  rules.put({ name, busName, pattern, description, state });
  return {};
}

/** A rule that does not exist is deleted without an error, as on AWS. */
function deleteRule(rules: BusRules, { EventBusName, Name }: z.output<typeof named>): object {
  checkBus(rules, EventBusName);
  const rule = rules.find(EventBusName, Name);
  if (rule === undefined) return {};
  checkMayChange(rule);
  if (rule.routes.size > 0 || rule.targets.length > 0)
    throw new ServiceError('ValidationException', "Rule can't be deleted since it has targets.");
  rules.remove(EventBusName, Name);
  return {};
}
