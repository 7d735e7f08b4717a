/**
 * Says how the worker is invoked, by its queue, by the ends of operations on the bus and by a schedule, and what its
 * deployment fills into its environment; reads what an invocation brought. A message of a line that pauses goes back to
 * its FIFO queue (Amazon SQS API Reference, ChangeMessageVisibility).
 */

import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { LOCKING_STATUSES } from '../../shared/commands/send-command.ts';
import { type Wake, wakeBody } from '../../shared/commands/wakes.ts';
import { accountRulesVariables } from '../../shared/config/account-rules.ts';
import {
  type ApiAccount,
  apiAccounts,
  optionSwitch,
  sendingInstancesMax,
} from '../../shared/config/api-config.ts';
import { DETAIL_TYPES, EVENT_SOURCE } from '../../shared/events/event-names.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { parseJson } from '../../shared/runtime/foreign-text.ts';
import { readConfig } from '../../shared/runtime/read-config.ts';

/**
 * Lambda hides a message while it is worked on. The time-out is that of the function, and not six times as long as AWS
 * advises for standard queues: a message of a killed process must not hold its project for long, and a message that is
 * handed out twice does no harm.
 */
export const commandsQueue = {
  visibilityTimeoutMs: 60_000,
  receiveCountMax: 5,
  batchSize: 10,
} as const;

/** The sweep wakes what a crash left without a message. */
export const commandsSchedule = { everyMs: 60_000, timeoutMs: 60_000 } as const;

/** What has begun by then has 15 s to end: a request to the upstream takes ten at the most. */
export const WORK_MS_MAX = 40_000;

/** The end of an operation may release a lock that a queued command waits for. */
export const lockReleasedPattern = {
  source: [EVENT_SOURCE],
  'replay-name': [{ exists: false }],
  resources: [{ exists: false }],
  $or: [
    { 'detail-type': [DETAIL_TYPES.watch_ended] },
    {
      'detail-type': [DETAIL_TYPES.state_changed],
      detail: { status: [{ 'anything-but': [...LOCKING_STATUSES] }] },
    },
  ],
};

/** The same with the events at which a waiting workflow may go on. */
export const commandEndedPattern = {
  ...lockReleasedPattern,
  $or: [
    ...lockReleasedPattern.$or,
    { 'detail-type': [DETAIL_TYPES.command_settled, DETAIL_TYPES.branch_ready, DETAIL_TYPES.branch_failed] },
  ],
};

/** These are the fields of Lambda's event that are used (Lambda Developer Guide, "Using Lambda with Amazon SQS"). */
const record = z.object({
  messageId: z.string(),
  receiptHandle: z.string(),
  body: z.string(),
  attributes: z.object({ ApproximateReceiveCount: z.coerce.number() }),
});

const batch = z.object({ Records: z.array(record) });

/** These are the fields of an event of the bus that are used. */
const busEvent = z.object({
  'detail-type': z.string(),
  detail: wakeBody.extend({ command: z.object({ request_id: z.string() }).optional() }),
});

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
  /** The request is that of the command which the event names. */
  | {
      readonly kind: 'bus_event';
      readonly target: WakeTarget;
      readonly requestId: string | undefined;
    }
  | { readonly kind: 'sweep' };

/** Everything that is neither a batch nor an event of the bus counts as the schedule's. */
export function readInvocation(event: unknown): Invocation {
  const messages = batch.safeParse(event);
  if (messages.success) return { kind: 'messages', messages: messages.data.Records.map(readMessage) };
  const { detail } = busEvent.safeParse(event).data ?? {};
  if (detail === undefined) return { kind: 'sweep' };
  return { kind: 'bus_event', target: detail, requestId: detail.command?.request_id };
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

/** A sweep comes once a minute, so it ends a longer pause soon enough. */
export const HANDED_BACK_MS_MAX = 60_000;

/**
 * Lines that are looked at less often cost fewer reads of the table. Permits that nothing takes are kept for 4.8 s (the
 * burst of commands, 8 % of a minute), so a line that is looked at within that time loses none.
 */
const HANDED_BACK_MS_MIN = 4_000;

type PauseStep =
  /** The queue hides the message for this time. It is received again then, before all others of its project. */
  | { readonly kind: 'hand_back'; readonly forMs: number }
  /** A message that was received before is replaced by a new one, so that a pause brings none nearer to the dead letters. */
  | { readonly kind: 'send_anew' }
  | { readonly kind: 'leave_to_sweep' };

/** `receiveCount` is undefined when the project was woken without a message. */
export function decidePauseStep(pauseMs: number, receiveCount: number | undefined): PauseStep {
  if (pauseMs > HANDED_BACK_MS_MAX) return { kind: 'leave_to_sweep' };
  if (receiveCount !== 1) return { kind: 'send_anew' };
  return { kind: 'hand_back', forMs: Math.max(pauseMs, HANDED_BACK_MS_MIN) };
}

/**
 * The message must also be reported as failed, so that Lambda does not delete it (Lambda Developer Guide, "Using Lambda with
 * Amazon SQS", partial batch responses). No other message of the project is received during the pause. A message whose
 * reception has ended meanwhile is received again in any case, and needs no handing back. Rejects when the queue does not
 * answer.
 */
export type HandBack = (receiptHandle: string, pauseMs: number) => Promise<void>;

export function createSqsHandBack(client: SQSClient, queueUrl: string): HandBack {
  return async (receiptHandle, pauseMs) => {
    const VisibilityTimeout = Math.ceil(pauseMs / 1_000);
    const input = { QueueUrl: queueUrl, ReceiptHandle: receiptHandle, VisibilityTimeout };
    try {
      await client.send(new ChangeMessageVisibilityCommand(input));
    } catch (error) {
      if (!isOfEndedReception(toError(error))) throw error;
    }
  };
}

/** SQS has three answers to a receipt handle of an earlier reception, which depend on what has become of the message. */
function isOfEndedReception({ name, message }: Error): boolean {
  if (name === 'ReceiptHandleIsInvalid' || name === 'MessageNotInflight') return true;
  return name === 'InvalidParameterValue' && /receipt handle has expired/i.test(message);
}

export const commandsEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  EVENT_BUS_NAME: z.string().min(1),
  /** JSON of `apiAccounts`, as the API has it. */
  ACCOUNTS: z.string().min(2),
  SENDING_INSTANCES_MAX: sendingInstancesMax,
  ...accountRulesVariables,
  /** Name or ARN of the secret that keys the seals of queued requests and their answers. */
  QUEUE_KEY_SECRET_ID: z.string().min(1),
  /** The FIFO queue that wakes the worker. */
  COMMANDS_QUEUE_URL: z.url(),
  CALLBACKS: optionSwitch,
  POWERTOOLS_SERVICE_NAME: z.string().default('commands'),
  LOG_LEVEL: z.string().default('INFO'),
});

export type CommandsEnvironment = z.infer<typeof commandsEnvironment>;

/** Throws `AppError` `config_invalid`, which names what is wrong. */
export function readCommandAccounts({ ACCOUNTS }: CommandsEnvironment): readonly ApiAccount[] {
  return readConfig(apiAccounts, parseJson(ACCOUNTS), 'ACCOUNTS');
}
