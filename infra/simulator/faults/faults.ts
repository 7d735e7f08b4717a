/** Dials that make the simulated service fail as the real one can. All off by default; they draw from their own dice. */

import * as z from 'zod';
import type { Random } from '../../../shared/runtime/random.ts';

export interface FaultDials {
  /** Chances per request, 0 to 1. */
  rateLimited: number;
  internalError: number;
  unavailable: number;
  /** A proxy's HTML page instead of JSON (524 was seen). */
  htmlError: number;
  droppedConnection: number;
  halfBody: number;
  /** The project list lacks a project and names it in `unavailable_project_ids`. */
  partialProjects: number;
  /** Sent with 429, when set. */
  retryAfterSeconds: number | undefined;
  latencyMs: number;
  /** A row becomes visible in lists up to so long after its creation. */
  visibleLateMs: number;
}

const probability = z.number().min(0).max(1);

/** Dials as they come from outside. */
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

export type AnswerFault =
  | 'rate_limited'
  | 'internal_error'
  | 'unavailable'
  | 'html_error'
  | 'dropped_connection'
  | 'half_body';

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

/** At most one fault per answer. */
export function drawFault(dials: FaultDials, random: Random): AnswerFault | undefined {
  const chances: readonly (readonly [AnswerFault, number])[] = [
    ['rate_limited', dials.rateLimited],
    ['internal_error', dials.internalError],
    ['unavailable', dials.unavailable],
    ['html_error', dials.htmlError],
    ['dropped_connection', dials.droppedConnection],
    ['half_body', dials.halfBody],
  ];
  let dice = random.next();
  for (const [fault, chance] of chances) {
    if (dice < chance) return fault;
    dice -= chance;
  }
  return undefined;
}

/** The same row is late by the same time in every answer: its id decides. */
export function visibleDelayMs(operationId: string, { visibleLateMs }: FaultDials): number {
  const share = Number.parseInt(operationId.slice(0, 4), 16) / 65_536;
  return share < 0.25 ? share * 4 * visibleLateMs : 0;
}
