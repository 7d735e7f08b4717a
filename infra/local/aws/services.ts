/** What the local AWS answers, service by service: the JSON protocol's operations that the bridge uses. */

import type { LocalEventBus, PutEventsEntry, Target } from './event-bus.ts';
import { InvalidEventPatternError, matchesEventPattern, parseEventPattern } from './event-pattern.ts';
import type { LocalSecrets } from './secrets.ts';

/** Becomes a 400 with `__type`, which the SDK turns into an exception of that name. */
export class ServiceError extends Error {
  constructor(type: string, message: string) {
    super(message);
    this.name = type;
  }
}

type Body = Readonly<Record<string, unknown>>;
type Operation = (body: Body) => object;

/** Service name of the signature's scope -> operation -> answer. */
export type Services = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** API Reference, PutEvents: ten entries, and 256 KB in all where the newer limit of 1 MB is not there yet. */
const ENTRIES_MAX = 10;
const TOTAL_BYTES_MAX = 262_144;
const TIME_BYTES = 14;

export function createServices(bus: LocalEventBus, secrets: LocalSecrets): Services {
  return {
    events: {
      PutEvents: (body) => putEvents(bus, body),
      CreateEventBus: ({ Name }) => {
        bus.createBus(textOf(Name, 'Name'));
        return { EventBusArn: busArn(textOf(Name, 'Name')) };
      },
      DescribeEventBus: ({ Name = 'default' }) => {
        const name = textOf(Name, 'Name');
        if (!bus.hasBus(name))
          throw new ServiceError('ResourceNotFoundException', `Event bus ${name} does not exist.`);
        return { Name: name, Arn: busArn(name) };
      },
      TestEventPattern: ({ EventPattern, Event }) => ({
        Result: matchesEventPattern(patternOf(EventPattern), JSON.parse(textOf(Event, 'Event'))),
      }),
      PutRule: ({ Name, EventBusName = 'default', EventPattern }) => {
        const targets: readonly Target[] = [];
        patternOf(EventPattern);
        bus.putRule({
          name: textOf(Name, 'Name'),
          busName: textOf(EventBusName, 'EventBusName'),
          pattern: EventPattern,
          targets,
        });
        return { RuleArn: `${busArn(textOf(EventBusName, 'EventBusName'))}/rule/${textOf(Name, 'Name')}` };
      },
    },
    secretsmanager: {
      CreateSecret: ({ Name, SecretString }) =>
        secrets.create(textOf(Name, 'Name'), textOf(SecretString, 'SecretString')),
      PutSecretValue: ({ SecretId, SecretString }) =>
        secrets.put(textOf(SecretId, 'SecretId'), textOf(SecretString, 'SecretString')),
      GetSecretValue: ({ SecretId, VersionStage = 'AWSCURRENT' }) => {
        const value = secrets.get(textOf(SecretId, 'SecretId'), textOf(VersionStage, 'VersionStage'));
        if (value === undefined) {
          throw new ServiceError(
            'ResourceNotFoundException',
            "Secrets Manager can't find the specified secret.",
          );
        }
        return value;
      },
    },
  };
}

function putEvents(bus: LocalEventBus, { Entries }: Body): object {
  const entries = Array.isArray(Entries) ? (Entries as PutEventsEntry[]) : [];
  if (entries.length === 0 || entries.length > ENTRIES_MAX) {
    const constraint = `Member must have length between 1 and ${ENTRIES_MAX}`;
    throw new ServiceError(
      'ValidationException',
      `Value at 'entries' failed to satisfy constraint: ${constraint}`,
    );
  }
  const totalBytes = entries.reduce((sum, entry) => sum + sizeBytesOf(entry), 0);
  if (totalBytes > TOTAL_BYTES_MAX) {
    throw new ServiceError(
      'ValidationException',
      `Total size of the entries in the request is over the limit.`,
    );
  }
  const results = bus.putEvents(entries);
  return {
    Entries: results,
    FailedEntryCount: results.filter(({ EventId }) => EventId === undefined).length,
  };
}

function sizeBytesOf({ Time, Source, DetailType, Detail, Resources = [] }: PutEventsEntry): number {
  const texts = [Source, DetailType, Detail, ...Resources].map((text) => Buffer.byteLength(text ?? ''));
  return texts.reduce((sum, bytes) => sum + bytes, Time === undefined ? 0 : TIME_BYTES);
}

function patternOf(source: unknown) {
  try {
    return parseEventPattern(source);
  } catch (error) {
    if (error instanceof InvalidEventPatternError) throw new ServiceError(error.name, error.message);
    throw error;
  }
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new ServiceError('ValidationException', `${name} must be a text that is not empty`);
}

function busArn(name: string): string {
  return `arn:aws:events:us-east-1:000000000000:event-bus/${name}`;
}
