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
  /** A poll found a transition there: the last listing or the next one shows which fields have moved with it. */
  takeTransition(projectId: string): void;
  /** Lower estimate of the share of transitions, 0 to 1, that the best field shows. */
  recall(): number;
  forget(projectId: string): void;
  /** What was learned of each field, to be kept across restarts. */
  evidence(): readonly FieldEvidence[];
  /** Evidence of fields that are no longer read is ignored. */
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

/** What is remembered of a project between two listings. */
interface KnownRow {
  /** Of each field, as the last listing showed it. */
  values: readonly unknown[];
  /** A transition was found since the last listing, and no field had moved before. */
  awaitsProof: boolean;
  /** Of each field: whether it moved at the last listing. Empty once a transition has explained the moves. */
  moved: readonly boolean[];
}

export function createHintFields(): HintFields {
  const fields: readonly Field[] = HINT_FIELDS.map((name) => ({
    name,
    recall: UNTRIED,
    hitCount: 0,
    moveCount: 0,
  }));
  const rows = new Map<string, KnownRow>();

  return {
    takeListing(listed) {
      const ids: string[] = [];
      for (const row of listed) {
        const moved = takeRow(row);
        if (moved.some((didMove, place) => didMove && isBelieved(fields[place]))) ids.push(row.id);
      }
      return ids;
    },
    takeTransition(projectId) {
      const known = rows.get(projectId);
      if (known === undefined) return;
      if (!known.moved.includes(true)) {
        known.awaitsProof = true;
        return;
      }
      countTransition(fields, known.moved);
      known.moved = [];
    },
    recall: () =>
      Math.max(RECALL_MIN, ...fields.filter(isBelieved).map((field) => cautiousRecall(field.recall))),
    forget: (projectId) => void rows.delete(projectId),
    evidence: () => fields.map((field) => ({ ...field })),
    restore: (evidence) => restoreFields(fields, evidence),
  };

  /** Which fields moved since the listing before; none for a project that is met for the first time. */
  function takeRow(row: ProjectRow): readonly boolean[] {
    const values = fields.map(({ name }) => row[name]);
    const known = rows.get(row.id);
    if (known === undefined) {
      rows.set(row.id, { values, awaitsProof: false, moved: [] });
      return [];
    }
    const moved = values.map((value, place) => value !== undefined && value !== known.values[place]);
    countMoves(fields, moved);
    if (known.awaitsProof) countTransition(fields, moved);
    Object.assign(known, { values, moved, awaitsProof: false });
    return moved;
  }
}

function countMoves(fields: readonly Field[], moved: readonly boolean[]): void {
  fields.forEach((field, place) => {
    if (moved[place] === true) field.moveCount += 1;
  });
}

/** A transition stood behind these moves: each field has shown it or missed it. */
function countTransition(fields: readonly Field[], moved: readonly boolean[]): void {
  fields.forEach((field, place) => {
    const didMove = moved[place] === true;
    if (didMove) field.hitCount += 1;
    field.recall = noteHint(field.recall, didMove);
  });
}

function restoreFields(fields: readonly Field[], evidence: readonly FieldEvidence[]): void {
  for (const field of fields) {
    const known = evidence.find(({ name }) => name === field.name);
    if (known === undefined) continue;
    field.recall = known.recall;
    field.hitCount = known.hitCount;
    field.moveCount = known.moveCount;
  }
}

function isBelieved(field: Field | undefined): boolean {
  if (field === undefined) return false;
  const { hitCount, moveCount } = field;
  return moveCount <= FALSE_ALARMS_PER_HIT_MAX * Math.max(10, hitCount);
}
