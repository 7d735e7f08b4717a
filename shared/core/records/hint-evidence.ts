/**
 * Describes what the poller has learned of the fields of the project list. It is plain data, kept in the account's
 * status across restarts.
 */

/** Counts the transitions that a field has shown and missed. The counts fade, so they need not be whole numbers. */
export interface HintRecall {
  readonly foundCount: number;
  readonly missedCount: number;
}

export interface FieldEvidence {
  readonly name: string;
  readonly recall: HintRecall;
  /** Counts the moves of the field that a transition caused. */
  readonly hitCount: number;
  /** Counts all moves of the field. */
  readonly moveCount: number;
}
