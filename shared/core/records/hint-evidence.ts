/** What the poller has learned of the fields of the project list: plain data, kept in the account's status across restarts. */

/** How many transitions a field has shown and missed. The counts fade, so they need not be whole numbers. */
export interface HintRecall {
  readonly foundCount: number;
  readonly missedCount: number;
}

export interface FieldEvidence {
  readonly name: string;
  readonly recall: HintRecall;
  /** Moves of the field that a transition stood behind. */
  readonly hitCount: number;
  /** All moves of the field. */
  readonly moveCount: number;
}
