/** Defines the bus as the protocol needs it, and implements it with EventBridge. A bus in trouble is left alone for a while. */

import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge';
import { BATCH_BYTES_MAX, type EntryOutcome, planBatches } from '../records/journal.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { BusEvent } from './render-event.ts';

export interface EventBus {
  /**
   * Resolves to one outcome per event, in order. It never rejects: a call that failed is `retry` for each of its
   * events.
   */
  publish(events: readonly BusEvent[]): Promise<readonly EntryOutcome[]>;
}

/**
 * The client of a bus has these settings. A call that takes long is likely to be carried out, and every repetition makes copies
 * and costs a slow bus what it has left. So there is one attempt, and it ends well before a function does.
 */
export const BUS_CALLS_END = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 18_000, throwOnRequestTimeout: true },
} as const;

/** Entries with these codes are malformed, and are refused whenever they are sent (EventBridge API Reference, PutEventsResultEntry). */
const MALFORMED_CODES: ReadonlySet<string> = new Set(['InvalidArgument', 'MalformedDetail']);

/** A policy or a role refuses the events, which people can change. */
const DENIED = /AccessDenied|NotAuthorized/;

/** The bus has more to do than it may or can (EventBridge API Reference, PutEventsResultEntry). */
const OVERLOADED = /Throttl|InternalFailure/;

/** A bus that refused events for a policy is asked again after this time. It is also the longest pause for any other reason. */
export const BUS_REST_MS_MAX = 60_000;

/** The first pause after an answer that did not come, or that says that the bus is overloaded. It doubles until a call gets through. */
const BUS_REST_MS_MIN = 1_000;

/** Events that were not sent, because the bus is left alone for a while, have this code. */
export const BUS_RESTS = 'BusRests';

export function createEventBridgeBus(
  client: EventBridgeClient,
  busName: string,
  clock: Clock = systemClock,
): EventBus {
  const rest = createRest(clock);
  return {
    async publish(events) {
      const sized = events.map((event) => ({ event, sizeBytes: sizeBytesOf(event) }));
      const outcomes: EntryOutcome[] = [];
      for (const batch of planBatches(sized)) {
        if (batch.some(({ sizeBytes }) => sizeBytes > BATCH_BYTES_MAX))
          outcomes.push(...batch.map(() => ({ kind: 'refused' as const, code: 'EntryTooLarge' })));
        else
          outcomes.push(...(await rest.unlessResting(batch.length, () => putBatch(client, busName, batch))));
      }
      return outcomes;
    },
  };
}

/** The whole call failed. It may have been carried out, unless the service itself has refused it. */
interface CallFailure {
  readonly error: Error;
}

/**
 * Leaves the bus alone after a call whose outcome is unknown or that an overloaded bus has refused, longer with each such call, and for
 * a minute after a refusal by a policy. After a pause one call finds out whether the bus is back, and all others wait for what becomes of it.
 */
function createRest(clock: Clock) {
  let restMs = 0;
  let untilMs = Number.NEGATIVE_INFINITY;
  let isTrying = false;

  /** A call that was under way when the pause began says nothing new, and does not lengthen it. */
  const begin = (isTry: boolean, durationMs: number) => {
    if (restMs > 0 && !isTry) return;
    restMs = durationMs;
    untilMs = clock.now() + durationMs;
  };
  const note = (isTry: boolean, outcomes: readonly EntryOutcome[], failure: CallFailure | undefined) => {
    const isRefused = (codes: RegExp) =>
      outcomes.some((outcome) => outcome.kind === 'retry' && codes.test(outcome.code));
    if (outcomes.some(({ kind }) => kind === 'accepted')) restMs = 0;
    else if (isRefused(DENIED)) begin(isTry, BUS_REST_MS_MAX);
    else if (isRefused(OVERLOADED) || (failure !== undefined && isUnknown(failure)))
      begin(isTry, Math.min(BUS_REST_MS_MAX, Math.max(BUS_REST_MS_MIN, 2 * restMs)));
    // The bus has answered, so it is left alone no longer.
    else if (failure === undefined) restMs = 0;
  };

  return {
    async unlessResting(
      entryCount: number,
      put: () => Promise<{ readonly outcomes: readonly EntryOutcome[]; readonly failure?: CallFailure }>,
    ): Promise<readonly EntryOutcome[]> {
      const isTry = restMs > 0;
      if (isTry && (isTrying || clock.now() < untilMs))
        return Array.from({ length: entryCount }, () => ({ kind: 'retry', code: BUS_RESTS }));
      isTrying = isTry;
      try {
        const { outcomes, failure } = await put();
        note(isTry, outcomes, failure);
        return outcomes;
      } finally {
        if (isTry) isTrying = false;
      }
    },
  };
}

/** An answer with a status below 500 is a refusal, which proves that nothing was done. */
function isUnknown({ error }: CallFailure): boolean {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  return status === undefined || status >= 500;
}

async function putBatch(
  client: EventBridgeClient,
  busName: string,
  batch: readonly { event: BusEvent; sizeBytes: number }[],
): Promise<{ readonly outcomes: readonly EntryOutcome[]; readonly failure?: CallFailure }> {
  const Entries = batch.map(({ event }) => ({
    EventBusName: busName,
    Source: event.source,
    DetailType: event.detailType,
    Detail: event.detail,
    Time: new Date(event.time),
    ...(event.resources && { Resources: [...event.resources] }),
    ...(event.traceparent && { TraceHeader: traceHeaderOf(event.traceparent) }),
  }));
  try {
    const answer = await client.send(new PutEventsCommand({ Entries }));
    return { outcomes: batch.map((_, index) => outcomeOf(answer.Entries?.[index])) };
  } catch (thrown) {
    const error = toError(thrown);
    return { outcomes: batch.map(() => ({ kind: 'retry', code: error.name })), failure: { error } };
  }
}

/** X-Ray writes the ids of a W3C trace like this (X-Ray Developer Guide, "Tracing header"). */
function traceHeaderOf(traceparent: string): string {
  const [, trace = '', parent = '', flags = ''] = traceparent.split('-');
  const isSampled = Number.parseInt(flags, 16) & 1;
  return `Root=1-${trace.slice(0, 8)}-${trace.slice(8)};Parent=${parent};Sampled=${isSampled}`;
}

/**
 * Only an EventId proves acceptance; a 200 answer can hold failed entries (`FailedEntryCount`). Any refusal but that of a
 * malformed entry can pass.
 */
function outcomeOf(result: PutEventsResultEntry | undefined): EntryOutcome {
  if (result?.EventId !== undefined) return { kind: 'accepted', eventId: result.EventId };
  const code = result?.ErrorCode ?? 'NoResult';
  return { kind: MALFORMED_CODES.has(code) ? 'refused' : 'retry', code };
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
