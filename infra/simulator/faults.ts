/**
 * Defines the dials that make the simulated service fail as the real one can, which are off by default and draw from
 * dice of their own, and limits requests to 700 a minute per account and bursts of 40 a second per route
 * (specification "Limits").
 */

import * as z from 'zod';
import type { Random } from '../../shared/runtime/random.ts';
import type { UpstreamFaults } from '../packages/testing/simulated-upstream.ts';

export type FaultDials = UpstreamFaults;

const probability = z.number().min(0).max(1);

/** Checks dials that come from outside: the command line and the control route. */
export const dialsSchema = z
  .strictObject({
    rateLimited: probability,
    internalError: probability,
    unavailable: probability,
    htmlError: probability,
    droppedConnection: probability,
    halfBody: probability,
    partialProjects: probability,
    retryAfterSeconds: z.number().int().nonnegative(),
    latencyMs: z.number().min(0).max(60_000),
    visibleLateMs: z.number().min(0).max(3_600_000),
  })
  .partial();

/** A dial of each of these faults has its chance. */
const ANSWER_FAULTS = {
  rate_limited: 'rateLimited',
  internal_error: 'internalError',
  unavailable: 'unavailable',
  html_error: 'htmlError',
  dropped_connection: 'droppedConnection',
  half_body: 'halfBody',
} as const satisfies Readonly<Record<string, keyof FaultDials>>;

export type AnswerFault = keyof typeof ANSWER_FAULTS;

export function createFaultDials(): FaultDials {
  return {
    rateLimited: 0,
    internalError: 0,
    unavailable: 0,
    htmlError: 0,
    droppedConnection: 0,
    halfBody: 0,
    partialProjects: 0,
    retryAfterSeconds: undefined,
    latencyMs: 0,
    visibleLateMs: 0,
  };
}

/** Draws at most one fault for an answer. */
export function drawFault(dials: FaultDials, random: Random): AnswerFault | undefined {
  let dice = random.next();
  for (const [fault, dial] of Object.entries(ANSWER_FAULTS)) {
    if (dice < dials[dial]) return fault as AnswerFault;
    dice -= dials[dial];
  }
  return undefined;
}

/** Derives the delay from the operation's id, so that a row is late by the same time in every answer. */
export function visibleDelayMs(operationId: string, { visibleLateMs }: FaultDials): number {
  const share = Number.parseInt(operationId.slice(0, 4), 16) / 65_536;
  return share < 0.25 ? share * 4 * visibleLateMs : 0;
}

const REQUESTS_PER_MINUTE = 700;
const REQUESTS_PER_SECOND_AND_ROUTE = 40;

export interface RequestLimits {
  /** Returns true when the request is within the limits. A refused request does not count. */
  admit(route: string, nowMs: number): boolean;
}

/** Counts in sliding windows, which is the stricter reading of "a minute". */
export function createRequestLimits(): RequestLimits {
  const minute: number[] = [];
  const seconds = new Map<string, number[]>();
  return {
    admit(route, nowMs) {
      const second = seconds.get(route) ?? [];
      seconds.set(route, second);
      forget(minute, nowMs - 60_000);
      forget(second, nowMs - 1_000);
      if (minute.length >= REQUESTS_PER_MINUTE || second.length >= REQUESTS_PER_SECOND_AND_ROUTE)
        return false;
      minute.push(nowMs);
      second.push(nowMs);
      return true;
    },
  };
}

function forget(times: number[], untilMs: number): void {
  const kept = times.findIndex((time) => time > untilMs);
  times.splice(0, kept === -1 ? times.length : kept);
}
