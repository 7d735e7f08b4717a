/**
 * Holds the AWS clients that only commands need: the bus and the queue. They are loaded with the first event and the
 * first wake, so that the cold start of a read does not pay for them.
 */

import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Wakes } from '../../shared/commands/wakes.ts';
import { createSqsWakes } from '../../shared/commands/wakes.ts';
import { BUS_CALLS_END, createEventBridgeBus, type EventBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';

export function createCommandBus(busName: string, clock: Clock): EventBus {
  return createEventBridgeBus(new EventBridgeClient(BUS_CALLS_END), busName, clock);
}

export function createCommandWakes(queueUrl: string): Wakes {
  return createSqsWakes(new SQSClient({}), queueUrl);
}
