/** Checks the attributes of a standard queue, and lists them as SQS does (Amazon SQS API Reference, SetQueueAttributes). */

import { z } from 'zod';
import { ServiceError } from '../services/service.ts';

/** Every attribute that was set, as SQS takes and shows it: text. */
export type QueueAttributes = Readonly<Record<string, string>>;

interface WholeNumber {
  readonly min: number;
  readonly max: number;
  readonly fallback: number;
}

/** A message has at most 1 MiB since August 2025 (Amazon SQS Developer Guide, "Message quotas"). */
const NUMBERS: Readonly<Record<string, WholeNumber>> = {
  DelaySeconds: { min: 0, max: 900, fallback: 0 },
  MaximumMessageSize: { min: 1_024, max: 1_048_576, fallback: 1_048_576 },
  MessageRetentionPeriod: { min: 60, max: 1_209_600, fallback: 345_600 },
  ReceiveMessageWaitTimeSeconds: { min: 0, max: 20, fallback: 0 },
  VisibilityTimeout: { min: 0, max: 43_200, fallback: 30 },
};

/** These are kept and shown, and change nothing here: nothing is encrypted, and every queue may use every other one. */
const KEPT = ['KmsMasterKeyId', 'KmsDataKeyReusePeriodSeconds', 'SqsManagedSseEnabled', 'RedriveAllowPolicy'];

/** An empty text removes each of these. */
const DOCUMENTS = ['Policy', 'RedrivePolicy'];

const redrivePolicy = z.object({
  deadLetterTargetArn: z.string(),
  /** Tools write the number as a text, too. */
  maxReceiveCount: z.coerce.number().int().min(1).max(1_000),
});

export type RedrivePolicy = z.output<typeof redrivePolicy>;

/** Throws a `ServiceError` when SQS would refuse one of the attributes. */
export function changedAttributes(before: QueueAttributes, changes: QueueAttributes): QueueAttributes {
  for (const [name, value] of Object.entries(changes)) check(name, value);
  const merged = { ...before, ...changes };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ''));
}

/** Returns the number that was set, or the one that SQS takes otherwise. */
export function numberOf(attributes: QueueAttributes, name: string): number {
  return Number(attributes[name] ?? NUMBERS[name]?.fallback);
}

export function redrivePolicyOf({ RedrivePolicy }: QueueAttributes): RedrivePolicy | undefined {
  return RedrivePolicy === undefined ? undefined : redrivePolicy.parse(JSON.parse(RedrivePolicy));
}

/** Returns what was set together with what SQS takes otherwise. */
export function allAttributes(attributes: QueueAttributes): QueueAttributes {
  const fallbacks = Object.entries(NUMBERS).map(([name, { fallback }]) => [name, String(fallback)]);
  return { ...Object.fromEntries(fallbacks), SqsManagedSseEnabled: 'true', ...attributes };
}

function check(name: string, value: string): void {
  if (name === 'FifoQueue' || name === 'ContentBasedDeduplication')
    throw new ServiceError('UnsupportedOperation', 'The local AWS creates standard queues only.');
  const bounds = NUMBERS[name];
  if (bounds === undefined && !KEPT.includes(name) && !DOCUMENTS.includes(name))
    throw new ServiceError('InvalidAttributeName', `Unknown Attribute ${name}.`);
  if (bounds !== undefined && !isWithin(value, bounds)) throw invalid(name);
  if (value === '') return;
  if (name === 'Policy' && parsedJson(value) === undefined) throw invalid(name);
  if (name === 'RedrivePolicy' && !redrivePolicy.safeParse(parsedJson(value)).success) throw invalid(name);
}

function isWithin(value: string, { min, max }: WholeNumber): boolean {
  return /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max;
}

function invalid(name: string): ServiceError {
  return new ServiceError('InvalidAttributeValue', `Invalid value for the parameter ${name}.`);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
