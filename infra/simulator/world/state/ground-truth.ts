/**
 * Defines the simulated service's own log, which has every state that every operation ever had. Tests compare the
 * delivered events with it.
 */

export interface GroundTruthState {
  readonly at_ms: number;
  readonly status: string;
  readonly failures_count: number;
}

export interface GroundTruthOperation {
  readonly project_id: string;
  readonly operation_id: string;
  readonly action: string;
  readonly created_at_ms: number;
  /** The states are complete and in the order of time. */
  readonly states: readonly GroundTruthState[];
}
