/** Carries out an effect for each event that is new, and gives back the events whose effect is not done. */

import type { Marks } from './marks.ts';
import { type BridgeEvent, type ParseOptions, parseBridgeEvent } from './parse-bridge-event.ts';

/** The effect of an event. What it starts and does not wait for can be lost. */
export type Effect = (event: BridgeEvent) => Promise<unknown>;

export interface EffectOptions extends ParseOptions {
  /**
   * `every`, the default: each event has its effect. `latest`: an event is old, too, once the effect of a later event of its
   * operation or of its compute is done, because EventBridge keeps no order; only one effect of an operation or of a compute
   * runs at a time. A consumer that needs each state must not choose it.
   */
  readonly states?: 'every' | 'latest';
}

/** The fields that are used of a record of SQS, as Lambda gives it. */
export interface QueueRecord {
  readonly messageId: string;
  readonly body: string;
}

/**
 * Handles one event as EventBridge or a webhook delivers it. `done`: the effect was carried out. `old`: it had been done before.
 * `none`: the package does not know the event. Rejects when the effect failed, when an effect of the event runs at present, and when
 * the marks cannot be read or written; in each of these cases the event must be delivered again.
 */
export async function ifNew(
  event: unknown,
  marks: Marks,
  effect: Effect,
  { states = 'every', ...parsing }: EffectOptions = {},
): Promise<'done' | 'old' | 'none'> {
  const parsed = parseBridgeEvent(event, parsing);
  if (parsed === undefined) return 'none';
  const { key, number } = markOf(parsed, states);
  const mark = await marks.begin(key, number);
  if (mark === 'old') return 'old';
  if (mark === 'running')
    throw new Error(`An effect for ${key} runs at present, so the event must come again.`);
  try {
    await effect(parsed);
  } catch (error) {
    // A mark that cannot be taken back expires; what people need to know is why the effect failed.
    await mark.failed().catch(() => undefined);
    throw error;
  }
  await mark.done();
  return 'done';
}

/**
 * Handles a batch of SQS, one record after the other, and returns what Lambda must not delete from the queue. The event source
 * mapping needs `ReportBatchItemFailures`: without it Lambda does not look at the answer, and deletes every message. The reason of each failure is
 * written to the log.
 */
export async function forEachNew(
  records: readonly QueueRecord[],
  marks: Marks,
  effect: Effect,
  options?: EffectOptions,
): Promise<{ batchItemFailures: { itemIdentifier: string }[] }> {
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const { messageId, body } of records) {
    try {
      await ifNew(JSON.parse(body), marks, effect, options);
    } catch (error) {
      console.error(`Message ${messageId} goes back to the queue:`, error);
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  }
  return { batchItemFailures };
}

function markOf(event: BridgeEvent, states: 'every' | 'latest'): { key: string; number: number } {
  const { detailType, detail } = event;
  if (states === 'latest' && detailType === 'Operation State Changed')
    return chainOf(detailType, detail, detail.operation_id);
  if (states === 'latest' && detailType === 'Compute State Changed')
    return chainOf(detailType, detail, detail.endpoint_id);
  return { key: detail.id, number: 1 };
}

/** Both kinds of events name an operation, but only those of the first kind count by it. */
function chainOf(
  detailType: string,
  detail: { readonly account_id: string; readonly project_id: string; readonly sequence: number },
  object: string,
) {
  // A project that moves to another account begins new chains there.
  return {
    key: JSON.stringify([detailType, detail.account_id, detail.project_id, object]),
    number: detail.sequence,
  };
}
