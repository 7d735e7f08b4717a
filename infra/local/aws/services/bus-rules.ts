/** Keeps the buses of the local EventBridge and their rules, and finds the targets that an event goes to. */

import {
  type EventPattern,
  matchesEventPattern,
  parseEventPattern,
} from '../../../../shared/events/pattern/event-pattern.ts';
import type { DeliveredEvent, Delivery, Target } from './deliveries.ts';
import { ServiceError } from './service.ts';

export interface BusRule {
  readonly name: string;
  readonly busName: string;
  /** The pattern is JSON or the object itself. `put` throws `InvalidEventPatternError` when AWS would refuse it. */
  readonly pattern: unknown;
  readonly state?: 'ENABLED' | 'DISABLED';
  /** A rule that is put again without targets keeps its targets, as on AWS. */
  readonly targets?: readonly Target[];
}

export interface BusRules {
  createBus(name: string): void;
  hasBus(name: string): boolean;
  /** Throws a `ServiceError` when the bus does not exist. */
  put(rule: BusRule): void;
  /** Returns each target of each enabled rule of the bus that matches the event. */
  matching(busName: string, event: DeliveredEvent): readonly Omit<Delivery, 'event'>[];
}

interface StoredRule {
  readonly name: string;
  readonly busName: string;
  readonly pattern: EventPattern;
  readonly isEnabled: boolean;
  readonly targets: readonly Target[];
}

export function createBusRules(): BusRules {
  const buses = new Set(['default']);
  const rules = new Map<string, StoredRule>();

  return {
    createBus: (name) => void buses.add(name),
    hasBus: (name) => buses.has(name),
    put({ name, busName, pattern, state = 'ENABLED', targets }) {
      if (!buses.has(busName)) {
        throw new ServiceError('ResourceNotFoundException', `Event bus ${busName} does not exist.`);
      }
      const key = `${busName}/${name}`;
      rules.set(key, {
        name,
        busName,
        pattern: parseEventPattern(pattern),
        isEnabled: state === 'ENABLED',
        targets: targets ?? rules.get(key)?.targets ?? [],
      });
    },
    matching: (busName, event) =>
      [...rules.values()]
        .filter((rule) => rule.isEnabled && rule.busName === busName)
        .filter((rule) => matchesEventPattern(rule.pattern, event))
        .flatMap(({ name: ruleName, targets }) => targets.map((target) => ({ ruleName, target }))),
  };
}
