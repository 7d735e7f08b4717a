/**
 * Runs a local EventBridge: buses, rules and targets with the semantics that matter to publishers and subscribers,
 * and finds the targets that an event goes to.
 */

import {
  type EventPattern,
  matchesEventPattern,
  parseEventPattern,
} from '../../../../shared/events/event-pattern.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import { busNameOf, ServiceError } from '../protocol.ts';
import {
  createDeliveries,
  type DeliveredEvent,
  type DeliveriesOptions,
  type Delivery,
  type RuleTarget,
  type Target,
} from './deliveries.ts';

export interface PutEventsEntry {
  /** The bus is given by its name or its ARN. */
  readonly EventBusName?: string | undefined;
  readonly Source?: string | undefined;
  readonly DetailType?: string | undefined;
  readonly Detail?: string | undefined;
  /** The JSON protocol gives times as seconds since the epoch. */
  readonly Time?: number | undefined;
  readonly Resources?: readonly string[] | undefined;
}

interface PutEventsResult {
  readonly EventId?: string;
  readonly ErrorCode?: string;
  readonly ErrorMessage?: string;
}

export interface LocalEventBus {
  readonly rules: BusRules;
  createBus(name: string): void;
  hasBus(name: string): boolean;
  /** Throws a `ServiceError` when the bus does not exist. The bus is given by its name or its ARN. */
  putRule(rule: BusRule): void;
  putEvents(entries: readonly PutEventsEntry[]): readonly PutEventsResult[];
  /** Resolves once everything accepted so far is delivered or given up. */
  idle(): Promise<void>;
  /** Ends every wait for another attempt, and resolves when no delivery is under way. */
  close(): Promise<void>;
}

export interface EventBusOptions {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly region: string;
  readonly accountId: string;
  /**
   * Is called before PutEvents answers, so that what it keeps survives this process. An entry for which it throws is
   * refused.
   */
  readonly onAccepted?: ((event: DeliveredEvent) => void) | undefined;
  readonly onDropped?: DeliveriesOptions['onDropped'];
  readonly counts?: DeliveriesOptions['counts'];
  readonly log?: DeliveriesOptions['log'];
  /** The default keeps rules whose targets are functions. */
  readonly rules?: BusRules;
  /** Injects a fault: returns the error code that the entry is refused with. */
  readonly failEntry?: ((entry: PutEventsEntry, index: number) => string | undefined) | undefined;
}

export function createLocalEventBus(options: EventBusOptions): LocalEventBus {
  const { rules = createBusRules() } = options;
  const deliveries = createDeliveries(options);

  return {
    rules,
    createBus: (name) => rules.createBus(name),
    hasBus: (name) => rules.hasBus(busNameOf(name)),
    putRule: (rule) => rules.put({ ...rule, busName: busNameOf(rule.busName) }),
    putEvents: (entries) => entries.map(putEntry),
    idle: () => deliveries.idle(),
    close: () => deliveries.close(),
  };

  function putEntry(entry: PutEventsEntry, index: number): PutEventsResult {
    const refusal = refusalOf(entry) ?? faultOf(options.failEntry?.(entry, index));
    if (refusal !== undefined) return refusal;
    const event = envelopeOf(entry, options);
    const busName = busNameOf(entry.EventBusName ?? 'default');
    // A bus that does not exist takes the event, answers with an id, and loses it, as on AWS (aws-cli #9186).
    if (!rules.hasBus(busName)) return { EventId: event.id };
    try {
      options.onAccepted?.(event);
    } catch (error) {
      return { ErrorCode: 'InternalFailure', ErrorMessage: toError(error).message };
    }
    const found = rules.matching(busName, event);
    noteMatches(event.id, busName, found);
    for (const delivery of found) deliveries.start({ event, ...delivery });
    return { EventId: event.id };
  }

  function noteMatches(eventId: string, busName: string, found: readonly Omit<Delivery, 'event'>[]): void {
    const at = { busName, eventId };
    options.log?.note('EVENT_INGEST_SUCCESS', at);
    if (found.length === 0) options.log?.note('NO_STANDARD_RULES_MATCHED', at);
    for (const { ruleName, target } of found)
      if (typeof target === 'object' && target.arn !== undefined)
        options.log?.note('RULE_MATCH', at, { ruleName, arn: target.arn });
  }
}

function faultOf(ErrorCode: string | undefined): PutEventsResult | undefined {
  return ErrorCode === undefined ? undefined : { ErrorCode, ErrorMessage: 'A fault of the local bus' };
}

/** Returns the codes of entries that no repetition helps (API Reference, PutEventsResultEntry). */
function refusalOf(entry: PutEventsEntry): PutEventsResult | undefined {
  for (const name of ['Source', 'DetailType', 'Detail'] as const) {
    if (!entry[name]) {
      const ErrorMessage = `Parameter ${name} is not valid. Reason: ${name} is a required argument.`;
      return { ErrorCode: 'InvalidArgument', ErrorMessage };
    }
  }
  if (entry.Source?.startsWith('aws.')) {
    return {
      ErrorCode: 'NotAuthorizedForSourceException',
      ErrorMessage: `Not authorized for the source ${entry.Source}.`,
    };
  }
  if (detailOf(entry) === undefined) {
    return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
  }
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

interface BusRule {
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
        .flatMap(({ rule }) => targetsOf(rule).map((target) => ({ busName, ruleName: rule.name, target }))),
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
