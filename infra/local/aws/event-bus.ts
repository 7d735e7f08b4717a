/** A local EventBridge: buses, rules and targets with the semantics that matter to publishers and subscribers. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { type EventPattern, matchesEventPattern, parseEventPattern } from './event-pattern.ts';

/** The envelope that every target receives (User Guide, "Event structure"). */
export interface DeliveredEvent {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly account: string;
  /** Whole seconds. */
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

export type Target = (event: DeliveredEvent) => void | Promise<void>;

export interface Rule {
  readonly name: string;
  readonly busName: string;
  /** JSON or the object itself; throws `InvalidEventPatternError` when AWS would refuse it. */
  readonly pattern: unknown;
  readonly targets: readonly Target[];
}

export interface PutEventsEntry {
  readonly EventBusName?: string;
  readonly Source?: string;
  readonly DetailType?: string;
  readonly Detail?: string;
  /** Seconds since the epoch, as the JSON protocol has times. */
  readonly Time?: number;
  readonly Resources?: readonly string[];
}

export interface PutEventsResult {
  readonly EventId?: string;
  readonly ErrorCode?: string;
  readonly ErrorMessage?: string;
}

export interface LocalEventBus {
  createBus(name: string): void;
  hasBus(name: string): boolean;
  putRule(rule: Rule): void;
  putEvents(entries: readonly PutEventsEntry[]): readonly PutEventsResult[];
  /** Resolves once everything accepted so far is delivered or given up. */
  idle(): Promise<void>;
}

export interface EventBusOptions {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly region: string;
  readonly accountId: string;
  /** Called before PutEvents answers: what must survive this process goes here. */
  readonly onAccepted?: ((event: DeliveredEvent) => void) | undefined;
  readonly onDropped?: ((event: DeliveredEvent, rule: string, reason: string) => void) | undefined;
  readonly failEntry?: ((entry: PutEventsEntry) => string | undefined) | undefined;
}

/** AWS goes on for a day and 185 tries; a local target that fails five times in a row is broken. */
const DELIVERY_ATTEMPTS_MAX = 5;
const DELIVERY_RETRY_MS = 200;

interface StoredRule extends Omit<Rule, 'pattern'> {
  readonly pattern: EventPattern;
}

export function createLocalEventBus(options: EventBusOptions): LocalEventBus {
  const buses = new Set(['default']);
  const rules = new Map<string, StoredRule>();
  const underWay = new Set<Promise<void>>();

  return {
    createBus: (name) => void buses.add(name),
    hasBus: (name) => buses.has(name),

    putRule(rule) {
      rules.set(`${rule.busName}/${rule.name}`, { ...rule, pattern: parseEventPattern(rule.pattern) });
    },

    putEvents: (entries) => entries.map(putEntry),

    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };

  function putEntry(entry: PutEventsEntry): PutEventsResult {
    const refusal = refusalOf(entry);
    if (refusal !== undefined) return refusal;
    const ErrorCode = options.failEntry?.(entry);
    if (ErrorCode !== undefined) return { ErrorCode, ErrorMessage: 'A fault of the local bus' };
    const event = envelopeOf(entry, options);
    // A bus that does not exist takes the event, answers with an id, and loses it: so does AWS (aws-cli #9186).
    if (!buses.has(entry.EventBusName ?? 'default')) return { EventId: event.id };
    options.onAccepted?.(event);
    deliver(event, entry.EventBusName ?? 'default');
    return { EventId: event.id };
  }

  /** Targets are served later and apart from each other; no target makes PutEvents fail. */
  function deliver(event: DeliveredEvent, busName: string): void {
    for (const rule of rules.values()) {
      if (rule.busName !== busName || !matchesEventPattern(rule.pattern, event)) continue;
      for (const target of rule.targets) {
        const delivery = Promise.resolve().then(() => deliverTo(target, event, rule.name));
        underWay.add(delivery);
        void delivery.finally(() => underWay.delete(delivery));
      }
    }
  }

  async function deliverTo(target: Target, event: DeliveredEvent, ruleName: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await target(event);
        return;
      } catch (error) {
        if (attempt === DELIVERY_ATTEMPTS_MAX) {
          options.onDropped?.(event, ruleName, toError(error).message);
          return;
        }
        await options.clock.sleep(DELIVERY_RETRY_MS * 2 ** attempt);
      }
    }
  }
}

function refusalOf(entry: PutEventsEntry): PutEventsResult | undefined {
  for (const name of ['Source', 'DetailType', 'Detail'] as const) {
    if (!entry[name]) {
      return {
        ErrorCode: 'InvalidArgument',
        ErrorMessage: `Parameter ${name} is not valid. Reason: ${name} is a required argument.`,
      };
    }
  }
  if (detailOf(entry) === undefined)
    return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
  return undefined;
}

function detailOf({ Detail }: PutEventsEntry): Record<string, unknown> | undefined {
  try {
    const detail: unknown = JSON.parse(Detail ?? '');
    const isObject = typeof detail === 'object' && detail !== null && !Array.isArray(detail);
    return isObject ? (detail as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function envelopeOf(
  entry: PutEventsEntry,
  { clock, newId, region, accountId }: EventBusOptions,
): DeliveredEvent {
  const timeMs = entry.Time === undefined ? clock.now() : entry.Time * 1_000;
  return {
    version: '0',
    id: newId(),
    'detail-type': entry.DetailType ?? '',
    source: entry.Source ?? '',
    account: accountId,
    time: `${new Date(timeMs).toISOString().slice(0, 19)}Z`,
    region,
    resources: entry.Resources ?? [],
    detail: detailOf(entry) ?? {},
  };
}
