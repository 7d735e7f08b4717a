import type { DurationSample, UtcDay } from '../../shared/insights/day-insights.ts';

export const A_DAY = '2026-01-15' as UtcDay;

export function aSample(fields: Partial<DurationSample> = {}): DurationSample {
  return {
    projectId: 'quiet-pond-12345678',
    action: 'start_compute',
    day: A_DAY,
    durationMs: 900,
    attempts: 1,
    ...fields,
  };
}

/** Returns as many samples as there are durations. */
export function samplesOf(durationsMs: readonly number[], fields: Partial<DurationSample> = {}) {
  return durationsMs.map((durationMs) => aSample({ durationMs, ...fields }));
}
