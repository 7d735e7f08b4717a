/**
 * Gives a few runs a catalogue of their projects, however few they have. In production only accounts of thousands have
 * one, and such runs would take hours.
 */

import { seededRandom } from '../../../shared/runtime/random.ts';
import { dice, type WidePlan } from './plan.ts';

const SHARE = 0.06;

/** With this salt none of the seeds that once broke a promise has a catalogue. */
const SALT = 0x1b607;

export function drawCatalogue(seed: number): boolean {
  return dice(seededRandom(seed ^ SALT)).chance(SHARE);
}

/** Almost every invocation of such a run has a new process. */
const COLD_START_SHARE = 0.9;

export function withCatalogue(plan: WidePlan): WidePlan {
  return { ...plan, cataloguedFrom: 1, faults: { ...plan.faults, lambda_cold_start: COLD_START_SHARE } };
}
