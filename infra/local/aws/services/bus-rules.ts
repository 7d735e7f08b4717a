/** Keeps the buses of the local EventBridge and their rules, and finds the targets that an event goes to. */

import {
  type EventPattern,
  matchesEventPattern,
  parseEventPattern,
} from '../../../../shared/events/pattern/event-pattern.ts';
import type { DeliveredEvent, Delivery, Target } from './deliveries.ts';
import type { RuleTarget } from './rule-target.ts';
import { ServiceError } from './service.ts';

export interface BusRule {
  readonly name: string;
  readonly busName: string;
  /** The pattern is JSON or the object itself. `put` throws `InvalidEventPatternError` when AWS would refuse it. */
  readonly pattern: unknown;
  readonly state?: 'ENABLED' | 'DISABLED';
  readonly description?: string | undefined;
  /** The service to which the rule belongs. Callers of the local AWS cannot change such a rule. */
  readonly managedBy?: string;
  /** A rule that is put again without targets keeps its targets, as on AWS. */
  readonly targets?: readonly Target[];
}

export interface StoredRule {
  readonly name: string;
  readonly busName: string;
  /** As JSON. */
  readonly patternText: string;
  readonly state: 'ENABLED' | 'DISABLED';
  readonly description: string | undefined;
  readonly managedBy: string | undefined;
  /** Targets that code has added: functions of this process. */
  readonly targets: readonly Target[];
  /** Targets that callers of the local AWS have added, by their ids. */
  readonly routes: ReadonlyMap<string, RuleTarget>;
}

export interface BusRules {
  createBus(name: string): void;
  hasBus(name: string): boolean;
  /** Throws a `ServiceError` when the bus does not exist. */
  put(rule: BusRule): void;
  find(busName: string, name: string): StoredRule | undefined;
  /** The rules of the bus, in the order of the alphabet. */
  list(busName: string): readonly StoredRule[];
  remove(busName: string, name: string): void;
  /** Replaces the targets that callers have added. */
  route(rule: StoredRule, targets: ReadonlyMap<string, RuleTarget>): void;
  /** Returns each target of each enabled rule of the bus that matches the event. */
  matching(busName: string, event: DeliveredEvent): readonly Omit<Delivery, 'event'>[];
}

interface Entry {
  readonly rule: StoredRule;
  readonly pattern: EventPattern;
}

/** Makes what delivers an event to a target that a caller has added. */
export type Connect = (rule: StoredRule, target: RuleTarget) => Target;

/** Without `connect`, targets of callers get nothing. */
export function createBusRules(connect?: Connect): BusRules {
  const buses = new Set(['default']);
  const entries = new Map<string, Entry>();
  const find = (busName: string, name: string) => entries.get(`${busName}/${name}`);
  const targetsOf = (rule: StoredRule): readonly Target[] =>
    connect === undefined
      ? rule.targets
      : [...rule.targets, ...[...rule.routes.values()].map((target) => connect(rule, target))];

  return {
    createBus: (name) => void buses.add(name),
    hasBus: (name) => buses.has(name),
    put(given) {
      if (!buses.has(given.busName)) {
        throw new ServiceError('ResourceNotFoundException', `Event bus ${given.busName} does not exist.`);
      }
      const before = find(given.busName, given.name)?.rule;
      const rule = storedRule(given, before);
      entries.set(`${rule.busName}/${rule.name}`, { rule, pattern: parseEventPattern(given.pattern) });
    },
    find: (busName, name) => find(busName, name)?.rule,
    list: (busName) =>
      [...entries.values()]
        .map(({ rule }) => rule)
        .filter((rule) => rule.busName === busName)
        .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    remove: (busName, name) => void entries.delete(`${busName}/${name}`),
    route({ busName, name }, routes) {
      const entry = find(busName, name);
      if (entry !== undefined)
        entries.set(`${busName}/${name}`, { ...entry, rule: { ...entry.rule, routes } });
    },
    matching: (busName, event) =>
      [...entries.values()]
        .filter(({ rule }) => rule.state === 'ENABLED' && rule.busName === busName)
        .filter(({ pattern }) => matchesEventPattern(pattern, event))
        .flatMap(({ rule }) => targetsOf(rule).map((target) => ({ ruleName: rule.name, target }))),
  };
}

function storedRule(given: BusRule, before: StoredRule | undefined): StoredRule {
  const { name, busName, pattern, state = 'ENABLED', description, managedBy, targets } = given;
  return {
    name,
    busName,
    patternText: typeof pattern === 'string' ? pattern : JSON.stringify(pattern),
    state,
    description,
    managedBy,
    targets: targets ?? before?.targets ?? [],
    routes: before?.routes ?? new Map(),
  };
}
