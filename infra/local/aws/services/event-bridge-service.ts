/** Serves what publishers and deployments ask of EventBridge: events, buses and patterns. */

import { z } from 'zod';
import {
  InvalidEventPatternError,
  matchesEventPattern,
  parseEventPattern,
} from '../../../../shared/events/pattern/event-pattern.ts';
import { busArn } from './arns.ts';
import type { LocalEventBus, PutEventsEntry } from './event-bus.ts';
import { defineOperation, type Service, ServiceError } from './service.ts';

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
