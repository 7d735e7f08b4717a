/** Defines the bus as the protocol needs it, and implements it with EventBridge. */

import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge';
import { BATCH_BYTES_MAX, type EntryOutcome, planBatches } from '../core/journal/relay-plan.ts';
import type { BusEvent } from './render-event.ts';

export interface EventBus {
  /**
   * Resolves to one outcome per event, in order. It never rejects: a call that failed is `retry` for each of its
   * events.
   */
  publish(events: readonly BusEvent[]): Promise<readonly EntryOutcome[]>;
}

/** Only entries with these codes are worth another try (EventBridge API Reference, PutEventsResultEntry). */
const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  'InternalFailure',
  'InternalException',
  'ThrottlingException',
]);

export function createEventBridgeBus(client: EventBridgeClient, busName: string): EventBus {
  return {
    async publish(events) {
      const sized = events.map((event) => ({ event, sizeBytes: sizeBytesOf(event) }));
      const outcomes: EntryOutcome[] = [];
      for (const batch of planBatches(sized)) {
        outcomes.push(...(await putBatch(client, busName, batch)));
      }
      return outcomes;
    },
  };
}

async function putBatch(
  client: EventBridgeClient,
  busName: string,
  batch: readonly { event: BusEvent; sizeBytes: number }[],
): Promise<readonly EntryOutcome[]> {
  if (batch.some(({ sizeBytes }) => sizeBytes > BATCH_BYTES_MAX)) {
    return batch.map(() => ({ kind: 'refused', code: 'EntryTooLarge' }));
  }
  const Entries = batch.map(({ event }) => ({
    EventBusName: busName,
    Source: event.source,
    DetailType: event.detailType,
    Detail: event.detail,
    Time: new Date(event.time),
    ...(event.resources && { Resources: [...event.resources] }),
  }));
  try {
    const answer = await client.send(new PutEventsCommand({ Entries }));
    return batch.map((_, index) => outcomeOf(answer.Entries?.[index]));
  } catch (error) {
    return batch.map(() => ({ kind: 'retry', code: error instanceof Error ? error.name : 'UnknownError' }));
  }
}

/** Only an EventId proves acceptance; a 200 answer can hold failed entries (`FailedEntryCount`). */
function outcomeOf(result: PutEventsResultEntry | undefined): EntryOutcome {
  if (result?.EventId !== undefined) return { kind: 'accepted' };
  const code = result?.ErrorCode ?? 'NoResult';
  const isWorthRetrying = result?.ErrorCode === undefined || RETRYABLE_CODES.has(code);
  return { kind: isWorthRetrying ? 'retry' : 'refused', code };
}

/**
 * Computes the size by EventBridge's own formula: 14 bytes for the time, and the rest in UTF-8 (User Guide,
 * "PutEvents entry size").
 */
function sizeBytesOf(event: BusEvent): number {
  const TIME_BYTES = 14;
  return (
    TIME_BYTES +
    [event.source, event.detailType, event.detail, ...(event.resources ?? [])].reduce(
      (sum, s) => sum + Buffer.byteLength(s),
      0,
    )
  );
}
