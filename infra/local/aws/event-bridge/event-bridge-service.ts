/**
 * Serves what publishers, deployments and subscribers ask of EventBridge: events, buses and patterns, rules, and the
 * targets of a rule.
 */

import { z } from 'zod';
import {
  InvalidEventPatternError,
  matchesEventPattern,
  parseEventPattern,
} from '../../../../shared/events/event-pattern.ts';
import { busArn, busNameOf, defineOperation, ruleArn, type Service, ServiceError } from '../protocol.ts';
import { type RuleTarget, ruleTarget } from './deliveries.ts';
import type { BusRules, LocalEventBus, PutEventsEntry, StoredRule } from './event-bus.ts';
import { isQueue } from './rule-targets.ts';

export interface EventBridgeServiceOptions {
  /** The entries of one PutEvents together may have at most this many bytes. */
  readonly entriesBytesMax?: number | undefined;
}

const ENTRIES_MAX = 10;

/** The limit is 1 MB since January 2026. The older, stricter one holds wherever the new one has not arrived. */
const ENTRIES_BYTES_MAX = 262_144;

/** A time counts toward the size only when it is given (User Guide, "Calculating PutEvents event entry size"). */
const TIME_BYTES = 14;

/** A `Date` cannot hold more (ECMAScript, "Time Values"). */
const TIME_SECONDS_MAX = 8_640_000_000_000;

const putEventsInput = z.object({
  Entries: z.array(
    z.object({
      EventBusName: z.string().optional(),
      Source: z.string().optional(),
      DetailType: z.string().optional(),
      Detail: z.string().optional(),
      Time: z.number().min(-TIME_SECONDS_MAX).max(TIME_SECONDS_MAX).optional(),
      Resources: z.array(z.string()).optional(),
    }),
  ),
});
const namedInput = z.object({ Name: z.string() });
const describeBusInput = z.object({ Name: z.string().default('default') });
const testPatternInput = z.object({ EventPattern: z.string(), Event: z.string() });

export function createEventBridgeService(
  bus: LocalEventBus,
  { entriesBytesMax = ENTRIES_BYTES_MAX }: EventBridgeServiceOptions = {},
): Service {
  return new Map([
    [
      'PutEvents',
      defineOperation(putEventsInput, ({ Entries }) => {
        checkEntries(Entries, entriesBytesMax);
        const results = bus.putEvents(Entries);
        const failed = results.filter(({ EventId }) => EventId === undefined);
        return { Entries: results, FailedEntryCount: failed.length };
      }),
    ],
    ['CreateEventBus', defineOperation(namedInput, ({ Name }) => createBus(bus, Name))],
    ['DescribeEventBus', defineOperation(describeBusInput, ({ Name }) => describeBus(bus, Name))],
    ['TestEventPattern', defineOperation(testPatternInput, testPattern)],
  ]);
}

function checkEntries(entries: readonly PutEventsEntry[], entriesBytesMax: number): void {
  if (entries.length === 0 || entries.length > ENTRIES_MAX) {
    const bound =
      entries.length === 0 ? 'greater than or equal to 1' : `less than or equal to ${ENTRIES_MAX}`;
    throw new ServiceError(
      'ValidationException',
      `1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length ${bound}`,
    );
  }
  if (entries.some(({ EventBusName }) => EventBusName === '')) {
    throw new ServiceError('ValidationException', 'EventBusName must have at least one character.');
  }
  const sizeBytes = entries.reduce((sum, entry) => sum + sizeBytesOf(entry), 0);
  if (sizeBytes >= entriesBytesMax) {
    throw new ServiceError(
      'ValidationException',
      'Total size of the entries in the request is over the limit.',
    );
  }
}

function sizeBytesOf({ Time, Source, DetailType, Detail, Resources = [] }: PutEventsEntry): number {
  const texts = [Source, DetailType, Detail, ...Resources].map((text) => Buffer.byteLength(text ?? ''));
  return texts.reduce((sum, bytes) => sum + bytes, Time === undefined ? 0 : TIME_BYTES);
}

function createBus(bus: LocalEventBus, name: string): object {
  if (bus.hasBus(name)) {
    throw new ServiceError('ResourceAlreadyExistsException', `Event bus ${name} already exists.`);
  }
  bus.createBus(name);
  return { EventBusArn: busArn(name) };
}

/** Answers with an error for a bus that does not exist, where PutEvents accepts the event and loses it. */
function describeBus(bus: LocalEventBus, nameOrArn: string): object {
  if (!bus.hasBus(nameOrArn)) {
    throw new ServiceError('ResourceNotFoundException', `Event bus ${nameOrArn} does not exist.`);
  }
  const name = nameOrArn.split('/').at(-1) ?? nameOrArn;
  return { Name: name, Arn: busArn(name) };
}

function testPattern({ EventPattern, Event }: z.output<typeof testPatternInput>): object {
  const pattern = refusingBadPatterns(() => parseEventPattern(EventPattern));
  return { Result: matchesEventPattern(pattern, parseEvent(Event)) };
}

function parseEvent(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ServiceError('ValidationException', 'Parameter Event is not valid. Reason: it is not JSON.');
  }
}

function refusingBadPatterns<Result>(perform: () => Result): Result {
  try {
    return perform();
  } catch (error) {
    if (error instanceof InvalidEventPatternError) throw new ServiceError(error.name, error.message);
    throw error;
  }
}

/** EventBridge User Guide, "Amazon EventBridge quotas". */
const RULES_MAX = 300;

const bus = z.string().default('default').transform(busNameOf);
const named = z.object({ Name: z.string(), EventBusName: bus });
const ruleInput = z.object({
  Name: z.string(),
  EventBusName: bus,
  EventPattern: z.string().optional(),
  ScheduleExpression: z.string().optional(),
  Description: z.string().max(512).optional(),
  State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
});
const listedRules = z.object({
  EventBusName: bus,
  NamePrefix: z.string().default(''),
  Limit: z.number().int().min(1).max(100).default(100),
  NextToken: z.string().default(''),
});

export function createRuleOperations(rules: BusRules): Service {
  return new Map([
    ['PutRule', defineOperation(ruleInput, (input) => putRule(rules, input))],
    [
      'DescribeRule',
      defineOperation(named, (input) => {
        const rule = ruleOf(rules, input.EventBusName, input.Name);
        return shown(rule);
      }),
    ],
    ['ListRules', defineOperation(listedRules, (input) => rulePage(rules, input))],
    ['EnableRule', defineOperation(named, (input) => setState(rules, input, 'ENABLED'))],
    ['DisableRule', defineOperation(named, (input) => setState(rules, input, 'DISABLED'))],
    ['DeleteRule', defineOperation(named, (input) => deleteRule(rules, input))],
    ['ListTagsForResource', defineOperation(z.object({ ResourceARN: z.string() }), () => ({ Tags: [] }))],
  ]);
}

/** Throws a `ServiceError` when the bus or the rule does not exist. */
function ruleOf(rules: BusRules, busName: string, name: string): StoredRule {
  checkBus(rules, busName);
  const rule = rules.find(busName, name);
  if (rule !== undefined) return rule;
  const place = busName === 'default' ? '' : ` on EventBus ${busName}`;
  throw new ServiceError('ResourceNotFoundException', `Rule ${name} does not exist${place}.`);
}

/** Throws a `ServiceError` for a rule of the bridge itself, as AWS does for rules of its services. */
function checkMayChange({ name, managedBy }: StoredRule): void {
  if (managedBy === undefined) return;
  const reason = `The rule ${name} belongs to ${managedBy}, which alone changes it.`;
  throw new ServiceError('ManagedRuleException', reason);
}

function checkBus(rules: BusRules, busName: string): void {
  if (rules.hasBus(busName)) return;
  throw new ServiceError('ResourceNotFoundException', `Event bus ${busName} does not exist.`);
}

function putRule(rules: BusRules, input: z.output<typeof ruleInput>): object {
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
  { EventBusName, NamePrefix, Limit, NextToken }: z.output<typeof listedRules>,
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

/** EventBridge User Guide, "Amazon EventBridge quotas". */
const TARGETS_MAX = 5;

const rule = { Rule: z.string(), EventBusName: z.string().default('default').transform(busNameOf) };
const targetsInput = z.object({ ...rule, Targets: z.array(ruleTarget).min(1).max(100) });
const removed = z.object({ ...rule, Ids: z.array(z.string()).min(1).max(100) });

/** A rule has at most five targets, so one page holds them. */
const listedTargets = z.object(rule);

export function createTargetOperations(rules: BusRules): Service {
  return new Map([
    ['PutTargets', defineOperation(targetsInput, (input) => putTargets(rules, input))],
    [
      'ListTargetsByRule',
      defineOperation(listedTargets, ({ EventBusName, Rule }) => {
        const { routes } = ruleOf(rules, EventBusName, Rule);
        return { Targets: [...routes.values()] };
      }),
    ],
    ['RemoveTargets', defineOperation(removed, (input) => removeTargets(rules, input))],
  ]);
}

function putTargets(rules: BusRules, { EventBusName, Rule, Targets }: z.output<typeof targetsInput>): object {
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

/** Whether the queue exists is found out by the first delivery, as on AWS. */
function checkTarget(target: RuleTarget): void {
  const { Arn, DeadLetterConfig } = target;
  if (!isQueue(Arn)) throw invalid(Arn, REACHABLE);
  if (Arn.endsWith('.fifo')) throw invalid(Arn, 'a FIFO queue cannot be a target in the local AWS');
  const deadLetters = DeadLetterConfig?.Arn;
  if (deadLetters !== undefined && !isQueue(deadLetters)) throw invalid(deadLetters, 'it is not a queue');
}

const REACHABLE = 'the local AWS delivers to SQS queues only';

function invalid(arn: string, reason: string): ServiceError {
  return new ServiceError('ValidationException', `Parameter ${arn} is not valid. Reason: ${reason}.`);
}
