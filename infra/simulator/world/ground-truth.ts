/** The simulated service's own log: every state every operation ever had. Tests hold the delivered events against it. */

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
  /** In order, complete. */
  readonly states: readonly GroundTruthState[];
}
