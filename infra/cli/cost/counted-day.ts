/** Describes what was counted of one day of a bridge. `npm run cost -- count` counts it again. */

import counted from './counted.json' with { type: 'json' };

export interface CountedDay {
  readonly accounts: number;
  /** Each account has this number of projects. */
  readonly projects: number;
  /** The bridge has this number of lanes. The counts are those of all of them together. */
  readonly lanes: number;
  /** The function of a lane has this memory, in megabytes. */
  readonly memory_mb: number;
  readonly linger_seconds: number;
  /** It is null when the interval follows the number of projects. */
  readonly poll_interval_seconds: number | null;
  readonly operations: number;
  readonly events: number;
  /** Requests to the upstream cost nothing but the time that they take. */
  readonly requests: number;
  /** All invocations of the day together ran for this number of seconds. */
  readonly alive_seconds: number;
  /** The seconds from a transition to its event, in the mean. */
  readonly delay_mean_s: number;
  /** This many seconds or less passed for 95 of 100 transitions. */
  readonly delay_p95_s: number;
  /** The request units of the table and all of its indexes, by what is read or written. */
  readonly units: Readonly<Record<string, { readonly read: number; readonly write: number }>>;
}

export const countedDays: readonly CountedDay[] = counted;

export function unitsOf({ units }: CountedDay, kind: 'read' | 'write'): number {
  return Object.values(units).reduce((sum, each) => sum + each[kind], 0);
}
