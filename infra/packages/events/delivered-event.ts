/**
 * Turns what EventBridge or a webhook delivers into a typed event of the bridge, and checks that a webhook or a
 * forwarded event comes from the holder of the secret.
 */

import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import * as z from 'zod';
import { EVENT_SOURCE, REPLAY_RESOURCE, TEST_EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import type { BridgeEventDetails } from './event-details.ts';
import { eventSchemas } from './event-schemas.ts';

/** One event of the bridge. The detail type says which one it is, and narrows the type of `detail`. */
export type BridgeEvent = {
  [Type in keyof BridgeEventDetails]: {
    readonly detailType: Type;
    readonly detail: BridgeEventDetails[Type];
    /**
     * Set on a copy that a replay sent: the name of the replay from the archive of the bus, or the resource that marks
     * a replay from the table (`operations-bridge/replay/...`).
     */
    readonly replayName: string | undefined;
    /** True for a sample that `operations-bridge trigger` sent: nothing has happened. */
    readonly isTest: boolean;
  };
}[keyof BridgeEventDetails];

export interface ParseOptions {
  /**
   * `accepted` also returns the samples that `operations-bridge trigger` sends, with `isTest`. By default they are
   * refused like events of others, so that no effect comes of them.
   */
  readonly testEvents?: 'accepted' | 'refused';
}

const envelope = z.object({
  source: z.enum([EVENT_SOURCE, TEST_EVENT_SOURCE]),
  'detail-type': z.string(),
  'replay-name': z.string().optional(),
  resources: z.array(z.string()).optional(),
  detail: z.unknown(),
});

/**
 * Takes an event as EventBridge delivers it: the argument of a Lambda function, the parsed body of an SQS message, or
 * the parsed body of a forwarded event. Returns undefined when it is not an event of the bridge, or when its type is newer than
 * this package. Throws `ZodError` when a known event does not have its form: that is a fault which the operators of
 * the bridge should hear of. Fields that are newer than this package are left out.
 */
export function parseBridgeEvent(
  event: unknown,
  { testEvents = 'refused' }: ParseOptions = {},
): BridgeEvent | undefined {
  const parsed = envelope.safeParse(event);
  if (!parsed.success) return undefined;
  const isTest = parsed.data.source === TEST_EVENT_SOURCE;
  if (isTest && testEvents === 'refused') return undefined;
  const { 'detail-type': detailType, 'replay-name': archiveReplay, resources = [], detail } = parsed.data;
  const replayName = archiveReplay ?? resources.find((resource) => resource.startsWith(REPLAY_RESOURCE));
  if (!isKnown(detailType)) return undefined;
  return { detailType, replayName, isTest, detail: eventSchemas[detailType].parse(detail) } as BridgeEvent;
}

function isKnown(detailType: string): detailType is keyof BridgeEventDetails {
  return Object.hasOwn(eventSchemas, detailType);
}

/** The request does not come from the holder of a secret, or it was sent more than five minutes ago. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
}

/** The headers of Node's `http`, of Lambda, or a `Headers` of `fetch`. Names are compared without case. */
export type WebhookHeaders =
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the parsed JSON body when the signature fits one of the secrets; during a change of the secret, give the
 * old one and the new one. Pass the body exactly as it was received: a body that was parsed and written again has other bytes.
 * Throws `SignatureError` when the request is not genuine: answer it with 400 and do nothing else. Throws
 * `SyntaxError` when a genuine body is not JSON.
 */
export function verifySignature(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
): unknown {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const candidates = typeof secrets === 'string' ? [secrets] : secrets;
  const refusals = candidates.map((secret) => refusalOf(text, singleHeaders(headers), secret));
  if (!refusals.includes(undefined))
    throw new SignatureError(`The signature cannot be accepted: ${refusals[0] ?? 'no secret was given'}`);
  return JSON.parse(text);
}

/** Returns undefined for a genuine request. Throws when the secret itself cannot be used. */
function refusalOf(text: string, headers: Record<string, string>, secret: string): string | undefined {
  try {
    new Webhook(secret).verify(text, headers, { jsonParse: false });
    return undefined;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.message;
    throw error;
  }
}

function singleHeaders(headers: WebhookHeaders): Record<string, string> {
  const pairs = isIterable(headers) ? [...headers] : Object.entries(headers);
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => (typeof value === 'string' ? [[name.toLowerCase(), value]] : [])),
  );
}

function isIterable(headers: WebhookHeaders): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers;
}
