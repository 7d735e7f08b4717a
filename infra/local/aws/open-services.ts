/** Opens the services of the local AWS that live in the memory of this process, without their server. */

import { createLocalQueues, type LocalQueues } from './queues/local-queues.ts';
import { createSqsService } from './queues/sqs-service.ts';
import { createApiDestinations } from './rules/api-destinations.ts';
import { createConnect } from './rules/connect-target.ts';
import { createDestinationOperations } from './rules/destination-operations.ts';
import { createRuleOperations } from './rules/rule-operations.ts';
import { createTargetOperations } from './rules/target-operations.ts';
import { createBusRules } from './services/bus-rules.ts';
import { createEventBridgeService } from './services/event-bridge-service.ts';
import { createLocalEventBus, type EventBusOptions, type LocalEventBus } from './services/event-bus.ts';
import { answerSts, createIamService, type QueryService } from './services/roles.ts';
import { createLocalSecrets, type LocalSecrets } from './services/secrets.ts';
import { createSecretsManagerService } from './services/secrets-manager-service.ts';
import type { Service } from './services/service.ts';
import { createLocalTopics, type LocalTopics, publishAnswer } from './services/topics.ts';

export interface OpenServices {
  /** The keys are the names of the services in the signature's scope. */
  readonly byName: ReadonlyMap<string, Service>;
  readonly bus: LocalEventBus;
  readonly queues: LocalQueues;
  readonly secrets: LocalSecrets;
  readonly topics: LocalTopics;
  /** The services of the query protocol, by the same names. */
  readonly queryServices: ReadonlyMap<string, QueryService>;
  /** Ends requests and repetitions to targets that callers have added to rules. */
  endSubscriptions(): void;
  /** Also ends the waits of consumers for messages. */
  endWaits(): void;
}

export interface ServicesOptions extends Omit<EventBusOptions, 'rules'> {
  readonly entriesBytesMax?: number | undefined;
}

/** The origin is the address of the server, which is known once it listens. */
export function openServices(options: ServicesOptions, origin: () => string): OpenServices {
  const { clock, newId } = options;
  const consumers = new AbortController();
  const subscriptions = new AbortController();
  const queues = createLocalQueues({ clock, newId });
  const destinations = createApiDestinations({ clock, newId });
  const rules = createBusRules(createConnect(queues.standard, destinations, subscriptions.signal));
  const bus = createLocalEventBus({ ...options, rules });
  const secrets = createLocalSecrets(newId);
  const topics = createLocalTopics(newId);
  const eventBridge = new Map([
    ...createEventBridgeService(bus, options),
    ...createRuleOperations(rules),
    ...createTargetOperations(rules),
    ...createDestinationOperations(destinations),
  ]);
  const endSubscriptions = () => subscriptions.abort();
  return {
    byName: new Map([
      ['events', eventBridge],
      ['secretsmanager', createSecretsManagerService(secrets)],
      ['sqs', createSqsService(queues, origin, { clock, closing: consumers.signal })],
    ]),
    bus,
    queues,
    secrets,
    topics,
    queryServices: new Map<string, QueryService>([
      ['sns', (form) => publishAnswer(topics, form)],
      ['iam', createIamService(clock)],
      ['sts', answerSts],
    ]),
    endSubscriptions,
    endWaits() {
      endSubscriptions();
      consumers.abort();
    },
  };
}
