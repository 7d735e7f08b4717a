/**
 * Imitates EventBridge behind the SDK's client: ten entries a call, a limit of bytes, and an answer for each entry.
 */

import type { EventBridgeClient, PutEventsCommandInput } from '@aws-sdk/client-eventbridge';
import type { DeliveredEvent } from '../../check-history.ts';
import type { Process } from '../../scheduler.ts';
import { isWithin, type Span } from '../upstream/truth.ts';
import type { WideWorld } from '../world.ts';

export interface Delivery extends DeliveredEvent {
  readonly atMs: number;
  readonly by: string;
}

const ENTRIES_MAX = 10;
const CALL_BYTES_MAX = 256 * 1_024;

export interface BusSide {
  readonly delivered: Delivery[];
  /**
   * Holds the entries that the bus did not take. The table has them, to send them again or to park them, and a
   * restore of the table loses them.
   */
  readonly untaken: Delivery[];
  /** Lists the calls that broke the rules of the service. */
  readonly misuse: string[];
  readonly outages: readonly Span[];
  /** A policy refuses the entries within these spans. */
  readonly unauthorized: readonly Span[];
}

export function createBusClient(
  world: WideWorld,
  { delivered, untaken, misuse, outages, unauthorized }: BusSide,
  owner: Process,
): EventBridgeClient {
  const { listener } = world;
  const put = (sent: ReturnType<typeof listener.sent>, { Entries = [] }: PutEventsCommandInput) => {
    const deliveries = Entries.map(({ DetailType = '', Detail = '' }) => {
      return { detailType: DetailType, detail: Detail, atMs: world.scheduler.now(), by: owner.name };
    });
    noteMisuse(deliveries);
    const failure = failureOfCall();
    const hear = (isTaken: (place: number) => boolean, isAnswered: boolean) => {
      const events = deliveries.map(({ detail }, place) => ({ detail, isTaken: isTaken(place) }));
      listener.published(sent, events, isAnswered);
    };
    if (failure !== undefined) {
      untaken.push(...deliveries);
      hear(() => false, false);
      throw named(failure);
    }
    const results = deliveries.map(take);
    const isLost = world.strikes('bus_reply_lost');
    hear((place) => results[place]?.EventId !== undefined, !isLost);
    if (isLost) throw named('TimeoutError');
    return {
      Entries: results,
      FailedEntryCount: results.filter(({ ErrorCode }) => ErrorCode !== undefined).length,
    };
  };
  const send = (command: { readonly input: PutEventsCommandInput }) => {
    if (world.plan.faults.bus_slow > 0) world.fire('bus_slow');
    const sent = listener.sent(owner);
    return world.call(owner, world.plan.busMs, () => put(sent, command.input));
  };
  return { send } as unknown as EventBridgeClient;

  function noteMisuse(deliveries: readonly Delivery[]): void {
    const { length } = deliveries;
    const bytes = deliveries.reduce((sum, { detail }) => sum + Buffer.byteLength(detail), 0);
    if (length === 0 || length > ENTRIES_MAX || bytes > CALL_BYTES_MAX)
      misuse.push(`${length} entries of ${bytes} bytes in one call`);
  }

  function failureOfCall(): string | undefined {
    if (isWithin(outages, world.scheduler.now())) {
      world.fire('bus_outage');
      return 'InternalException';
    }
    return world.strikes('bus_call_failed') ? 'ThrottlingException' : undefined;
  }

  function take(delivery: Delivery, place: number): { EventId?: string; ErrorCode?: string } {
    const errorCode = failureOfEntry();
    if (errorCode !== undefined) {
      untaken.push(delivery);
      return { ErrorCode: errorCode };
    }
    delivered.push(delivery);
    world.note(owner.name, `published ${delivery.detailType}`, () => summaryOf(delivery.detail));
    return { EventId: `${delivery.atMs}-${place}` };
  }

  function failureOfEntry(): string | undefined {
    if (isWithin(unauthorized, world.scheduler.now())) {
      world.fire('bus_not_authorized');
      return 'NotAuthorizedForSourceException';
    }
    if (world.strikes('bus_entry_refused')) return 'InvalidArgument';
    return world.strikes('bus_entry_failed') ? 'InternalFailure' : undefined;
  }
}

function summaryOf(detail: string): string {
  const { project_id, operation_id, sequence, status, observed_by, reason } = JSON.parse(detail) as Record<
    string,
    unknown
  >;
  return [
    project_id,
    typeof operation_id === 'string' ? operation_id.slice(-4) : '',
    sequence,
    status,
    observed_by,
    reason,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
}

function named(name: string): Error {
  const error = new Error(name);
  error.name = name;
  return error;
}
