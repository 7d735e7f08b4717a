/** Reads the project list as a hint source: which projects' fields moved since the listing before. */

import { cautiousRecall, type HintRecall, noteHint, RECALL_MIN, UNTRIED } from './hint-recall.ts';

/** Which of them moves with an operation is not specified, so each is measured. */
export const HINT_FIELDS = ['updated_at', 'compute_last_active_at', 'active_time'] as const;

/** A row of the project list, as far as it can be a hint. */
export type ProjectRow = { readonly id: string } & Partial<
  Readonly<Record<(typeof HINT_FIELDS)[number], unknown>>
>;

export interface HintFields {
  /** The projects whose believed fields moved. A project met for the first time has not moved. */
  takeListing(rows: readonly ProjectRow[]): readonly string[];
  /** A poll found a transition there: the next listing shows whether a field has told of it. */
  noteTransition(projectId: string): void;
  /** Lower estimate of the share of transitions that the best field tells of. */
  recall(): number;
  forget(projectId: string): void;
  /** What was learned of each field, to be kept across restarts. */
  evidence(): readonly FieldEvidence[];
  /** Fields that are not read any more are left out. */
  restore(evidence: readonly FieldEvidence[]): void;
}

export interface FieldEvidence {
  readonly name: string;
  readonly recall: HintRecall;
  /** Moves that a transition stood behind, and all moves. */
  readonly hitCount: number;
  readonly moveCount: number;
}

/** A false alarm costs a request; a field that is wrong ten times as often as right is worth none. */
const FALSE_ALARMS_PER_HIT_MAX = 10;

interface Field {
  readonly name: (typeof HINT_FIELDS)[number];
  recall: HintRecall;
  hitCount: number;
  moveCount: number;
}

interface Known {
  values: readonly unknown[];
  /** A transition was found since the last listing, and no field had moved before. */
  awaitsProof: boolean;
  /** Fields that moved at the last listing. */
  moved: readonly boolean[];
}

export function createHintFields(): HintFields {
  const fields: readonly Field[] = HINT_FIELDS.map((name) => ({
    name,
    recall: UNTRIED,
    hitCount: 0,
    moveCount: 0,
  }));
  const projects = new Map<string, Known>();

  return {
    takeListing: (rows) => rows.filter(hasMoved).map(({ id }) => id),
    noteTransition(projectId) {
      const known = projects.get(projectId);
      if (known === undefined) return;
      if (!known.moved.includes(true)) {
        known.awaitsProof = true;
        return;
      }
      fields.forEach((field, place) => {
        const didMove = known.moved[place] === true;
        if (didMove) field.hitCount += 1;
        field.recall = noteHint(field.recall, didMove);
      });
      known.moved = [];
    },
    recall: () =>
      Math.max(RECALL_MIN, ...fields.filter(isBelieved).map((field) => cautiousRecall(field.recall))),
    forget: (projectId) => {
      projects.delete(projectId);
    },
    evidence: () => fields.map((field) => ({ ...field })),
    restore(evidence) {
      for (const field of fields) {
        const known = evidence.find(({ name }) => name === field.name);
        if (known === undefined) continue;
        field.recall = known.recall;
        field.hitCount = known.hitCount;
        field.moveCount = known.moveCount;
      }
    },
  };

  function hasMoved(row: ProjectRow): boolean {
    const values = fields.map(({ name }) => row[name]);
    const known = projects.get(row.id);
    if (known === undefined) {
      projects.set(row.id, { values, awaitsProof: false, moved: [] });
      return false;
    }
    const moved = values.map((value, place) => value !== undefined && value !== known.values[place]);
    known.values = values;
    if (known.awaitsProof) {
      fields.forEach((field, place) => {
        field.recall = noteHint(field.recall, moved[place] === true);
      });
    }
    fields.forEach((field, place) => {
      if (moved[place] !== true) return;
      field.moveCount += 1;
      if (known.awaitsProof) field.hitCount += 1;
    });
    known.awaitsProof = false;
    known.moved = moved;
    return moved.some((didMove, place) => didMove && isBelieved(fields[place]));
  }
}

function isBelieved(field: Field | undefined): boolean {
  if (field === undefined) return false;
  const { hitCount, moveCount } = field;
  return moveCount <= FALSE_ALARMS_PER_HIT_MAX * Math.max(10, hitCount);
}
