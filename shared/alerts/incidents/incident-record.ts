/**
 * Defines the record of an incident: how the operations of one account, project and action stand, whatever a channel
 * reports of them, and who has acknowledged it.
 */

import * as z from 'zod';
import { DAY_MS } from '../../core/time/durations.ts';
import { isoTimeOf } from '../../core/time/timestamp.ts';

const standing = z.object({
  state: z.enum(['failing', 'stalled', 'recovered', 'given_up']),
  /** The event with this sequence says so. Without it the event had none. */
  sequence: z.number().optional(),
  observed_at: z.string(),
});

/** How operations stand, by their ids. */
export const operationsSchema = z.record(z.string(), standing);

export type Standing = z.infer<typeof standing>;
export type Operations = Readonly<Record<string, Standing>>;

/**
 * The kinds of trouble, each worse than the one before. `failing` is usually retried with success, and `repeated` means
 * that an operation has failed three times.
 */
export const GRAVITIES = ['failing', 'stalled', 'repeated', 'given_up'] as const;

export type Gravity = (typeof GRAVITIES)[number];

export const acknowledgement = z.object({
  /** ISO 8601, by our clock. */
  at: z.string(),
  /** The caller who acknowledged the incident. */
  client_id: z.string(),
  /** A person wrote it for people. */
  reason: z.string().optional(),
});

export type Acknowledgement = Readonly<z.output<typeof acknowledgement>>;

export const incidentRecord = z.object({
  incident_id: z.string(),
  account_id: z.string(),
  /** Without it the incident is about the account itself. */
  project_id: z.string().optional(),
  action: z.string().optional(),
  /**
   * `stalled` when no operation fails and one takes too long, `given_up` when none of these goes on and one was given up,
   * and `recovered` after all have ended well.
   */
  state: z.enum(['failing', 'stalled', 'given_up', 'recovered']),
  /** The worst that has happened since the incident began. */
  gravity: z.enum(GRAVITIES),
  /** ISO 8601 with milliseconds, by the upstream's clock where it is known. */
  began_at: z.string(),
  /** The incident ended at this time: all has recovered, or a person has acknowledged that it was given up. */
  ended_at: z.string().optional(),
  operations: operationsSchema,
  /** The newest failures, each with the id of its event and the number of failed attempts that it reported. */
  failures: z.array(z.object({ id: z.string(), at_ms: z.number(), attempt_count: z.number() })),
  acknowledged: acknowledgement.optional(),
  /** Until this time the notifier informs channels that the incident was acknowledged, or that this was withdrawn. ISO 8601. */
  announce_until: z.string().optional(),
  /** Each write raises it by one and compares it. */
  revision: z.number().int().positive(),
});

export type IncidentRecord = Readonly<z.output<typeof incidentRecord>>;

/** The notifier runs once a minute. What waits for longer than this, because a channel is down, is sent all the same. */
const ANNOUNCED_MS = DAY_MS;

/** Returns whether operations in this state will end or fail for good by themselves. */
export function isOngoing(state: Standing['state'] | 'unknown'): boolean {
  return state === 'failing' || state === 'stalled';
}

/** Returns whether the incident still needs the upstream or a person. */
export function isOpen({ state, acknowledged }: Pick<IncidentRecord, 'state' | 'acknowledged'>): boolean {
  return isOngoing(state) || (state === 'given_up' && acknowledged === undefined);
}

/**
 * Returns the record after a person acknowledged the incident. What was given up has no other end, so it ends. Returns
 * undefined when the incident is not open.
 */
export function acknowledge(
  record: IncidentRecord,
  acknowledged: Acknowledgement,
): IncidentRecord | undefined {
  if (!isOpen(record)) return undefined;
  const announce_until = announceUntil(acknowledged.at);
  const next = { ...record, acknowledged, announce_until, revision: record.revision + 1 };
  return isOpen(next) ? next : { ...next, ended_at: acknowledged.at };
}

/**
 * Returns the record after the acknowledgement was withdrawn at this time (ISO 8601), and undefined when there is none
 * to withdraw.
 */
export function withdrawAcknowledgement(record: IncidentRecord, at: string): IncidentRecord | undefined {
  const { acknowledged, ...rest } = record;
  if (acknowledged === undefined || !isOpen(record)) return undefined;
  return { ...rest, announce_until: announceUntil(at), revision: record.revision + 1 };
}

/** Returns the record of which channels need not be informed any longer, and undefined when it is not such a record yet. */
export function withoutAnnouncement(record: IncidentRecord, nowMs: number): IncidentRecord | undefined {
  const { announce_until, ...rest } = record;
  return announce_until === undefined || Date.parse(announce_until) > nowMs ? undefined : rest;
}

function announceUntil(at: string): string {
  return isoTimeOf(Date.parse(at) + ANNOUNCED_MS);
}
