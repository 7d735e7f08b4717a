/** Checks the options of the simulated service, because not every test is written in TypeScript, and makes the clock of such a test. */

import * as z from 'zod';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { dialsSchema } from '../../simulator/faults.ts';
import { SESSIONS_PER_HOUR } from '../../simulator/world/world.ts';
import type { SimulatedUpstreamOptions, UpstreamFaults } from './simulated-upstream.ts';

const optionsSchema = z.strictObject({
  // The service itself has room for 10,000 projects.
  projects: z.number().int().min(0).max(10_000).default(3),
  seed: z.number().int().default(1),
  startAt: z.date().optional(),
  speed: z.number().min(0).max(10_000).default(1),
  sessionsPerHour: z.number().min(0).max(1_000).default(SESSIONS_PER_HOUR),
  trouble: z.number().min(0).max(1).default(1),
  apiKey: z.string().min(1).default('test-key'),
});

export function checkOptions(
  options: Omit<SimulatedUpstreamOptions, 'faults'>,
): z.output<typeof optionsSchema> {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new TypeError(`startUpstream cannot use its options:\n${z.prettifyError(parsed.error)}`);
}

/** Returns the faults that are given. A value that is undefined leaves its fault as it is, except `retryAfterSeconds`. */
export function checkFaults(faults: Partial<UpstreamFaults>): Partial<UpstreamFaults> {
  const parsed = dialsSchema.safeParse(faults);
  if (!parsed.success) throw new TypeError(`These faults cannot be used:\n${z.prettifyError(parsed.error)}`);
  const given = Object.entries(parsed.data).filter(
    ([name, value]) => value !== undefined || name === 'retryAfterSeconds',
  );
  return Object.fromEntries(given);
}

/** At speed 0 the clock stands still. Waits take the machine's time, because a delayed answer must arrive all the same. */
export function clockOfTest(startAtMs: number, speed: number): Clock {
  const startedMs = systemClock.now();
  return { ...systemClock, now: () => startAtMs + (systemClock.now() - startedMs) * speed };
}
