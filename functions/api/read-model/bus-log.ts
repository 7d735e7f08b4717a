/**
 * Follows one event through the log of the bus, which EventBridge writes into CloudWatch Logs when the configuration asks for it:
 * which rules have matched it, and what became of it at each of their targets.
 */

import * as z from 'zod';
import { MINUTE_MS } from '../../../shared/records/time.ts';
import { callSigned, type SignedCalls } from './signed-call.ts';

/** Returns the name of the log group. Services of AWS write only into groups with this prefix without a policy for each. */
export function busLogGroupOf(busName: string): string {
  return `/aws/vendedlogs/events/event-bus/${busName}`;
}

/** Returns the enumeration of these names, whose description says what each of them means. */
export function explainedEnum<Name extends string>(meanings: Readonly<Record<Name, string>>) {
  const names = Object.keys(meanings) as [Name, ...Name[]];
  return z.enum(names).describe(names.map((name) => `${name}: ${meanings[name]}`).join('; '));
}

/** How far the event came at one target. A later one outweighs those before it. */
const stepSchema = explainedEnum({
  matched: 'the rule takes the event, and nothing is known of the delivery yet',
  repeating: 'a delivery has failed and will be repeated',
  delivered: 'the target has taken it',
  failed: 'the delivery was given up',
  dead_letter: 'the delivery was given up, and the event went to the dead-letter queue',
});

type Step = z.output<typeof stepSchema>;

/** The types of records that say so (EventBridge User Guide, "Amazon EventBridge event bus log schema", eb-event-logs-schema.html). */
const STEP_OF: Readonly<Record<string, Step>> = {
  RULE_MATCH: 'matched',
  INVOCATION_ATTEMPT_RETRYABLE_FAILURE: 'repeating',
  INVOCATION_ATTEMPT_THROTTLE: 'repeating',
  INVOCATION_SUCCESS: 'delivered',
  INVOCATION_ATTEMPT_PERMANENT_FAILURE: 'failed',
  INVOCATION_FAILURE: 'failed',
  INVOCATION_DLQ: 'dead_letter',
};

export const followedDelivery = z.object({
  rule: z.string(),
  target_arn: z.string(),
  step: stepSchema,
  error: z.string().optional().describe('What EventBridge says of the last failure.'),
});

export type FollowedDelivery = z.output<typeof followedDelivery>;

export type EventTrail =
  /** The configuration does not ask for the log. */
  | { readonly kind: 'off' }
  | { readonly kind: 'unread'; readonly reason: string }
  /** The log is written within a minute or so, and not every record is sure to be. */
  | { readonly kind: 'read'; readonly received: boolean; readonly deliveries: readonly FollowedDelivery[] };

/** EventBridge gives its events ids of this form. Another text could not stand in a filter. */
export const eventIdOfBus = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

/** A person looks soon after the test. */
const LOOKED_BACK_MS = 60 * MINUTE_MS;

/** A page without a match has a token, too. An hour of a busy bus is read in a few pages. */
const PAGES_MAX = 5;

/** A target can answer with a whole page. */
const ERROR_CHARACTERS_MAX = 500;

const answer = z.object({
  events: z.array(z.object({ message: z.string() })).default([]),
  nextToken: z.string().optional(),
});

const record = z.object({
  event_id: z.string(),
  message_type: z.string(),
  details: z
    .object({
      rule_arn: z.string().optional(),
      target_arn: z.string().optional(),
      target_arns: z.array(z.string()).optional(),
    })
    .default({}),
  error: z.object({ error_message: z.string().optional() }).optional(),
});

type LogRecord = z.output<typeof record>;

/** Rejects when CloudWatch Logs refuses. */
export async function readTrail(
  calls: SignedCalls,
  busName: string,
  eventId: string,
): Promise<EventTrail & { kind: 'read' }> {
  const records: LogRecord[] = [];
  let nextToken: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const json = await callSigned(
      calls,
      { service: 'logs', target: 'Logs_20140328.FilterLogEvents', json: '1.1' },
      {
        logGroupName: busLogGroupOf(busName),
        filterPattern: `{ $.event_id = "${eventId}" }`,
        startTime: calls.clock.now() - LOOKED_BACK_MS,
        ...(nextToken && { nextToken }),
      },
    );
    const read = answer.parse(json);
    records.push(...read.events.map(({ message }) => record.parse(JSON.parse(message))));
    nextToken = read.nextToken;
    if (nextToken === undefined) break;
  }
  return { kind: 'read', received: records.length > 0, deliveries: deliveriesIn(records) };
}

function deliveriesIn(records: readonly LogRecord[]): readonly FollowedDelivery[] {
  const found = new Map<string, FollowedDelivery>();
  for (const { message_type, details, error } of records) {
    const step = STEP_OF[message_type];
    if (step === undefined || details.rule_arn === undefined) continue;
    const rule = details.rule_arn.split('/').at(-1) ?? '';
    for (const target_arn of details.target_arns ?? [details.target_arn ?? '']) {
      const before = found.get(`${rule} ${target_arn}`);
      const isLater =
        before === undefined || stepSchema.options.indexOf(step) >= stepSchema.options.indexOf(before.step);
      const message = error?.error_message?.slice(0, ERROR_CHARACTERS_MAX) ?? before?.error;
      const latest = isLater ? step : before.step;
      found.set(`${rule} ${target_arn}`, {
        rule,
        target_arn,
        step: latest,
        ...(message && { error: message }),
      });
    }
  }
  return [...found.values()];
}
