/** Reads what the worker was invoked with: messages of its queue, the end of an operation, or its schedule. */

import * as z from 'zod';
import { type Wake, wakeBody } from '../../../shared/commands/queue/wakes.ts';

/** These are the fields of Lambda's event that are used (Lambda Developer Guide, "Using Lambda with Amazon SQS"). */
const record = z.object({
  messageId: z.string(),
  receiptHandle: z.string(),
  body: z.string(),
  attributes: z.object({ ApproximateReceiveCount: z.coerce.number() }),
});

const batch = z.object({ Records: z.array(record) });

/** These are the fields of an event of the bus that are used. */
const busEvent = z.object({ 'detail-type': z.string(), detail: wakeBody });

export type WakeTarget = Pick<Wake, 'account_id' | 'project_id'>;

export interface WakeMessage {
  readonly messageId: string;
  /** The queue knows this reception of the message by it. */
  readonly receiptHandle: string;
  /** The message was received this many times, this time included. */
  readonly receiveCount: number;
  /** This is undefined when the body cannot be read. */
  readonly target: WakeTarget | undefined;
}

export type Invocation =
  | { readonly kind: 'messages'; readonly messages: readonly WakeMessage[] }
  | { readonly kind: 'lock_released'; readonly target: WakeTarget }
  | { readonly kind: 'sweep' };

/** Everything that is neither a batch nor an event of the bus counts as the schedule's. */
export function readInvocation(event: unknown): Invocation {
  const messages = batch.safeParse(event);
  if (messages.success) return { kind: 'messages', messages: messages.data.Records.map(readMessage) };
  const released = busEvent.safeParse(event);
  return released.success ? { kind: 'lock_released', target: released.data.detail } : { kind: 'sweep' };
}

function readMessage({ messageId, receiptHandle, body, attributes }: z.output<typeof record>): WakeMessage {
  const received = { messageId, receiptHandle, receiveCount: attributes.ApproximateReceiveCount };
  return { ...received, target: targetIn(body) };
}

function targetIn(body: string): WakeTarget | undefined {
  try {
    return wakeBody.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
